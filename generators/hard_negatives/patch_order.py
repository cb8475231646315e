"""Perturbations of images: equal patches in a random order.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Table 4: four rows, four columns, or nine patches.
Pixels at the right and lower edge that do not fill a patch are cut off.
"""

from __future__ import annotations

import io
from random import Random

from PIL import Image

from generators.storage.crops import JPEG_QUALITY
from generators.storage.untrusted import decode_image

GRIDS: dict[str, tuple[int, int]] = {"shuffle_rows": (4, 1), "shuffle_columns": (1, 4), "shuffle_patches": (3, 3)}
"""Number of rows and columns of patches for each perturbation."""


def draw_patch_order(name: str, image_id: str, seed: int) -> list[int]:
    """Return a random order that differs from the original. Position i shows patch ``order[i]``, counted row by row."""
    rows, columns = GRIDS[name]
    rng, original = Random(f"{seed}:{name}:{image_id}"), list(range(rows * columns))
    order = original
    while order == original:
        order = rng.sample(original, len(original))
    return order


def shuffle_image_patches(data: bytes, name: str, image_id: str, seed: int) -> bytes:
    """Return the image as JPEG bytes with its patches in another order."""
    image = decode_image(data)
    rows, columns = GRIDS[name]
    width, height = image.width // columns, image.height // rows
    shuffled = Image.new("RGB", (width * columns, height * rows))
    for position, patch in enumerate(draw_patch_order(name, image_id, seed)):
        row, column = divmod(patch, columns)
        part = image.crop((column * width, row * height, (column + 1) * width, (row + 1) * height))
        shuffled.paste(part, (position % columns * width, position // columns * height))
    buffer = io.BytesIO()
    shuffled.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()
