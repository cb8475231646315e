"""Atomic writes: a file or folder appears under its name only when it is complete.

Temporary names are unique, so several processes may write the same file: the last one wins.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SUFFIX = ".partial"
MARKER = ".compeval"
"""File in every folder that was written here. A folder without it is never replaced."""
STALE_SECONDS = 3600
"""Age at which a temporary file of another host counts as left by a killed process."""
_HOST = re.sub(r"\W", "_", platform.node())


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` when the block ends without an error. Creates the parent folders.

    A killed process leaves ``.NAME.*.partial`` behind, which the next write of the same file removes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path.parent, f".{path.name}.")
    handle, name = tempfile.mkstemp(SUFFIX, f".{path.name}.{_HOST}-{os.getpid()}-", path.parent)
    partial = Path(name)
    try:
        os.close(handle)
        partial.chmod(0o666 & ~_umask())
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``folder`` when the block ends without an error.

    Raises ValueError, before the block, if ``folder`` exists but was not written by this function.
    """
    check_replaceable(folder)
    parent = folder.parent / SUFFIX
    parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(parent, f"{folder.name}.")
    scratch = Path(tempfile.mkdtemp(SUFFIX, f"{folder.name}.{_HOST}-{os.getpid()}-", parent))
    partial = scratch / folder.name
    try:
        partial.mkdir()
        yield partial
        (partial / MARKER).touch()
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # another process is writing there
            parent.rmdir()


def check_replaceable(folder: Path) -> None:
    """Raise ValueError if the folder has contents that :func:`atomic_folder` did not write."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file. Name a folder that does not exist.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise ValueError(
            f"{folder} has contents that were not written by this command, so it is not replaced. Name another folder, "
            "or delete this one first."
        )


def _remove_stale(folder: Path, prefix: str) -> None:
    """Delete what killed processes left in a folder under names that begin with ``prefix``."""
    for path in folder.glob(f"{glob.escape(prefix)}*{SUFFIX}"):
        with suppress(OSError):
            if _is_stale(path, path.name.removeprefix(prefix)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _is_stale(path: Path, writer: str) -> bool:
    """Return True if the process that ``writer`` (HOST-PID-random) names has ended, or may have, if on another host."""
    host, pid, _ = [*writer.split("-"), "", ""][:3]
    if host != _HOST or not pid.isdecimal():
        return time.time() - path.stat().st_mtime > STALE_SECONDS
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _umask() -> int:
    """Return the permissions that new files do not get; ``tempfile`` would make them private."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file atomically."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False)
        file.write("\n")
