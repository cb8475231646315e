"""Draw a stratified sample of a dataset's captions and hard negatives for annotators."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from compeval.base.files import csv_tables
from compeval.base.files.untrusted import decode_image
from compeval.base.schemas.corpus_names import parse_productivity, parse_systematicity
from compeval.base.storage import parquet
from compeval.loaders.datasets.referenced_images import COLUMNS as REFERENCE
from compeval.loaders.datasets.referenced_images import encode_row
from compeval.loaders.datasets.stats import parquet_files, read_stats, split_name

CAPTION = "caption"
"""``type`` of a caption. The type of a hard negative is its config without the corpus."""
NOT_PROVEN = ", not proven"
"""Suffix of the type of negatives of own datasets that neither a scene graph nor a caption excludes."""
FILE = "items.csv"


@dataclass(frozen=True)
class Item:
    """A text to judge and the position of its crop in the dataset: config, split and row."""

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
        """The answer that is expected if the dataset is correct."""
        return "true" if self.type == CAPTION else "false"


def sample(folder: Path, captions: float, queries: float, seed: int) -> list[Item]:
    """Sample captions and rows with hard negatives from every split.

    ``captions``, ``queries``: share of captions and of rows with hard negatives; at least one per split is sampled.
    Rows are chosen by the smallest hashes, so the sample does not depend on their order. If several sets contain the
    same text for the same crop, it is one item. Items are sorted by id (a hash), so their order gives no hint on the
    answers.
    """
    items: dict[str, Item] = {}
    for config, splits in read_stats(folder)["rows"].items():
        share = captions if has_generated_captions(config) else queries
        for split, count in splits.items():
            if (
                count
                and share
                and (has_generated_captions(config) or _has_own_negatives(folder, config, split))
            ):
                for item in _draw(folder, config, split, math.ceil(share * count), seed):
                    items.setdefault(item.id, item)
    return [items[key] for key in sorted(items)]


def has_generated_captions(config: str) -> bool:
    """Return True for the raw productivity configs, whose captions are generated, may be wrong and are verified."""
    productivity = parse_productivity(config)
    return productivity is not None and productivity.kind == "raw"


def _has_own_negatives(folder: Path, config: str, split: str) -> bool:
    """Return True if the config has hard negatives that no other config has (``hnall`` repeats other configs)."""
    schema = parquet.read_schema(next(folder.glob(f"{config}/{split}-*.parquet")))
    return "hard_negatives" in schema.names and not config.endswith("_hnall")


def _draw(folder: Path, config: str, split: str, count: int, seed: int) -> Iterator[Item]:
    rows = enumerate(
        _read_rows(
            folder,
            config,
            split,
            ("caption", "complexity", "crop_id", "image_id", "hard_negatives", "proven"),
        )
    )
    for number, row in sorted(
        rows, key=lambda pair: _hash(seed, pair[1]["crop_id"], pair[1]["caption"])
    )[:count]:
        is_caption = has_generated_captions(config)
        texts = [row["caption"]] if is_caption else row["hard_negatives"]
        proven = row.get("proven") or [None] * len(texts)
        for text, is_proven in zip(texts, proven, strict=True):
            kind = (
                CAPTION
                if is_caption
                else get_type(config) + (NOT_PROVEN if is_proven is False else "")
            )
            position = (config, split, number, row["crop_id"], row["image_id"])
            yield Item(
                _hash(row["crop_id"], text)[:16], *position, kind, row.get("complexity") or 0, text
            )


def get_type(config: str) -> str:
    """Return a config's type, its name without the corpus: "laion_sc_hnatom" and "yfcc_sc_hnatom" -> "sc_hnatom"."""
    parts = parse_systematicity(config)
    return f"{parts.split}_{parts.kind}" if parts else config


def _read_rows(
    folder: Path, config: str, split: str, columns: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split. Columns that the split does not have are omitted."""
    for path in parquet_files(folder):
        if path.parent.name == config and split_name(path) == split:
            existing = parquet.read_schema(path).names
            for batch in parquet.read_filled(
                path, 64, [name for name in columns if name in existing]
            ):
                yield from batch.to_pylist()


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def read_crops(folder: Path, items: Iterable[Item]) -> Iterator[tuple[str, bytes]]:
    """Yield (crop id, image bytes) of each distinct crop.

    Raises ValueError if the dataset changed after sampling, or if an image is unreadable.
    """
    crop_ids: dict[tuple[str, str], dict[int, str]] = {}
    for item in {item.crop_id: item for item in reversed(list(items))}.values():
        crop_ids.setdefault((item.config, item.split), {})[item.row] = item.crop_id
    for (config, split), crop_by_row in crop_ids.items():
        for number, row in enumerate(
            _read_rows(folder, config, split, ("crop_id", "image", "patches", *REFERENCE))
        ):
            if crop_by_row.get(number) == row["crop_id"]:
                yield (
                    crop_by_row.pop(number),
                    _read_crop(row, folder, f"{folder / config}, split {split}, row {number}"),
                )
        if crop_by_row:
            raise ValueError(
                f"{folder / config}, split {split}, row {min(crop_by_row)}: not the crop that was sampled, because the "
                "dataset was built again. Draw a new sample."
            )


def _read_crop(row: Mapping[str, Any], folder: Path, place: str) -> bytes:
    """Return the row's crop as the bytes of an image file. Raises ValueError, which names the row, if it is none."""
    try:
        data = encode_row(row, folder)
        decode_image(data)
    except (OSError, ValueError) as error:
        raise ValueError(f"{place}: the image cannot be read ({error}).") from None
    return data


def write_items(folder: Path, items: Sequence[Item]) -> None:
    csv_tables.write(
        folder / FILE, [field.name for field in fields(Item)], [asdict(item) for item in items]
    )


def read_items(folder: Path) -> list[Item]:
    """Read the sample. Raises FileNotFoundError if there is none."""
    path = folder / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no sample. Draw a sample with `compeval annotate sample`."
        )
    rows: list[dict[str, Any]] = [*csv_tables.read(path, [field.name for field in fields(Item)])]
    for row in rows:
        row |= {"row": int(row["row"]), "complexity": int(row["complexity"])}
    return [Item(**row) for row in rows]
