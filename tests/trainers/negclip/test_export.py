"""Hard-negative training sets, as another trainer reads them."""

import json
from pathlib import Path

import datasets
import webdataset

from tests.trainers import toy
from trainers.negclip.training import TrainingData, export_mined


def quiet(title: str, done: int, total: int) -> None:
    """No progress bar."""


def check(rows: list[dict], neighbours: list[list[int]]) -> None:
    """20 pictures with the toy world's captions, a negative that exchanges nouns or colours each, three others each."""
    assert [row["captions"][0]["text"] for row in rows] == [caption for caption, _ in toy.pairs()]
    first = {negative["text"]: negative["kind"] for negative in rows[0]["captions"][0]["negatives"]}
    assert first["a red car beside a green cup"] == "noun"
    assert first["a green cup beside a red car"] == "adjective"
    for number, near in enumerate(neighbours):
        assert len(near) == 3
        assert number not in near
        assert set(near) <= set(range(20))


def test_parquet_is_read_by_datasets(tmp_path: Path) -> None:
    spec, shards = toy.write_model(tmp_path / "clip"), toy.write_shards(tmp_path / "toy")
    assert export_mined(spec, TrainingData(shards), tmp_path / "out", "parquet", report=quiet) == 20
    rows = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    check(list(rows), [row["neighbours"] for row in rows])  # pyright: ignore
    assert rows[0]["image"].getpixel((0, 0)) == toy.COLORS["red"]  # pyright: ignore
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "clip", "out", "toy"]


def test_shards_are_read_by_webdataset(tmp_path: Path) -> None:
    spec, shards = toy.write_model(tmp_path / "clip"), toy.write_shards(tmp_path / "toy")
    export_mined(spec, TrainingData(shards), tmp_path / "out", "webdataset", report=quiet)
    samples = list(webdataset.WebDataset(str(tmp_path / "out/00000.tar"), shardshuffle=False).decode("pil"))
    told = [sample["json"] for sample in samples]
    check(told, [[int(key) for key in one["neighbours"]] for one in told])
    assert [sample["txt"] for sample in samples] == [caption for caption, _ in toy.pairs()]
    assert samples[0]["png"].getpixel((0, 0)) == toy.COLORS["red"]
    assert json.dumps(told)
