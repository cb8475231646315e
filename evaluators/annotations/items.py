"""What people judge: a stratified sample of a dataset's captions and hard negatives."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import loaders
from generators.schemas.corpus_names import CORPORA
from generators.storage import csv_tables, parquet
from loaders.cards.card import parquet_files, split_name
from loaders.pixels import COLUMNS as REFERENCE
from loaders.pixels import encoded

CAPTION = "caption"
"""The type of an item that is a caption; the others are called after their config."""
CAPTIONED = "prod_raw"
"""The config whose captions are written by a captioner, and so may be unfaithful."""
FILE = "items.csv"
_COLUMNS = ["caption", "complexity", "crop_id", "image_id", "hard_negatives"]


@dataclass(frozen=True)
class Item:
    """A text to judge beside a crop. ``row`` counts within ``split`` of ``config``; both say where the crop is."""

    id: str
    config: str
    split: str
    row: int
    crop_id: str
    image_id: str
    type: str
    complexity: int
    text: str

    @property
    def expected(self) -> str:
        """The answer that finds no fault with the dataset."""
        return "true" if self.type == CAPTION else "false"


def sample(folder: Path, captions: float, queries: float, seed: int) -> list[Item]:
    """The share ``captions`` of the captions and ``queries`` of the rows with hard negatives, one or more a split.

    The rows with the smallest hashes are taken, so that the sample depends on no order. A text that several sets have
    of one crop is asked once. The items come shuffled, so that their order tells nothing.
    """
    stats = loaders.read_stats(folder)
    items: dict[str, Item] = {}
    for config, splits in stats["rows"].items():
        share = captions if config == CAPTIONED else queries
        for split, count in splits.items():
            if count and share and (config == CAPTIONED or _has_negatives(folder, config, split)):
                for item in _of_split(folder, config, split, math.ceil(share * count), seed):
                    items.setdefault(item.id, item)
    return [items[key] for key in sorted(items)]


def _has_negatives(folder: Path, config: str, split: str) -> bool:
    """``hnall`` has the negatives of the other sets again."""
    schema = parquet.read_schema(next(folder.glob(f"{config}/{split}-*.parquet")))
    return "hard_negatives" in schema.names and not config.endswith("_hnall")


def _of_split(folder: Path, config: str, split: str, count: int, seed: int) -> Iterator[Item]:
    rows = list(enumerate(_rows(folder, config, split)))
    for number, row in sorted(rows, key=lambda pair: _hash(seed, pair[1]["crop_id"], pair[1]["caption"]))[:count]:
        texts = [row["caption"]] if config == CAPTIONED else row["hard_negatives"]
        kind = CAPTION if config == CAPTIONED else kind_of(config)
        for text in texts:
            where = (config, split, number, row["crop_id"], row["image_id"])
            yield Item(_hash(row["crop_id"], text)[:16], *where, kind, row.get("complexity") or 0, text)


def kind_of(config: str) -> str:
    """The kind of hard negatives of a config, the same for all corpora: ``sc_hnatom``, ``prod_hnswap``."""
    corpus, _, rest = config.partition("_")
    return rest if corpus in CORPORA else config


def _rows(folder: Path, config: str, split: str) -> Iterator[dict[str, Any]]:
    for path in parquet_files(folder):
        if path.parent.name == config and split_name(path) == split:
            names = [name for name in _COLUMNS if name in parquet.read_schema(path).names]
            for batch in parquet.batches(path, 1000, names):
                yield from batch.to_pylist()


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def crops(folder: Path, items: Iterable[Item]) -> Iterator[tuple[str, bytes]]:
    """The id and the bytes of each distinct crop of the items. ValueError if a row has another crop by now."""
    by_split: dict[tuple[str, str], dict[int, Item]] = {}
    wanted: dict[str, Item] = {}
    for item in items:
        if wanted.setdefault(item.crop_id, item) is item:
            by_split.setdefault((item.config, item.split), {})[item.row] = item
    for (config, split), rows in by_split.items():
        for number, row in enumerate(_pictures(folder, config, split)):
            if item := rows.get(number):
                if row["crop_id"] != item.crop_id:
                    break
                yield rows.pop(number).crop_id, encoded(row, folder)
        if rows:
            raise ValueError(
                f"{folder / config}, split {split}, row {min(rows)}: not the crop that was sampled. The dataset was "
                "built again since: sample anew."
            )


def _pictures(folder: Path, config: str, split: str) -> Iterator[dict[str, Any]]:
    for path in parquet_files(folder):
        if path.parent.name == config and split_name(path) == split:
            held = [name for name in ("crop_id", "image", *REFERENCE) if name in parquet.read_schema(path).names]
            for batch in parquet.batches(path, 64, held):
                yield from batch.to_pylist()


def write_items(folder: Path, items: Sequence[Item]) -> None:
    csv_tables.write(folder / FILE, [field.name for field in fields(Item)], [asdict(item) for item in items])


def read_items(folder: Path) -> list[Item]:
    """The sample that was drawn. FileNotFoundError if none was."""
    path = folder / FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no sample. `compeval annotate sample` draws one.")
    numbers = {"row", "complexity"}
    names = [field.name for field in fields(Item)]
    return [
        Item(**{name: int(row[name]) if name in numbers else row[name] for name in names})  # pyright: ignore[reportArgumentType]
        for row in csv_tables.read(path, names)
    ]
