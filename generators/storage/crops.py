"""Crops of source images: their pixels, and the ids that identify a crop in every dataset.

The corners of a crop are rounded to whole pixels one by one, as Pillow's ``Image.crop`` rounds the corners in the
evaluation script of the CREPE authors.
"""

import hashlib
import io
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

from generators.schemas.scene_graph import Box

JPEG_QUALITY = 92


def round_corners(box: Box) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom in whole pixels."""
    x, y, width, height = box
    return round(x), round(y), round(x + width), round(y + height)


class Crop(NamedTuple):
    """The part of an image file inside a box."""

    path: Path
    box: Box


@lru_cache(maxsize=4)
def _open(path: Path) -> tuple[Image.Image, str]:
    """Return the decoded image and the SHA-256 of its file. The cache is small because the crops of an image are
    requested one after another."""
    try:
        data = path.read_bytes()
        image = Image.open(io.BytesIO(data)).convert("RGB")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: image not found. Check that the source's images are complete.") from None
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path}: not a readable image ({error}).") from error
    return image, hashlib.sha256(data).hexdigest()


def read_size(path: Path) -> tuple[int, int]:
    """Return the width and height of an image in pixels."""
    return _open(path)[0].size


def read_crop(path: Path, box: Box) -> Image.Image:
    """Return the crop as an RGB image.

    Raises FileNotFoundError if the image does not exist and ValueError if it cannot be decoded.
    """
    return _open(path)[0].crop(round_corners(box))


def encode_crop(path: Path, box: Box) -> bytes:
    """Return the crop as the bytes of a JPEG file; the result is deterministic."""
    buffer = io.BytesIO()
    read_crop(path, box).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def crop_id(path: Path, box: Box) -> str:
    """Return the id of a crop: 16 hex digits of a hash over the source image's bytes and the rounded box."""
    return make_crop_id(_open(path)[1], box)


def make_crop_id(file_sha256: str, box: Box) -> str:
    """Return the same id as :func:`crop_id` for an image whose SHA-256 is known."""
    corners = ",".join(map(str, round_corners(box)))
    return hashlib.sha256(f"{file_sha256}:{corners}".encode()).hexdigest()[:16]
