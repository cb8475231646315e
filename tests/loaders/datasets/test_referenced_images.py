"""Tests of dataset folders whose rows reference their source images."""

import json
import shutil
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval import load_dataset
from compeval.base.files.untrusted import allow_images
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.storage.crops import Crop, encode_crop, round_corners
from compeval.base.storage.dataset import write_config
from compeval.evaluators.annotations import items
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.referenced_images import get_crop
from compeval.loaders.datasets.stats import measure
from compeval.loaders.push import push
from tests.hub_server import Repositories
from tests.rows import hard_negative_row


def made(root: Path, source: str = "visual_genome") -> Path:
    """Write ``root/crepe`` with three rows whose paths are relative to ``root``, and a config that stores its crops."""
    (root / "pictures").mkdir(parents=True)
    found = [hard_negative_row(root / "pictures", number) for number in range(3)]
    for row in found:
        row["provenance"] |= {"source": source}
    named = [
        row | {"image": row["image"]._replace(path=row["image"].path.relative_to(root))}
        for row in found
    ]
    raw = [{name: row[name] for name in RAW_SCHEMA.names} for row in found]
    write_config(
        root / "crepe",
        "prod_hnatom",
        {"n4": named[:2], "n5": named[2:]},
        HARD_NEGATIVE_SCHEMA,
        "by_reference",
    )
    write_config(root / "crepe", "prod_raw", {"n4": raw}, RAW_SCHEMA)
    write_card(
        root / "crepe",
        {"license": "mit"},
        "# CREPE\n",
        measure(root / "crepe") | {"source": source},
    )
    return root / "crepe"


def test_a_row_has_path_and_box_in_plain_datasets_and_also_the_crop_in_compeval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made(tmp_path)
    ours = load_dataset("crepe", "prod_hnatom", "n4", data_dir=tmp_path)
    monkeypatch.chdir(tmp_path)
    plain = datasets.load_dataset("crepe", "prod_hnatom", split="n4")
    assert "image" not in plain.column_names  # pyright: ignore
    assert plain[0]["image_path"] == "pictures/0.jpg"  # pyright: ignore
    for number, row in enumerate(ours):
        place = Crop(
            tmp_path / "pictures" / f"{number}.jpg",
            hard_negative_row(tmp_path, number)["image"].box,
        )
        with Image.open(place.path) as whole:
            assert row["image"].tobytes() == whole.crop(round_corners(place.box)).tobytes()  # pyright: ignore
    assert ours["caption"] == ["red ball"] * 2, "columns without the image are read without it"
    both = load_dataset("crepe", "prod_hnatom", data_dir=tmp_path)
    assert [both[split][0]["image"].size for split in ("n4", "n5")] == [(40, 30)] * 2  # pyright: ignore


def test_a_path_is_relative_to_the_parent_of_the_dataset_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    row = {"image_path": "pictures/0.jpg", "x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0}
    monkeypatch.chdir(made(tmp_path))
    places = {get_crop(row, folder) for folder in (Path(), Path("../crepe"), tmp_path / "crepe")}
    assert {place.path.resolve() for place in places} == {tmp_path / "pictures" / "0.jpg"}
    with pytest.raises(
        ValueError, match=r"'/far/0\.jpg' is outside the folders whose images may be read"
    ):
        get_crop(row | {"image_path": "/far/0.jpg"}, Path())


def test_a_missing_image_is_named(tmp_path: Path):
    made(tmp_path / "here")
    # An image that was open a moment ago is at hand.
    moved = (tmp_path / "here").rename(tmp_path / "moved")
    allow_images(moved, [Path("pictures")])
    (moved / "pictures" / "1.jpg").unlink()
    rows = load_dataset("crepe", "prod_hnatom", "n4", data_dir=moved)
    assert rows[0]["image"].size == (40, 30)  # pyright: ignore
    with pytest.raises(FileNotFoundError, match=r"pictures/1\.jpg: image not found"):
        rows[1]


def test_the_card_says_which_rows_contain_no_pixels(tmp_path: Path):
    card = (made(tmp_path) / "README.md").read_text(encoding="utf-8")
    assert "The rows of `prod_hnatom` hold no pixels." in card


def test_a_push_adds_the_crops_if_redistribution_is_permitted(
    hub_server: Repositories, tmp_path: Path
):
    folder = made(tmp_path / "data")
    push(folder, "me/crepe")
    shutil.rmtree(tmp_path / "data" / "pictures")
    rows = load_dataset("me/crepe", "prod_hnatom", "n4")
    assert "image_path" not in rows.column_names, "nobody else has such a path"  # pyright: ignore
    assert [row["image"].size for row in rows] == [(40, 30)] * 2  # pyright: ignore
    assert "hold no pixels" not in hub_server.files["me/crepe"]["README.md"].decode()
    name = "prod_raw/n4-00000-of-00001.parquet"
    assert hub_server.files["me/crepe"][name] == (folder / name).read_bytes()


def test_a_push_removes_the_paths_if_redistribution_is_not_permitted(
    hub_server: Repositories, tmp_path: Path
):
    push(made(tmp_path, source="coco"), "me/crepe")
    stored = load_dataset("me/crepe", "prod_hnatom", "n4")
    assert not {"image", "image_path"} & {*stored.column_names}  # pyright: ignore
    assert stored[0]["x"] == 10  # pyright: ignore
    card = hub_server.files["me/crepe"]["README.md"].decode()
    assert card.count("## Pixels") == 1
    assert "The rows of `prod_hnatom`, `prod_raw` hold no pixels" in card


def test_annotators_see_the_crops(tmp_path: Path):
    folder = made(tmp_path)
    sampled = items.sample(folder, captions=1, queries=1, seed=0)
    shown = dict(items.read_crops(folder, sampled))
    assert len(shown) == 3
    place = hard_negative_row(tmp_path, 0)
    assert shown[place["crop_id"]] == encode_crop(*place["image"])


def test_statistics_do_not_depend_on_the_location_of_the_images(tmp_path: Path):
    versions = [
        json.loads((made(tmp_path / at) / "stats.json").read_text(encoding="utf-8"))["version"]
        for at in ("a", "b")
    ]
    assert versions[0] == versions[1]


def test_the_schema_states_the_image_storage(tmp_path: Path):
    folder = made(tmp_path)
    names = [
        pq.read_schema(next((folder / config).glob("*.parquet"))).names
        for config in ("prod_hnatom", "prod_raw")
    ]
    assert [("image" in found, "image_path" in found) for found in names] == [
        (False, True),
        (True, False),
    ]


def test_a_changed_image_is_not_shown_to_annotators_and_on_pages(tmp_path: Path):
    """`compeval run` refuses it as well: the id of a crop is a hash of its file."""
    folder = made(tmp_path)
    (row, *_) = pq.read_table(folder / "prod_hnatom/n4-00000-of-00001.parquet").to_pylist()
    assert get_crop(row, folder).path == tmp_path / "pictures/0.jpg"
    Image.new("RGB", (100, 80), "red").save(tmp_path / "pictures/0.jpg")
    with pytest.raises(
        ValueError, match=r"0\.jpg is not the image that the dataset was built from"
    ):
        get_crop(row, folder)
    with pytest.raises(ValueError, match="is not the image"):
        load_dataset("crepe", "prod_hnatom", "n4", data_dir=tmp_path)[0]
    with pytest.raises(ValueError, match=r"split n4, row 0: the image cannot be read"):
        list(items.read_crops(folder, items.sample(folder, 1, 1, 0)))
