"""Names, paths and images that come from data: the rules for what they may be.

Datasets, shards, archives, answers and names are written by others. A name may become one part of a path, a path may
lead to a regular file in a known folder, and an image is decoded by a few named decoders after its size is checked.
Every use of such data goes through this module.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from compeval.base.files.cache_folder import cache_folder

ORIENTATION = 0x0112
"""EXIF tag: how an image has to be turned."""
DEEP = "more than 8 bits per channel"
FLOATING = "floating-point pixels"
ROTATED = "an EXIF rotation"
TRANSPARENT = "transparent pixels"
RANGES = {"I": (65_535,), "F": (1, 255, 65_535)}
"""Largest possible value of the pixels, by the first letter of Pillow's mode."""
BITS_PER_SAMPLE = 258
"""Tag of TIFF files."""
PHOTOMETRIC_INTERPRETATION = 262
"""Tag of TIFF files."""
WHITE_IS_ZERO = 0
"""Photometric interpretation in which large numbers are dark. Pillow inverts up to 8 bits itself."""
GREY_LEVELS = {"L;2": 3, "L;4": 15}
"""Largest value of a grey PNG file with 2 or 4 bits, by Pillow's name of its pixels in the file."""
IMAGE_FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF")
"""Pillow's names of the formats that are decoded."""
MAX_PIXELS = 100_000_000
MAX_FILE_BYTES = 500_000_000
MAX_NAME_LENGTH = 200
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    UnicodeDecodeError,
    tarfile.TarError,
    zlib.error,
    EOFError,
    RuntimeError,
    IndexError,
    gzip.BadGzipFile,
)
"""Errors that damaged and encrypted archives cause."""
SOURCES = "sources"
"""Folder next to the dataset folders: images that the pipeline reads or downloads."""
IMAGES_VARIABLE = "COMPEVAL_IMAGES"
"""Variable of the environment: further folders whose images datasets may reference."""

_NAME = re.compile(r"[\w(][\w .,()+@=~%-]*")


class UnsafeNameError(ValueError):
    """A name or path from data that would lead outside its folder."""


def safe_name(name: str) -> str:
    """Return the name if it can be one part of a path. Raises UnsafeNameError."""
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise UnsafeNameError(
            f"{name[:MAX_NAME_LENGTH]!r} cannot be used as a file name: it has to begin with a letter, a digit or an "
            f"underscore, without slashes, and have at most {MAX_NAME_LENGTH} characters."
        )
    return name


def resolve_below(folder: Path, path: str) -> Path:
    """Return ``folder/path`` if ``path`` is relative and has no ``..``. Raises UnsafeNameError."""
    parts = PurePosixPath(path).parts
    if (
        not parts
        or PurePosixPath(path).is_absolute()
        or ".." in parts
        or "\0" in path
        or Path(path).is_absolute()
    ):
        raise UnsafeNameError(f"{path!r} does not name a file below the folder {str(folder)!r}.")
    return folder.joinpath(*parts)


def resolve_image(dataset: Path, path: str) -> Path:
    """Return the image file that a row of the dataset folder ``dataset`` references.

    ``path`` is absolute or relative to the folder that contains ``dataset``. The file has to be below
    ``dataset`` or below ``sources`` next to it, also after links are followed, or below a folder that
    the user has named (``list_image_roots``). Raises UnsafeNameError.
    """
    parent = dataset.absolute().parent
    image = parent / path
    if ".." in Path(path).parts or "\0" in path or not _may_read(dataset.absolute(), image):
        raise UnsafeNameError(
            f"{path!r} is outside the folders whose images may be read. If you trust the dataset, name the folder of "
            f"its images: {IMAGES_VARIABLE}=FOLDER."
        )
    return image


def _may_read(dataset: Path, image: Path) -> bool:
    if any(map(image.is_relative_to, list_image_roots(dataset.parent))):
        return True
    resolved = image.resolve()
    sources = dataset.parent.resolve() / SOURCES
    return (image.is_relative_to(dataset) and resolved.is_relative_to(dataset.resolve())) or (
        image.is_relative_to(dataset.parent / SOURCES) and resolved.is_relative_to(sources)
    )


def list_image_roots(folder: Path) -> list[Path]:
    """Return the folders of images that the user has named for the datasets in ``folder``.

    They are those of earlier imports and builds, and of $COMPEVAL_IMAGES, which are for all datasets.
    """
    named = os.environ.get(IMAGES_VARIABLE, "").split(os.pathsep)
    roots = [*filter(None, named), *read_image_roots(folder)]
    return [folder.absolute() / root for root in roots]


def is_inside(path: Path, folder: Path) -> bool:
    """Return True if a file is below a folder, or below one of $COMPEVAL_IMAGES, after links are followed."""
    named = filter(None, os.environ.get(IMAGES_VARIABLE, "").split(os.pathsep))
    resolved = path.resolve()
    return any(resolved.is_relative_to(Path(root).resolve()) for root in (folder, *named))


def read_image_roots(folder: Path) -> list[str]:
    """Return the folders that ``allow_images`` has recorded for ``folder``.

    Relative paths of ``parts`` are relative to the folder above ``parts``.
    """
    recorded = _find_record(folder)
    return recorded.read_text(encoding="utf-8").splitlines() if recorded.is_file() else []


def allow_images(folder: Path, image_folders: Iterable[Path]) -> None:
    """Record that the datasets in ``folder`` may reference the images in some folders.

    Relative folders are relative to ``folder``. The record is in the cache folder of the user, not next
    to the datasets, where a download could bring its own.
    """
    new = set(map(str, image_folders)) - set(read_image_roots(folder))
    if new:
        recorded = _find_record(folder)
        recorded.parent.mkdir(parents=True, exist_ok=True)
        with recorded.open("a", encoding="utf-8") as file:
            file.writelines(f"{root}\n" for root in sorted(new))


