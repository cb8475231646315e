"""Small JPEG files of the size that an annotation states: soft noise with a coloured rectangle per large object."""

from __future__ import annotations

import io
from collections.abc import Sequence
from random import Random

from PIL import Image, ImageDraw

from bench.standin.scene import PixelBox

GRAIN = 16
"""Pixels per cell of the noise."""
RECTANGLES = 12


def draw_jpeg(width: int, height: int, boxes: Sequence[PixelBox], rng: Random) -> bytes:
    """Return a JPEG file; equal arguments return equal bytes."""
    cells = max(1, width // GRAIN), max(1, height // GRAIN)
    noise = Image.frombytes("RGB", cells, rng.randbytes(3 * cells[0] * cells[1]))
    image = noise.resize((width, height), Image.Resampling.BILINEAR)
    draw = ImageDraw.Draw(image)
    for box in sorted(boxes, key=lambda box: -box.w * box.h)[:RECTANGLES]:
        draw.rectangle((box.x, box.y, box.x + box.w, box.y + box.h), fill=rng.randrange(1 << 24))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=80)
    return file.getvalue()
