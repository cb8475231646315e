"""Tests of exported training sets, which are read as other training code would read them."""

from pathlib import Path

import datasets
import webdataset

from compeval.trainers.negclip.training import TrainingData, export_mined
from tests.trainers import toy


def check_rows(rows: list[dict], neighbours: list[list[int]]) -> None:
    """Check that 20 images have their captions, negatives with exchanged nouns and colours, and three neighbours."""
    assert [row["captions"][0]["text"] for row in rows] == [caption for caption, _ in toy.pairs()]
    negatives = {
        negative["text"]: negative["kind"] for negative in rows[0]["captions"][0]["negatives"]
    }
    assert negatives["a red car beside a green cup"] == "noun"
    assert negatives["a green cup beside a red car"] == "adjective"
    for number, nearest in enumerate(neighbours):
        assert len(nearest) == 3
        assert number not in nearest
        assert set(nearest) <= set(range(20))


def test_datasets_reads_the_parquet_format(spec: str, shards: Path, tmp_path: Path) -> None:
    assert (
        export_mined(
            spec, TrainingData(shards), tmp_path / "out", "parquet", report=toy.ignore_progress
        )
        == 20
    )
    rows = datasets.load_dataset(
        str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache")
    )
    check_rows(list(rows), [row["neighbours"] for row in rows])  # pyright: ignore
    assert rows[0]["image"].getpixel((0, 0)) == toy.COLORS["red"]  # pyright: ignore
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "out"]


def test_webdataset_reads_the_shards(spec: str, shards: Path, tmp_path: Path) -> None:
    assert (
        export_mined(
            spec, TrainingData(shards), tmp_path / "out", "webdataset", report=toy.ignore_progress
        )
        == 20
    )
    samples = list(
        webdataset.WebDataset(str(tmp_path / "out/00000.tar"), shardshuffle=False).decode("pil")
    )
    records = [sample["json"] for sample in samples]
    check_rows(records, [[int(key) for key in record["neighbours"]] for record in records])
    assert [sample["txt"] for sample in samples] == [caption for caption, _ in toy.pairs()]
    assert samples[0]["png"].getpixel((0, 0)) == toy.COLORS["red"]
