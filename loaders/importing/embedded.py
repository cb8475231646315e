"""Write the images that a published file contains to ``sources/<image set>/``, where rows find them by name.

They are the bytes in a Parquet or Arrow table, or texts in base64 in a file of JSON or a text table.

Each image is decoded once as untrusted data and written under its name when it is complete, so a killed extraction
resumes. An image that is there is kept if it has the same bytes; a corrected table replaces it. At most one batch of
rows is in memory.
"""

import base64
import errno
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from compeval.base.files.atomic import atomic_file
from compeval.base.files.untrusted import (
    MAX_FILE_BYTES,
    MAX_PIXELS,
    SOURCES,
    decode_image,
    resolve_below,
)
from compeval.loaders.importing.identify import PublishedFile
from compeval.loaders.published.rows import read_items
from compeval.loaders.published.tables import name_image, read_table

MARGIN = 10
"""Pixels between joined images."""


def extract_images(file: PublishedFile, output: Path) -> dict[str, str]:
    """Write the images of a table below the data folder ``output``. Returns the names of unreadable images, with the
    reason.

    The images of an earlier version of the table are replaced, or deleted where they have become unreadable. Raises
    ValueError if the table is damaged or the disk is full.
    """
    folder = output / SOURCES / file.images.name
    unreadable: dict[str, str] = {}
    for name, images in _read_images(file):
        target = resolve_below(folder, name)
        try:
            if not images:
                raise ValueError("the table contains no bytes")
            data = join_images(images) if file.images.joined_columns else images[0]
            if target.is_file() and target.read_bytes() == data:
                continue
            if len(data) > MAX_FILE_BYTES:
                raise ValueError(f"{len(data):,} bytes, at most {MAX_FILE_BYTES:,} are read")
            decode_image(data)
            with atomic_file(target) as partial:
                partial.write_bytes(data)
        except ValueError as error:
            unreadable[name] = str(error)
            target.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise ValueError(
                f"{file.path}: no space left in {folder} for its images. Free space and run the same command again to "
                "resume."
            ) from None
    return unreadable


def _read_images(file: PublishedFile) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the name and the bytes of each image of a table, or of the images that are to be joined.

    The list is empty if the table lacks the bytes of one of them. A cell that is empty is no image.
    """
    images = file.images
    groups = (
        [images.joined_columns]
        if images.joined_columns
        else [(column,) for column in images.columns]
    )
    for number, row in _read_rows(file):
        for column, group in zip(images.columns, groups, strict=True):
            cells = [row.get(name) for name in group if row.get(name) is not None]
            parts: list[Any] = [_get_bytes(cell) for cell in cells]
            is_complete = all(isinstance(part, bytes) for part in parts)
            yield name_image(file.name, number, column), parts if is_complete else []


def _read_rows(file: PublishedFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row, and its images. What is no row has none."""
    images = file.images
    if file.path.suffix in (".parquet", ".arrow"):
        yield from read_table(file.path, images.joined_columns or images.columns)
        return
    for number, item in enumerate(read_items(file.path, file.name, ())):
        yield number, item if isinstance(item, dict) else {}


def _get_bytes(cell: Any) -> Any:
    """Return the bytes of an image in a cell; None if it has none, or no valid base64."""
    if isinstance(cell, str):
        try:
            return base64.b64decode(re.sub(r"^data:[^,]*,", "", cell), validate=True)
        except ValueError:
            return None
    return cell.get("bytes") if isinstance(cell, dict) else cell


def join_images(images: Sequence[bytes]) -> bytes:
    """Return images side by side, as a PNG file: centred vertically on black, with MARGIN black pixels between them.

    Raises ValueError if one is not readable, or the joined image would have more than MAX_PIXELS.
    """
    parts = [decode_image(data) for data in images]
    width = sum(part.width for part in parts) + MARGIN * (len(parts) - 1)
    height = max(part.height for part in parts)
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"{width:,} x {height:,} pixels side by side, at most {MAX_PIXELS:,} are joined"
        )
    joined = Image.new("RGB", (width, height))
    left = 0
    for part in parts:
        joined.paste(part, (left, (height - part.height) // 2))
        left += part.width + MARGIN
    file = io.BytesIO()
    joined.save(file, "PNG", compress_level=1)
    return file.getvalue()
