"""Images whose patches are in another order. A dataset row has the order, and the image is made when the row is read.

Pixels at the right and lower edge that do not fill a patch are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from PIL import Image


class Patches(NamedTuple):
    """A grid of equal patches, and their order: position i, counted row by row, shows patch ``order[i]``."""

    rows: int
    columns: int
    order: tuple[int, ...]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Patches | None:
        """Return the column ``patches`` of a dataset row. Returns None if the row shows its image as it is.

        Raises ValueError if the order is not a permutation of the patches.
        """
        cell = row.get("patches")
        if cell is None:
            return None
        patches = cls(cell["rows"], cell["columns"], tuple(cell["order"]))
        if (
            sorted(patches.order) != list(range(max(patches.rows, 0) * max(patches.columns, 0)))
            or not patches.order
        ):
            raise ValueError(f"{patches} is not an order of the patches.")
        return patches


def arrange_patches(image: Image.Image, patches: Patches | None) -> Image.Image:
    """Return the image with its patches in another order; the image itself without ``patches``.

    Raises ValueError if the image has fewer pixels than patches in a direction.
    """
    if patches is None:
        return image
    width = image.width // patches.columns
    height = image.height // patches.rows
    if not width or not height:
        raise ValueError(
            f"An image of {image.width} x {image.height} pixels has no {patches.columns} x {patches.rows} patches."
        )
    arranged = Image.new("RGB", (width * patches.columns, height * patches.rows))
    for position, patch in enumerate(patches.order):
        row, column = divmod(patch, patches.columns)
        part = image.crop((column * width, row * height, (column + 1) * width, (row + 1) * height))
        arranged.paste(
            part, (position % patches.columns * width, position // patches.columns * height)
        )
    return arranged
