"""Read the images of dataset rows: stored files, and crops of source images that ``image_path`` and a box locate.

An ``image_path`` is absolute or relative to the folder that contains the dataset folder. It leads to one of the folders
that ``generators/storage/untrusted.py`` accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, encode_crop, read_crop
from generators.storage.untrusted import read_file, resolve_image

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)

COLUMNS = ("image_path", *Box._fields)
"""Columns that locate a crop."""


def get_crop(row: Mapping[str, Any], folder: Path) -> Crop:
    """Return the source image and box of a row in a dataset folder.

    Raises UnsafeNameError if the path leads outside the allowed folders.
    """
    path = resolve_image(folder, row["image_path"])
    return Crop(path, Box(*(row[side] for side in Box._fields)))


def encode_row(row: Mapping[str, Any], folder: Path) -> bytes:
    """Return the row's crop as the bytes of an image file: the file in the row, or the crop encoded as JPEG."""
    return read_stored(row["image"], folder) if "image" in row else encode_crop(*get_crop(row, folder))


def read_stored(cell: Mapping[str, Any], folder: Path) -> bytes:
    """Return the bytes of the image in a cell of a dataset folder, which contains the file or its path.

    Raises ValueError if the cell is empty or the path leads outside the allowed folders, OSError if it cannot be read.
    """
    if cell["bytes"] is not None:
        return cell["bytes"]
    if cell["path"] is None:
        raise ValueError("the cell is empty")
    return read_file(resolve_image(folder, cell["path"]))


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
