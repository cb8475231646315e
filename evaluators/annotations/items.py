"""A stratified sample of a dataset's captions and hard negatives for annotators."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from generators.schemas.corpus_names import CORPORA
from generators.storage import csv_tables, parquet
from loaders.datasets.referenced_images import COLUMNS as REFERENCE
from loaders.datasets.referenced_images import encoded
from loaders.datasets.stats import parquet_files, read_stats, split_name

CAPTION = "caption"
"""The type of an item that is a caption; the type of a hard negative is its config, without the corpus."""
CAPTIONED = "prod_raw"
"""The config whose captions a captioner generates, so that they may be unfaithful."""
FILE = "items.csv"


@dataclass(frozen=True)
class Item:
    """A text to judge, and the position of its crop: ``row`` of ``split`` of ``config``."""

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
        """The answer if the dataset is right."""
        return "true" if self.type == CAPTION else "false"


def sample(folder: Path, captions: float, queries: float, seed: int) -> list[Item]:
    """The share ``captions`` of the captions and ``queries`` of the rows with hard negatives, at least one per split.

    Takes the rows with the smallest hashes, so the sample does not depend on their order. A text that several sets have
    for a crop is one item. Items are sorted by hash, so their order gives no hint.
    """
    items: dict[str, Item] = {}
    for config, splits in read_stats(folder)["rows"].items():
        share = captions if config == CAPTIONED else queries
        for split, count in splits.items():
            if count and share and (config == CAPTIONED or _has_own_negatives(folder, config, split)):
                for item in _draw(folder, config, split, math.ceil(share * count), seed):
                    items.setdefault(item.id, item)
    return [items[key] for key in sorted(items)]


def _has_own_negatives(folder: Path, config: str, split: str) -> bool:
    """True unless the config has no hard negatives or, as ``hnall``, repeats those of other configs."""
    schema = parquet.read_schema(next(folder.glob(f"{config}/{split}-*.parquet")))
    return "hard_negatives" in schema.names and not config.endswith("_hnall")


def _draw(folder: Path, config: str, split: str, count: int, seed: int) -> Iterator[Item]:
    rows = enumerate(_rows(folder, config, split, ("caption", "complexity", "crop_id", "image_id", "hard_negatives")))
    for number, row in sorted(rows, key=lambda pair: _hash(seed, pair[1]["crop_id"], pair[1]["caption"]))[:count]:
        texts = [row["caption"]] if config == CAPTIONED else row["hard_negatives"]
        kind = CAPTION if config == CAPTIONED else kind_of(config)
        for text in texts:
            where = (config, split, number, row["crop_id"], row["image_id"])
            yield Item(_hash(row["crop_id"], text)[:16], *where, kind, row.get("complexity") or 0, text)


def kind_of(config: str) -> str:
    """The type of hard negatives of a config, the same for all corpora: ``sc_hnatom``, ``prod_hnswap``."""
    corpus, _, rest = config.partition("_")
    return rest if corpus in CORPORA else config


def _rows(folder: Path, config: str, split: str, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The rows of a split, with those of ``columns`` that it has."""
    for path in parquet_files(folder):
        if path.parent.name == config and split_name(path) == split:
            existing = parquet.read_schema(path).names
            for batch in parquet.read_batches(path, 64, [name for name in columns if name in existing]):
                yield from batch.to_pylist()


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def crops(folder: Path, items: Iterable[Item]) -> Iterator[tuple[str, bytes]]:
    """Id and bytes of each distinct crop. ValueError if the rows are not the sampled ones any more."""
    wanted: dict[tuple[str, str], dict[int, str]] = {}
    for item in {item.crop_id: item for item in reversed(list(items))}.values():
        wanted.setdefault((item.config, item.split), {})[item.row] = item.crop_id
    for (config, split), crop_by_row in wanted.items():
        for number, row in enumerate(_rows(folder, config, split, ("crop_id", "image", *REFERENCE))):
            if crop_by_row.get(number) == row["crop_id"]:
                yield crop_by_row.pop(number), encoded(row, folder)
        if crop_by_row:
            raise ValueError(
                f"{folder / config}, split {split}, row {min(crop_by_row)}: not the crop that was sampled. The dataset "
                "was built again: draw a new sample."
            )


def write_items(folder: Path, items: Sequence[Item]) -> None:
    csv_tables.write(folder / FILE, [field.name for field in fields(Item)], [asdict(item) for item in items])


def read_items(folder: Path) -> list[Item]:
    """The sample. FileNotFoundError if there is none."""
    path = folder / FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no sample. `compeval annotate sample` draws one.")
    rows: list[dict[str, Any]] = [*csv_tables.read(path, [field.name for field in fields(Item)])]
    for row in rows:
        row |= {"row": int(row["row"]), "complexity": int(row["complexity"])}
    return [Item(**row) for row in rows]
