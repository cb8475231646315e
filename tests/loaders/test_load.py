import json
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from compeval.loaders.datasets.folders import list_datasets
from compeval.loaders.datasets.stats import list_configs
from compeval.loaders.load import load_dataset
from tests.evaluators import tiny
from tests.rows import toy_dataset


def test_load_dataset_returns_the_rows_of_plain_datasets_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    toy_dataset(tmp_path)
    ours = load_dataset("crepe", "toy_hnatom", data_dir=tmp_path)
    monkeypatch.chdir(tmp_path)
    plain = datasets.load_dataset("crepe", "toy_hnatom")
    assert isinstance(plain, datasets.DatasetDict)
    assert plain["test"].to_dict() == ours["test"].to_dict()  # pyright: ignore
    first = plain["test"][0]
    assert first["image"].size == (40, 30)
    assert first["foils"][1] == [{"type": "object", "from": "ball", "to": "kite"}]


def test_splits_and_configs(tmp_path: Path):
    toy_dataset(tmp_path)
    assert list_configs("crepe", tmp_path) == {
        "toy_hnatom": {"test": 3},
        "toy_raw": {"n4": 3, "n5": 1},
    }
    assert len(load_dataset("crepe", "toy_raw", "n5", tmp_path)) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("crep", "toy_raw"), r"Unknown dataset 'crep'\. Did you mean crepe\? Known: crepe\."),
        (
            ("crepe", "toy_rw"),
            r"Unknown config of crepe 'toy_rw'\. Did you mean toy_raw\? Known: toy_hnatom, toy_raw\.",
        ),
        (
            ("crepe", "toy_raw", "n44"),
            r"Unknown split of crepe/toy_raw 'n44'\. Did you mean n4\? Known: n4, n5\.",
        ),
    ],
)
def test_a_wrong_name_lists_the_known_ones(tmp_path: Path, asked: tuple[str, ...], message: str):
    toy_dataset(tmp_path)
    with pytest.raises(ValueError, match=message):
        load_dataset(*asked, data_dir=tmp_path)


def test_no_dataset_at_all_says_how_to_build_one(tmp_path: Path):
    with pytest.raises(
        ValueError,
        match=r"No dataset found in .*compeval get NAME`, make one of your own captions with `compeval make`",
    ):
        load_dataset("crepe", "toy_raw", data_dir=tmp_path)


def test_a_split_that_differs_from_the_statistics_blocks_itself_only(tmp_path: Path):
    folder = toy_dataset(tmp_path)
    stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    stats["files"]["toy_raw/n5-00000-of-00001.parquet"]["rows"] = 2
    (folder / "stats.json").write_text(json.dumps(stats), encoding="utf-8")
    for split in ("n5", None):
        with pytest.raises(
            ValueError,
            match=r"n5-00000-of-00001\.parquet: 1 rows in .* on disk, 2 rows in .* expected",
        ):
            load_dataset("crepe", "toy_raw", split, tmp_path)
    assert len(load_dataset("crepe", "toy_raw", "n4", tmp_path)) == 3
    assert len(load_dataset("crepe", "toy_hnatom", "test", tmp_path)) == 3
    (folder / "toy_raw" / "n4-00000-of-00001.parquet").unlink()
    with pytest.raises(ValueError, match="no file on disk, 3 rows"):
        load_dataset("crepe", "toy_raw", "n4", tmp_path)


def test_a_variant_is_loaded_by_its_name_and_by_its_stored_name(tmp_path: Path):
    splits = {
        "test": tiny.choice_rows(3),
        "test.shuffled.s10": tiny.choice_rows(2),
        "test.shuffled.s9": tiny.choice_rows(1),
    }
    tiny.write_dataset(tmp_path, {"coco": splits}, "retrieval")
    assert list_configs("retrieval", tmp_path) == {
        "coco": {"test": 3, "test.shuffled.s9": 1, "test.shuffled.s10": 2}
    }
    for name in ("test@shuffled-s10", "@shuffled-s10", "test.shuffled.s10"):
        assert len(load_dataset("retrieval", "coco", name, tmp_path)) == 2


def test_environment_names_a_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "elsewhere").mkdir()
    toy_dataset(tmp_path / "elsewhere")
    monkeypatch.setenv("COMPEVAL_DATA", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)
    assert list_datasets()["crepe"] == tmp_path / "elsewhere" / "crepe"


def test_listing_datasets_needs_neither_torch_nor_datasets():
    code = "import compeval, sys; compeval.list_datasets(); print({'torch', 'datasets', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_plain_datasets_notices_that_a_folder_was_rebuilt(tmp_path: Path):
    toy_dataset(tmp_path, rows=3)
    assert datasets.load_dataset(str(tmp_path / "crepe"), "toy_hnatom")["test"].num_rows == 3  # pyright: ignore
    toy_dataset(tmp_path, rows=5)
    assert datasets.load_dataset(str(tmp_path / "crepe"), "toy_hnatom")["test"].num_rows == 5  # pyright: ignore
