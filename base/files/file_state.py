"""The state of a file, to find out whether results that were made from it are up to date.

A file is unchanged if its status is, or its SHA-256. The status has the time of the last change of the file's status
(``ctime``), which programs cannot set, so that a file with another content and the old modification time is noticed. A
large file is hashed again only after it was written, copied or linked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from compeval.base.files.hashes import hash_file

ORIGIN = ".origin.json"
"""File with the state of the one file that a folder was made from."""


class FileState(NamedTuple):
    """The status and the SHA-256 of a file. Stored as a JSON list."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    sha256: str


def read_state(path: Path, sha256: str | None = None) -> FileState:
    """Return the state of a file, which is hashed unless its SHA-256 is given."""
    status = path.stat()
    sha256 = sha256 or hash_file(path)
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, sha256)


def confirm_state(path: Path, state: Sequence[int | str]) -> FileState | None:
    """Return ``state`` with the present status of the file; None if the file has another content.

    Nothing is written. States of earlier versions have only the size, the modification time and the SHA-256, so the
    file is hashed.
    """
    *status, sha256 = state
    present = read_state(path, str(sha256))
    is_same = [*present[:-1]] == status or (present.size == status[0] and hash_file(path) == sha256)
    return present if is_same else None


def record_origin(folder: Path, source: Path) -> None:
    """Record in ``folder`` that it was made from the file ``source``."""
    (folder / ORIGIN).write_text(json.dumps(read_state(source)) + "\n", encoding="utf-8")


def is_made_from(folder: Path, source: Path) -> bool:
    """Return True if ``folder`` was made from the present content of the file ``source``."""
    record = folder / ORIGIN
    return (
        record.is_file()
        and confirm_state(source, json.loads(record.read_text(encoding="utf-8"))) is not None
    )