def _find_record(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return cache_folder() / "image_roots" / f"{name}.txt"


def open_archive(open_archive: Callable[[Path], Any], archive: Path) -> Any:
    """Open an archive. Raises zipfile.BadZipFile also for the other errors that damaged archives cause."""
    try:
        return open_archive(archive)
    except FileNotFoundError:
        raise
    except (
        OSError,
        IndexError,
        KeyError,
        ValueError,
        OverflowError,
        NotImplementedError,
        struct.error,
    ) as error:
        raise zipfile.BadZipFile(str(error)) from None


def find_file(path: Path) -> Path | None:
    """Return the path, or its other Unicode form, whichever is a file; None if neither is.

    The letter é is one character (NFC), or two (NFD, on macOS).
    """
    forms = dict.fromkeys(
        (str(path), *(unicodedata.normalize(form, str(path)) for form in ("NFC", "NFD")))
    )
    return next(filter(is_file, map(Path, forms)), None)


def is_file(path: Path) -> bool:
    """Return True for a file. ``Path.is_file`` raises OSError for a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises OSError for anything else (FIFO, device) and for a huge file."""
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise OSError(
                f"{path} has {status.st_size:,} bytes, at most {MAX_FILE_BYTES:,} are read"
            )
        return file.read()


def list_oddities(image: Image.Image) -> list[str]:
    """Return why programs show an image in different ways: any of DEEP, FLOATING, ROTATED and TRANSPARENT."""
    has_oddity = {
        DEEP: image.mode[0] == "I",
        FLOATING: image.mode[0] == "F",
        ROTATED: image.getexif().get(ORIENTATION, 1) not in (0, 1),
        TRANSPARENT: image.has_transparency_data,
    }
    return [name for name, has_it in has_oddity.items() if has_it]


def count_oddities(paths: Iterable[Path]) -> Counter[str]:
    """Return the number of images by oddity. Their pixels are not decoded, except those of PNG files."""
    counts = Counter[str]()
    for path in paths:
        counts.update(list_oddities(Image.open(io.BytesIO(read_file(path)), formats=IMAGE_FORMATS)))
    return counts


def make_upright_rgb(data: bytes) -> bytes:
    """Return an image file with upright 8-bit pixels, which every program shows in the same way.

    An image with more than 8 bits per channel is scaled by its range, one whose EXIF data say that it is rotated is
    turned, and transparent pixels are laid on white; all these become PNG. Other files are returned as they are, and
    only their header is read. ``data`` is an image that :func:`decode_image` reads. Raises ValueError for pixels of 32
    bits beyond the range of 16.
    """
    image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
    _scale_transparent_color(image)
    oddities = list_oddities(image)
    if not oddities:
        return data
    if DEEP in oddities or FLOATING in oddities:
        exif = image.getexif()
        image = _scale_to_bytes(image)
        image.getexif().update(exif)
    upright = ImageOps.exif_transpose(image)
    if TRANSPARENT in oddities:
        layer = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    buffer = io.BytesIO()
    upright.convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def _scale_transparent_color(image: Image.Image) -> None:
    """Convert the transparent colour of a PNG file to the depth of Pillow's pixels. The image must not be decoded yet.

    The file states it at its own depth, and Pillow leaves it so. Of 16 bits per channel, Pillow decodes the upper 8.
    """
    color = image.info.get("transparency")
    raw_mode = str(image.tile[0][3]) if image.format == "PNG" and image.tile else ""
    if color is None:
        return
    if raw_mode in GREY_LEVELS:
        image.info["transparency"] = color * 255 // GREY_LEVELS[raw_mode]
    elif raw_mode == "RGB;16B":
        image.info["transparency"] = tuple(channel >> 8 for channel in color)


def _scale_to_bytes(image: Image.Image) -> Image.Image:
    """Return a grey image with deep or floating-point pixels as ``L``, or as ``LA`` if it has a transparent colour.

    TIFF files can state that white is zero, and how many of 16 bits they use. Raises ValueError for a larger range.
    """
    tags: Any = getattr(image, "tag_v2", {})
    bits = tags.get(BITS_PER_SAMPLE, (16,))[0]
    limits = (2**bits - 1,) if image.mode.startswith("I;") else RANGES[image.mode[0]]
    pixels = np.asarray(image, dtype=np.float64)
    limit = next((limit for limit in limits if pixels.min() >= 0 and pixels.max() <= limit), None)
    if limit is None:
        span = f"{pixels.min():g} to {pixels.max():g}"
        raise ValueError(f"pixels of mode {image.mode} from {span}; convert the image to 8 bits")
    is_white_zero = tags.get(PHOTOMETRIC_INTERPRETATION) == WHITE_IS_ZERO
    shown = limit - pixels if is_white_zero else pixels
    grey = Image.fromarray(np.round(255 * shown / limit).astype(np.uint8))
    color = image.info.get("transparency")
    if color is None:
        return grey
    alpha = Image.fromarray(np.where(pixels == color, 0, 255).astype(np.uint8))
    return Image.merge("LA", (grey, alpha))


def decode_image(data: bytes) -> Image.Image:
    """Return an image file's pixels as RGB, of an animation the first frame.

    Raises ValueError for data that is not an image in one of IMAGE_FORMATS, is damaged, or has more than MAX_PIXELS.
    """
    try:
        image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(
                f"{image.width:,} x {image.height:,} pixels, at most {MAX_PIXELS:,} are decoded"
            )
        return image.convert("RGB")
    except Exception as error:  # Pillow's decoders raise more than a dozen types for damaged data
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(re.sub(r" <_io\.BytesIO object at 0x[0-9a-f]+>", "", message)) from error
