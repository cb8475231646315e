"""croissant.json of a dataset folder, read by the library of the format."""

import io
import json
from pathlib import Path

import pytest
import yaml
from PIL import Image

from compeval.base.schemas.rows import RAW_SCHEMA
from compeval.base.storage.crops import replace_crop_files
from compeval.base.storage.dataset import write_config
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.rows import hard_negative_row, toy_dataset

mlcroissant = pytest.importorskip("mlcroissant")


def read(folder: Path, config: str):
    """Return the first row as the library reads it, after it has validated the file."""
    dataset = mlcroissant.Dataset(folder / "croissant.json")
    assert not list(dataset.metadata.issues.errors)
    assert not list(dataset.metadata.issues.warnings)
    return next(iter(dataset.records(config)))


def test_the_library_reads_the_rows(tmp_path: Path):
    row = read(toy_dataset(tmp_path), "toy_hnatom")
    assert row["toy_hnatom/caption"] == b"red ball"
    assert row["toy_hnatom/hard_negatives"] == [b"blue ball", b"red kite"]
    assert row["toy_hnatom/image"].size == (40, 30)
    assert row["toy_hnatom/width"] == 40.0


def test_images_in_files_are_a_file_set_and_paths(tmp_path: Path):
    folder, row = tmp_path / "crepe", hard_negative_row(tmp_path, 1)
    with replace_crop_files(folder, "toy") as crop_files:
        raw = {name: row[name] for name in RAW_SCHEMA.names}
        write_config(folder, "toy_raw", {"n4": [raw]}, RAW_SCHEMA, crop_files=crop_files)
    write_card(folder, {"license": "mit"}, "", measure(folder))
    path = read(folder, "toy_raw")["toy_raw/image"].decode()
    assert Image.open(io.BytesIO((tmp_path / path).read_bytes())).size == (40, 30)


def test_fields_of_responsible_ai_and_hashes(tmp_path: Path):
    folder = toy_dataset(tmp_path)
    metadata, stats = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("croissant.json", "stats.json")
    )
    for name in (
        "dataCollection",
        "dataLimitations",
        "dataBiases",
        "dataUseCases",
        "personalSensitiveInformation",
    ):
        assert metadata[f"rai:{name}"]
    hashes = {
        entry["@id"]: entry["sha256"] for entry in metadata["distribution"] if "sha256" in entry
    }
    assert hashes == {name: entry["sha256"] for name, entry in stats["files"].items()}
    released = yaml.safe_load(
        (Path(__file__).parents[3] / "CITATION.cff").read_text(encoding="utf-8")
    )["date-released"]
    assert metadata["datePublished"] == released
