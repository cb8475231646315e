import random
import subprocess
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet as pq
import pytest
from packaging.version import Version

from compeval.base.files.untrusted import decode_image
from compeval.base.schemas.rows import (
    RAW_SCHEMA,
    add_datasets_features,
    get_image_storage,
    use_stored_images,
)
from compeval.base.storage import dataset
from compeval.base.storage.crops import encode_crop, replace_crop_files
from compeval.base.storage.dataset import write_config
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.rows import hard_negative_row


def make_rows(folder: Path, count: int) -> list[dict]:
    return [
        {key: row[key] for key in RAW_SCHEMA.names}
        for row in (hard_negative_row(folder, index) for index in range(count))
    ]


def test_same_rows_give_the_same_bytes(tmp_path: Path):
    rows = make_rows(tmp_path, 3)
    for root in ("a", "b"):
        assert write_config(tmp_path / root, "toy", {"test": iter(rows)}, RAW_SCHEMA) == {"test": 3}
    name = "toy/test-00000-of-00001.parquet"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_single_parquet_file_has_the_image_feature(tmp_path: Path):
    write_config(tmp_path, "toy", {"test": make_rows(tmp_path, 1)}, RAW_SCHEMA)
    schema = pq.read_schema(tmp_path / "toy" / "test-00000-of-00001.parquet")
    assert isinstance(datasets.Features.from_arrow_schema(schema)["image"], datasets.Image)


@pytest.mark.parametrize(
    ("source", "setting", "expected"),
    [
        ("microworld", "null", "embedded"),
        ("visual_genome", "null", "by_reference"),
        ("microworld", "by_reference", "by_reference"),
        ("visual_genome", "embedded", "embedded"),
    ],
)
def test_image_storage_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, setting: str, expected: str
):
    (tmp_path / "params.yaml").write_text(
        f"source: {source}\npixels: {setting}\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    assert dataset.read_image_storage() == expected


def test_an_unknown_image_storage_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "params.yaml").write_text("source: microworld\npixels: embeded\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match="pixels: 'embeded', expected embedded, by_reference or null"
    ):
        dataset.read_image_storage()


def test_a_crop_is_stored_as_jpeg_or_as_path(tmp_path: Path):
    rows = make_rows(tmp_path, 2)
    tables = {}
    for storage in ("embedded", "by_reference"):
        write_config(tmp_path / storage, "toy", {"test": rows}, RAW_SCHEMA, storage)
        tables[storage] = pq.read_table(tmp_path / storage / "toy" / "test-00000-of-00001.parquet")
        assert get_image_storage(tables[storage].schema) == storage
    embedded, referenced = (tables[storage].to_pylist() for storage in ("embedded", "by_reference"))
    assert [row.pop("image") for row in embedded] == [
        {"bytes": encode_crop(*row["image"]), "path": f"{row['crop_id']}.jpg"} for row in rows
    ]
    assert [row.pop("image_path") for row in referenced] == [
        row["image"].path.as_posix() for row in rows
    ]
    assert embedded == referenced
    schemas = [use_stored_images(tables["by_reference"].schema), tables["embedded"].schema]
    assert schemas[0].remove_metadata() == schemas[1].remove_metadata()


