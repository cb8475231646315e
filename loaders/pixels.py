"""The crops of rows that do not hold them: cut from the source images that the rows name.

An ``image_path`` is absolute, or as seen from the folder that holds the dataset's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop, cut

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)

COLUMNS = ("image_path", *Box._fields)
"""What says where a crop is to be cut from."""


def place(row: Mapping[str, Any], folder: Path) -> Crop:
    """Where the crop of a row of a dataset folder is to be cut from."""
    return Crop(folder.absolute().parent / row["image_path"], Box(*(row[side] for side in Box._fields)))


def encoded(row: Mapping[str, Any], folder: Path) -> bytes:
    """The crop of a row as a file's bytes: those that it holds, or the crop as JPEG."""
    return row["image"]["bytes"] if "image" in row else crop(*place(row, folder))


def with_images(rows: Rows, folder: Path) -> Rows:
    """The rows with a further ``image`` of each, cut when the row is read."""
    return rows.with_transform(partial(_add_images, folder=folder))


def _add_images(columns: dict[str, list[Any]], folder: Path) -> dict[str, list[Any]]:
    if not columns.keys() >= set(COLUMNS):
        return columns
    rows = (
        dict(zip(COLUMNS, values, strict=True)) for values in zip(*(columns[name] for name in COLUMNS), strict=True)
    )
    return {"image": [cut(*place(row, folder)) for row in rows], **columns}
