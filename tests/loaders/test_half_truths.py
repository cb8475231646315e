"""Half-truths of hand-made rows, and of a dataset folder."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.crops import encode_crop, replace_crop_files
from compeval.base.storage.dataset import write_config
from compeval.loaders import half_truths
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.load import load_dataset
from tests.rows import hard_negative_row, toy_dataset


def make_row(negative: str, kind: str, old: str, new: str, *nouns: str) -> dict[str, Any]:
    foils = [[{"type": kind, "from": old, "to": new}]]
    atoms = [{"kind": "object", "text": noun} for noun in nouns]
    return {"crop_id": "c", "hard_negatives": [negative], "foils": foils, "atoms": atoms}


@pytest.mark.parametrize(
    ("row", "short"),
    [
        (make_row("the ball is spotted", "attribute", "striped", "spotted", "ball"), "the ball"),
        (make_row("an orange boot", "attribute", "blue", "orange", "boot"), "a boot"),
        (make_row("a blue orange", "attribute", "red", "blue", "orange"), "an orange"),
        (make_row("a boat that is to the left of a bucket", "relation", "contain", "to the left of", "boat", "bucket"),
         "a boat"),
        (make_row("a suitcase sits on a bed", "object", "bench", "bed", "suitcase", "bench"), "a suitcase"),
        (make_row("a basket sits on a bench", "object", "suitcase", "basket", "suitcase", "bench"), None),
        (make_row("a blue shirt", "object", "boot", "shirt", "boot"), None),
        (make_row("a big orange boot", "attribute", "blue", "orange", "boot"), None),
        (make_row("a boat", "object", "bucket", "cup", "boat"), None),
        (make_row("a boathouse is red", "attribute", "blue", "red", "boat"), None),
    ],
)  # fmt: skip
def test_the_short_caption_is_what_the_negative_keeps(row: dict[str, Any], short: str | None):
    found = half_truths.make_half_truth(row)
    assert (found and found.short) == short
    if found:
        assert found.long == row["hard_negatives"][0]


def test_a_config_of_a_dataset(tmp_path: Path):
    (tmp_path / "data").mkdir()
    folder = toy_dataset(tmp_path / "data", rows=3)
    with pytest.raises(ValueError, match="no such config"):
        half_truths.build("crepe/none", folder.parent, tmp_path / "new")
    made = half_truths.build("crepe/toy_hnatom", folder.parent, tmp_path / "new")
    there: Any = load_dataset("crepe", "toy_hnatom", "test", data_dir=folder.parent)
    rows: Any = load_dataset(made.name, "toy_hnatom", "test", data_dir=tmp_path / "new")
    for row, source in zip(rows, there, strict=True):
        assert row["caption"] == "a ball"
        assert row["hard_negatives"][0] in source["hard_negatives"]
        assert row["image"].tobytes() == source["image"].tobytes()
        assert [atom["text"] for atom in row["atoms"]] == ["ball"]


def test_a_config_whose_images_are_files_of_the_dataset(tmp_path: Path):
    """The pipeline's layout: several configs share the crops, and the rows have their paths."""
    folder = tmp_path / "data/crepe"
    rows = [hard_negative_row(tmp_path, index) for index in range(3)]
    with replace_crop_files(folder, "regions") as crop_files:
        write_config(folder, "toy", {"test": rows}, HARD_NEGATIVE_SCHEMA, crop_files=crop_files)
    write_card(folder, {"license": "mit"}, "A toy.\n", measure(folder))
    made = half_truths.build("crepe/toy", folder.parent, tmp_path / "new")
    (table,) = (pq.read_table(path).to_pylist() for path in made.glob("toy/*.parquet"))
    assert [row["image"]["bytes"] for row in table] == [encode_crop(*row["image"]) for row in rows]
    assert [row["caption"] for row in table] == ["a ball"] * 3
    files = sorted((folder / "images/regions").glob("*.jpg"))
    files[0].unlink()
    with pytest.raises((OSError, ValueError), match=files[0].name):
        half_truths.build("crepe/toy", folder.parent, tmp_path / "again")


def test_a_config_without_half_truths_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "data").mkdir()
    folder = toy_dataset(tmp_path / "data", rows=3)
    monkeypatch.setattr(half_truths, "make_half_truth", lambda row: None)
    with pytest.raises(ValueError, match="no hard negative begins with an object of its caption"):
        half_truths.build("crepe/toy_hnatom", folder.parent, tmp_path / "new")
