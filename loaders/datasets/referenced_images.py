"""Read the images of dataset rows: files in the row, in another row, or elsewhere.

A row references its source image by ``image_path`` and a box, or it points by ``image_row`` to the row of the config's
first split that contains the image. If ``patches`` is not null, the row shows its image with the patches in another
order.

An ``image_path`` is absolute or relative to the folder that contains the dataset folder. It leads to one of the folders
that ``base/files/untrusted.py`` accepts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from compeval.base.files.untrusted import read_file, resolve_image
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, encode_crop, make_crop_id, read_crop, read_sha256
from compeval.base.storage.patches import Patches, arrange_patches
from compeval.loaders.datasets.stats import split_name

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)

COLUMNS = ("image_path", *Box._fields)
"""Columns that locate a crop."""


def get_crop(row: Mapping[str, Any], folder: Path) -> Crop:
    """Return the source image and box of a row in a dataset folder.

    Raises UnsafeNameError if the path leads outside the allowed folders, and ValueError if the file is not the one that
    the dataset was built from.
    """
    path = resolve_image(folder, row["image_path"])
    crop = Crop(path, Box(*(row[side] for side in Box._fields)))
    if (
        "crop_id" in row
        and make_crop_id(read_sha256(path), crop.box, Patches.from_row(row)) != row["crop_id"]
    ):
        raise ValueError(
            f"{path} is not the image that the dataset was built from. Restore the file, or build the dataset again."
        )
    return crop


def encode_row(row: Mapping[str, Any], folder: Path) -> bytes:
    """Return the row's crop as the bytes of an image file: the file in the row, or the crop encoded as JPEG."""
    return (
        read_stored(row["image"], folder) if "image" in row else encode_crop(*get_crop(row, folder))
    )


def read_stored(cell: Mapping[str, Any], folder: Path) -> bytes:
    """Return the bytes of the image in a cell of a dataset folder, which contains the file or its path.

    Raises ValueError if the cell is empty or the path leads outside the allowed folders, OSError if it cannot be read.
    """
    if cell["bytes"] is not None:
        return cell["bytes"]
    if cell["path"] is None:
        raise ValueError("the cell is empty")
    return read_file(resolve_image(folder, cell["path"]))


def find_first_split(config_folder: Path) -> str:
    """Return the split of a config whose rows contain the images of all splits."""
    return min(map(split_name, config_folder.glob("*.parquet")))


def add_images(rows: Rows, folder: Path) -> Rows:
    """Add a column ``image`` to the rows. Each crop is cut when its row is read."""
    return rows.with_transform(partial(_cut_crops, folder=folder))


def _cut_crops(columns: dict[str, list[Any]], folder: Path) -> dict[str, list[Any]]:
    if not columns.keys() >= set(COLUMNS):
        return columns
    rows = (
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    )
    return {
        "image": [
            arrange_patches(read_crop(*get_crop(row, folder)), Patches.from_row(row))
            for row in rows
        ]
    } | columns


def share_images(rows: Rows, first_split: Dataset, names: Sequence[str]) -> Rows:
    """Replace the image columns ``names`` of the rows by those of the rows of ``first_split`` that they point to."""
    return rows.with_transform(partial(_find_images, images=first_split.select_columns([*names])))


def _find_images(columns: dict[str, list[Any]], images: Dataset) -> dict[str, list[Any]]:
    if not columns.keys() >= {*images.column_names, "image_row"}:
        return columns
    shown = [images[row] for row in columns["image_row"]]
    orders = [
        Patches.from_row({"patches": cell})
        for cell in columns.get("patches") or [None] * len(shown)
    ]
    return columns | {
        name: [
            arrange_patches(row[name], patches) for row, patches in zip(shown, orders, strict=True)
        ]
        for name in images.column_names
    }
