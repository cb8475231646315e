"""Cut the crops of rows that only reference their source image by ``image_path`` and a box.

An ``image_path`` is absolute or relative to the folder that contains the dataset folder. Absolute paths are allowed
only in the folders that ``generators/storage/untrusted.py`` accepts.
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


def get_crop(row: Mapping[str, Any], folder: Path) -> Crop:
    """Return the source image and box of a row in a dataset folder.

    Raises UnsafeNameError if the path leads outside the allowed folders.
    """
    path = resolve_image(folder.absolute().parent, row["image_path"])
    return Crop(path, Box(*(row[side] for side in Box._fields)))


def encode_row(row: Mapping[str, Any], folder: Path) -> bytes:
    """Return the row's crop as the bytes of an image file: the file in the row, or the crop encoded as JPEG."""
    return row["image"]["bytes"] if "image" in row else encode_crop(*get_crop(row, folder))


def add_images(rows: Rows, folder: Path) -> Rows:
    """Add a column ``image`` to the rows. Each crop is cut when its row is read."""
    return rows.with_transform(partial(_cut_crops, folder=folder))


def _cut_crops(columns: dict[str, list[Any]], folder: Path) -> dict[str, list[Any]]:
    if not columns.keys() >= set(COLUMNS):
        return columns
    rows = (
        dict(zip(COLUMNS, values, strict=True)) for values in zip(*(columns[name] for name in COLUMNS), strict=True)
    )
    return {"image": [read_crop(*get_crop(row, folder)) for row in rows], **columns}
