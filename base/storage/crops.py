"""Crops of source images: their pixels, and the id of a crop, which is the same in all datasets.

The corners of a crop are rounded to whole pixels one by one, as ``Image.crop`` of Pillow rounds the corners that the
CREPE authors' evaluation script passes to it. Pixels outside the image are black.
"""

import hashlib
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from compeval.base.files.atomic import atomic_folder
from compeval.base.files.untrusted import decode_image, read_file
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.patches import Patches

JPEG_QUALITY = 92
IMAGES = "images"
"""Folder in a dataset folder for the crops that several configs show."""
HASHES = "SHA256SUMS"
"""File in this folder that lists the hashes of the crops."""


def round_corners(box: Box) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom in whole pixels."""
    x, y, width, height = box
    return round(x), round(y), round(x + width), round(y + height)


def check_corners(box: Box) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom in whole pixels. Raises ValueError for a box without pixels."""
    if not all(map(math.isfinite, box)):
        raise ValueError(f"The box {tuple(box)} has a number that is not finite.")
    left, top, right, bottom = round_corners(box)
    if left >= right or top >= bottom:
        raise ValueError(f"The box {tuple(box)} (x, y, width, height) has no pixels.")
    return left, top, right, bottom


def crop_image(image: Image.Image, box: Box) -> Image.Image:
    """Cut a crop. Raises ValueError for a box outside the image or more than twice as wide or high."""
    left, top, right, bottom = check_corners(box)
    is_outside = left >= image.width or top >= image.height or right <= 0 or bottom <= 0
    if is_outside or right - left > 2 * image.width or bottom - top > 2 * image.height:
        raise ValueError(
            f"The box {(left, top, right, bottom)} does not fit the image, {image.width} x {image.height}."
        )
    return image.crop((left, top, right, bottom))


class Crop(NamedTuple):
    """A part of an image file that has not been read."""

    path: Path
    box: Box


def _open(path: Path) -> tuple[Image.Image, str]:
    """Return the decoded image and the SHA-256 of its file; cached, since crops of one image follow each other."""
    try:
        status = path.stat()
        return _decode(
            path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        )
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path}: image not found. Is the source complete, and still there?"
        ) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: not a readable image ({error}).") from error


@lru_cache(maxsize=4)
def _decode(path: Path, status: tuple[int, ...]) -> tuple[Image.Image, str]:
    """Return the decoded image and the SHA-256 of a file that has this status."""
    data = read_file(path)
    return decode_image(data), hashlib.sha256(data).hexdigest()


def read_size(path: Path) -> tuple[int, int]:
    """Return the width and height of an image in pixels."""
    return _open(path)[0].size


def read_crop(path: Path, box: Box) -> Image.Image:
    """Return a crop as RGB. Raises FileNotFoundError or ValueError for a missing or unreadable image."""
    return crop_image(_open(path)[0], box)


def encode_crop(path: Path, box: Box) -> bytes:
    """Return the crop as JPEG bytes, the same bytes at every call."""
    buffer = io.BytesIO()
    read_crop(path, box).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def crop_id(path: Path, box: Box) -> str:
    """Return 16 hex digits of a hash over the source image's bytes and the rounded box."""
    return make_crop_id(read_sha256(path), box)


def read_sha256(path: Path) -> str:
    """Return the SHA-256 of an image file. Raises FileNotFoundError or ValueError for an unreadable image."""
    return _open(path)[1]


def make_crop_id(file_sha256: str, box: Box, patches: Patches | None = None) -> str:
    """Return the crop id for the SHA-256 of the source image's file, the box and the order of the patches."""
    corners = ",".join(map(str, check_corners(box)))
    arranged = f":{patches.rows}x{patches.columns}:{patches.order}" if patches else ""
    return hashlib.sha256(f"{file_sha256}:{corners}{arranged}".encode()).hexdigest()[:16]


class CropFiles:
    """Crops that several configs of a dataset show, each stored once as ``<dataset>/images/<name>/<crop_id>.jpg``."""

    def __init__(self, folder: Path, path: str) -> None:
        """Write to ``folder``, which will be the folder ``path``, relative to the folder that contains the dataset."""
        self._folder = folder
        self._path = path

    def add(self, crop: Crop, name: str) -> str:
        """Write the crop unless it is there, and return its path relative to the folder that contains the dataset."""
        file = self._folder / f"{name}.jpg"
        if not file.exists():
            file.write_bytes(encode_crop(*crop))
        return f"{self._path}/{file.name}"


@contextmanager
def replace_crop_files(dataset: Path, name: str) -> Iterator[CropFiles]:
    """Replace the folder ``images/<name>`` of a dataset folder when the block ends without an error.

    Its file ``SHA256SUMS`` lists the hashes of the crops in the format of the command ``sha256sum``.
    """
    with atomic_folder(dataset / IMAGES / name) as folder:
        yield CropFiles(folder, f"{dataset.name}/{IMAGES}/{name}")
        hashes = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.glob("*.jpg"))
        }
        (folder / HASHES).write_text(
            "".join(f"{digest}  {file}\n" for file, digest in hashes.items()), encoding="utf-8"
        )
