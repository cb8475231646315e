"""Order perturbations of images: an image cut into equal tiles, which change places.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Table 4: four rows, four columns, nine patches. Pixels
at the right and lower edge that do not fill a tile are cut off.
"""

from __future__ import annotations

import io
from random import Random

from PIL import Image

from generators.storage.crops import JPEG_QUALITY

TILES: dict[str, tuple[int, int]] = {"shuffle_rows": (4, 1), "shuffle_columns": (1, 4), "shuffle_patches": (3, 3)}
"""Rows and columns of tiles of each perturbation."""


def tile_order(name: str, image_id: str, seed: int) -> list[int]:
    """An order of an image's tiles, counted row by row, that is not the one they have: place i shows tile order[i]."""
    rows, columns = TILES[name]
    rng, places = Random(f"{seed}:{name}:{image_id}"), range(rows * columns)
    order = rng.sample(places, len(places))
    while order == list(places):
        order = rng.sample(places, len(places))
    return order


def shuffled_tiles(data: bytes, name: str, image_id: str, seed: int) -> bytes:
    """The encoded image with its tiles in another order, as JPEG."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    rows, columns = TILES[name]
    width, height = image.width // columns, image.height // rows
    shuffled = Image.new("RGB", (width * columns, height * rows))
    for place, tile in enumerate(tile_order(name, image_id, seed)):
        row, column = divmod(tile, columns)
        part = image.crop((column * width, row * height, (column + 1) * width, (row + 1) * height))
        shuffled.paste(part, (place % columns * width, place // columns * height))
    buffer = io.BytesIO()
    shuffled.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()
