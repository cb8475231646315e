"""Crops of source images: their pixels, and the id by which the same crop is known everywhere.

A crop's corners are rounded to whole pixels one by one, as Pillow's ``Image.crop`` rounds the corners that the CREPE
authors' evaluation script passes to it.
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
    """Left, top, right and bottom in whole pixels."""
    x, y, width, height = box
    return round(x), round(y), round(x + width), round(y + height)


class Crop(NamedTuple):
    """A part of an image file, not cut out yet."""

    path: Path
    box: Box


@lru_cache(maxsize=4)
def _open(path: Path) -> tuple[Image.Image, str]:
    """The decoded image and the SHA-256 of its file; a few are kept since an image's crops come in a row."""
    try:
        data = path.read_bytes()
        image = Image.open(io.BytesIO(data)).convert("RGB")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: image not found. Is the source complete, and still there?") from None
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path}: not a readable image ({error}).") from error
    return image, hashlib.sha256(data).hexdigest()


def read_size(path: Path) -> tuple[int, int]:
    """Width and height of an image in pixels."""
    return _open(path)[0].size


def read_crop(path: Path, box: Box) -> Image.Image:
    """The crop, RGB. FileNotFoundError or ValueError, with the path, for an image that is not there or not readable."""
    return _open(path)[0].crop(round_corners(box))


def encode_crop(path: Path, box: Box) -> bytes:
    """The crop as JPEG bytes, the same bytes at every call."""
    buffer = io.BytesIO()
    read_crop(path, box).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def crop_id(path: Path, box: Box) -> str:
    """16 hex digits of a hash over the source image's bytes and the rounded box."""
    return make_crop_id(_open(path)[1], box)


def make_crop_id(file_sha256: str, box: Box) -> str:
    """The same of an image whose file's hash is known."""
    corners = ",".join(map(str, round_corners(box)))
    return hashlib.sha256(f"{file_sha256}:{corners}".encode()).hexdigest()[:16]
