"""Write the images that a published table contains to ``sources/<image set>/``, where rows find them by name.

Each image is decoded once as untrusted data and written under its name when it is complete, so a killed extraction
resumes. An image that is there is kept if it has the same bytes; a corrected table replaces it. At most one batch of
rows is in memory.
"""

import errno
from collections.abc import Iterator
from pathlib import Path

from generators.files.atomic import atomic_file
from generators.files.untrusted import MAX_FILE_BYTES, SOURCES, decode_image, resolve_below
from loaders.importing.identify import PublishedFile
from loaders.published.tables import name_image, read_table


def extract_images(file: PublishedFile, output: Path) -> dict[str, str]:
    """Write the images of a table below the data folder ``output``. Returns the names of unreadable images, with the
    reason.

    The images of an earlier version of the table are replaced, or deleted where they have become unreadable. Raises
    ValueError if the table is damaged or the disk is full.
    """
    folder = output / SOURCES / file.images.name
    unreadable: dict[str, str] = {}
    for name, data in _read_images(file):
        target = resolve_below(folder, name)
        if target.is_file() and target.read_bytes() == data:
            continue
        try:
            if data is None:
                raise ValueError("the table contains no bytes")
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


def _read_images(file: PublishedFile) -> Iterator[tuple[str, bytes | None]]:
    """Yield the name and the bytes of each image of a table; None if the table contains no bytes."""
    for number, row in read_table(file.path, file.images.columns):
        for column, cell in row.items():
            data = cell.get("bytes") if isinstance(cell, dict) else cell
            yield name_image(file.name, number, column), data if isinstance(data, bytes) else None