def test_crops_of_several_configs_are_stored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Plain ``datasets`` reads them in the folder that contains the dataset folder."""
    folder, rows = tmp_path / "crepe", make_rows(tmp_path, 2)
    with replace_crop_files(folder, "toy") as crop_files:
        for config in ("a", "b"):
            write_config(folder, config, {"test": rows}, RAW_SCHEMA, crop_files=crop_files)
    names = [f"{row['crop_id']}.jpg" for row in rows]
    assert sorted(path.name for path in (folder / "images/toy").glob("*.jpg")) == sorted(names)
    write_card(folder, {"license": "mit"}, "", measure(folder))
    monkeypatch.chdir(tmp_path)
    for config in ("a", "b"):
        stored = pq.read_table(
            folder / config / "test-00000-of-00001.parquet", columns=["image"]
        ).to_pylist()
        assert [row["image"] for row in stored] == [
            {"bytes": None, "path": f"crepe/images/toy/{n}"} for n in names
        ]
        plain = datasets.load_dataset("crepe", config, split="test")
        for image, row in zip(plain["image"], rows, strict=True):  # pyright: ignore
            assert image.tobytes() == decode_image(encode_crop(*row["image"])).tobytes()
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder / "images/toy", check=True
    )


def test_dataset_files_have_a_page_index_and_groups_of_100_rows(tmp_path: Path):
    write_config(tmp_path, "toy", {"test": make_rows(tmp_path, 3) * 70}, RAW_SCHEMA)
    metadata = pq.read_metadata(tmp_path / "toy/test-00000-of-00001.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [
        100,
        100,
        10,
    ]
    assert metadata.row_group(0).column(0).has_offset_index
    assert metadata.row_group(0).column(0).has_column_index


def test_an_inserted_row_leaves_most_of_a_file_as_it_is(tmp_path: Path):
    """Content-defined chunking: the Hub stores the equal parts of two versions once."""
    (row,) = make_rows(tmp_path, 1)
    images = (
        {
            "bytes": b"\xff\xd8" + random.Random(number).randbytes(10_000).hex().encode(),
            "path": None,
        }
        for number in range(300)
    )
    rows = [row | {"image": image} for image in images]
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, version in ((before, rows), (after, [row | {"image": rows[7]["image"]}, *rows])):
        write_config(folder, "toy", {"test": version}, RAW_SCHEMA)
    old, new = (
        (folder / "toy/test-00000-of-00001.parquet").read_bytes() for folder in (before, after)
    )
    blocks = [old[start : start + 1000] for start in range(0, len(old), 50_000)]
    # pyarrow 22 to 24 begin the row groups of both files at other rows, so that about half of the blocks are equal.
    share = 0.8 if Version(pyarrow.__version__) >= Version("25") else 0.4
    assert sum(block in new for block in blocks) > share * len(blocks)


def test_large_splits_are_written_to_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dataset, "ROWS_PER_GROUP", 2)
    monkeypatch.setattr(dataset, "BYTES_PER_FILE", 1)
    rows = make_rows(tmp_path, 5)
    write_config(tmp_path, "toy", {"test": rows}, RAW_SCHEMA)
    paths = sorted((tmp_path / "toy").glob("*.parquet"))
    assert [path.name for path in paths] == [
        f"test-0000{index}-of-00003.parquet" for index in range(3)
    ]
    assert [pq.read_metadata(path).num_rows for path in paths] == [2, 2, 1]
    ids = [image for path in paths for image in pq.read_table(path)["image_id"].to_pylist()]
    assert ids == [row["image_id"] for row in rows]


def test_an_empty_split_is_a_file_with_no_rows(tmp_path: Path):
    assert write_config(tmp_path, "toy", {"test": []}, RAW_SCHEMA) == {"test": 0}
    table = pq.read_table(tmp_path / "toy" / "test-00000-of-00001.parquet")
    assert table.num_rows == 0
    assert table.schema.equals(add_datasets_features(RAW_SCHEMA))


def test_a_config_with_an_empty_split_is_loaded_without_it(tmp_path: Path):
    counts = write_config(
        tmp_path, "toy", {"validation": [], "test": make_rows(tmp_path, 2)}, RAW_SCHEMA
    )
    assert counts == {"validation": 0, "test": 2}
    assert [path.name for path in (tmp_path / "toy").glob("*.parquet")] == [
        "test-00000-of-00001.parquet"
    ]
    loaded = datasets.load_dataset(str(tmp_path / "toy"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"test": 2}


def test_a_wrong_column_is_an_error_and_the_old_config_stays(tmp_path: Path):
    rows = make_rows(tmp_path, 2)
    write_config(tmp_path, "toy", {"test": rows}, RAW_SCHEMA)
    wrong_row = {key: value for key, value in rows[1].items() if key != "caption"} | {"capton": ""}
    with pytest.raises(
        ValueError, match=r"toy/test, row 1: missing or unknown columns \['caption', 'capton'\]"
    ):
        write_config(tmp_path, "toy", {"test": [rows[0], wrong_row]}, RAW_SCHEMA)
    assert pq.read_table(tmp_path / "toy" / "test-00000-of-00001.parquet").num_rows == 2
