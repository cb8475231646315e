"""The crops of rows that do not hold them: cut from the source images that the rows name.

An ``image_path`` is absolute, or as seen from the folder that holds the dataset's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

from generators.crops import Crop, crop, rounded
from generators.scene_graph import Box

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)

COLUMNS = ("image_path", *Box._fields)
"""What says where a crop is to be cut from."""


def place(row: Mapping[str, Any], root: Path) -> Crop:
    """Where a row's crop is to be cut from."""
    return Crop(root / row["image_path"], Box(*(row[side] for side in Box._fields)))


def encoded(row: Mapping[str, Any], root: Path) -> bytes:
    """The crop of a row as a file's bytes: those that it holds, or the crop as JPEG."""
    return row["image"]["bytes"] if "image" in row else crop(*place(row, root))


def with_images(rows: Rows, root: Path) -> Rows:
    """The rows with a further ``image`` of each, cut when the row is read."""
    return rows.with_transform(partial(_add_images, root=root))


def _add_images(columns: dict[str, list[Any]], root: Path) -> dict[str, list[Any]]:
    if not columns.keys() >= set(COLUMNS):
        return columns
    parts = zip(*(columns[name] for name in COLUMNS), strict=True)
    return {"image": [_cut(root / path, Box(*sides)) for path, *sides in parts], **columns}


def _cut(path: Path, box: Box) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB").crop(rounded(box))
