"""The state of a file, to find out whether results that were made from it are up to date.

A file is unchanged if it has the same size, and the same modification time or SHA-256. A large file is therefore hashed
again only after it was written or copied.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from generators.files.hashes import hash_file

ORIGIN = ".origin.json"
"""File with the state of the one file that a folder was made from."""


class FileState(NamedTuple):
    """The size in bytes, the modification time and the SHA-256 of a file. Stored as a JSON list."""

    size: int
    modified_ns: int
    sha256: str


def read_state(path: Path, sha256: str | None = None) -> FileState:
    """Return the state of a file, which is hashed unless its SHA-256 is given."""
    status = path.stat()
    return FileState(status.st_size, status.st_mtime_ns, sha256 or hash_file(path))


def is_same(path: Path, state: Sequence[int | str]) -> bool:
    """Return True if the file still has the content that it had when ``state`` was read."""
    size, modified_ns, sha256 = state
    status = path.stat()
    return status.st_size == size and (status.st_mtime_ns == modified_ns or hash_file(path) == sha256)


def record_origin(folder: Path, source: Path) -> None:
    """Record in ``folder`` that it was made from the file ``source``."""
    (folder / ORIGIN).write_text(json.dumps(read_state(source)) + "\n", encoding="utf-8")


def is_made_from(folder: Path, source: Path) -> bool:
    """Return True if ``folder`` was made from the present content of the file ``source``."""
    record = folder / ORIGIN
    return record.is_file() and is_same(source, json.loads(record.read_text(encoding="utf-8")))
