"""Crops of rows that only reference their source image (``image_path`` and a box), cut when they are needed.

An ``image_path`` is relative to the folder that contains the dataset folder; where an absolute path may lead:
``generators/storage/untrusted.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, encode_crop, read_crop
from generators.storage.untrusted import resolve_image

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)

COLUMNS = ("image_path", *Box._fields)
"""Columns that locate a crop."""


def crop_of(row: Mapping[str, Any], folder: Path) -> Crop:
    """Return the source image and box of a row in a dataset folder. Raises UnsafeNameError for a path elsewhere."""
    path = resolve_image(folder.absolute().parent, row["image_path"])
    return Crop(path, Box(*(row[side] for side in Box._fields)))


def encoded(row: Mapping[str, Any], folder: Path) -> bytes:
    """The row's crop as the bytes of an image file: the embedded file, or the crop as JPEG."""
    return row["image"]["bytes"] if "image" in row else encode_crop(*crop_of(row, folder))


def with_images(rows: Rows, folder: Path) -> Rows:
    """The rows with an additional column ``image``, cut when a row is read."""
    return rows.with_transform(partial(_add_images, folder=folder))


def _add_images(columns: dict[str, list[Any]], folder: Path) -> dict[str, list[Any]]:
    if not columns.keys() >= set(COLUMNS):
        return columns
    rows = (
        dict(zip(COLUMNS, values, strict=True)) for values in zip(*(columns[name] for name in COLUMNS), strict=True)
    )
    return {"image": [read_crop(*crop_of(row, folder)) for row in rows], **columns}
