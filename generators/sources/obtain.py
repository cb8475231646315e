"""Download, verify and unpack the files of a source into its folder.

Files are downloaded to and unpacked in ``<folder>/.downloads``. A complete file is moved to ``<folder>``, and a record
of its members is written (``.downloads/<file>.json``), so a stage never reads an incomplete file. The next call
downloads only the files without a record. An archive is deleted after it has been unpacked.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.files.atomic import atomic_file, write_json
from generators.sources import DataSource, RemoteFile
from generators.sources.download import download, verify
from generators.sources.source_lock import compare_or_record
from generators.sources.unpack import unpack

WORK_FOLDER = ".downloads"
ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the name of a step, the number of finished bytes and the total number (None if unknown)."""


def fetch(
    source: DataSource,
    folder: Path,
    names: Sequence[str] = (),
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    lock: Path | None = None,
    report: ProgressCallback = lambda step, done, total: None,
) -> list[str]:
    """Write the files ``names`` of a source (default: all files) to ``folder``; return the names of the new files.

    ``existing`` is a folder with the packed or unpacked files; if it is given, nothing is downloaded. ``lock`` is the
    file with the hashes that the registry does not know. Raises ValueError
    if the source must be downloaded manually, a name is unknown, or a file is wrong or cannot be downloaded. Raises
    FileNotFoundError if the server or the folder ``existing`` does not have a file.
    """
    if source.how:
        raise ValueError(f"{source.name} must be downloaded manually. {source.how}")
    known = {file.name: file for file in source.files}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{source.name} has no file {unknown[0]}; it has {', '.join(known)}.")
    missing = [file for name in dict.fromkeys(names or known) if check_file(file := known[name], folder) != "complete"]
    if existing is not None:
        _check_existing(source, missing, existing)
    for file in missing:
        members = _fetch_file(source, file, folder, mirror, existing, lock, report)
        write_json(folder / WORK_FOLDER / f"{file.name}.json", {"members": members})
        (folder / WORK_FOLDER / file.name).unlink(missing_ok=True)
    return [file.name for file in missing]


def check_file(file: RemoteFile, folder: Path) -> str:
    """Return ``complete``, ``missing``, or a description of the missing or changed files."""
    record = folder / WORK_FOLDER / f"{file.name}.json"
    if not record.is_file():
        return "missing"
    members: Mapping[str, int] = json.loads(record.read_text())["members"]
    missing = [name for name in members if not (folder / name).is_file()]
    if missing:
        return f"{len(missing):,} of {len(members):,} files are missing; the first is {missing[0]}"
    changed = [name for name, size in members.items() if (folder / name).stat().st_size != size]
    if changed:
        return f"{len(changed):,} of {len(members):,} files have changed; the first is {changed[0]}"
    return "complete"


def _check_existing(source: DataSource, files: Sequence[RemoteFile], existing: Path) -> None:
    """Raise FileNotFoundError if the folder ``existing`` lacks one of the files."""
    if not existing.is_dir():
        raise FileNotFoundError(f"{existing}: no such folder.")
    missing = [file for file in files if not any((existing / name).exists() for name in (file.name, file.final_name))]
    if missing:
        names = ", ".join(f"{file.name} (or {file.makes})" if file.makes else file.name for file in missing)
        raise FileNotFoundError(
            f"{existing}: {names} of {source.name} not found. To use only the available files, list them after the "
            "name of the source."
        )


def _fetch_file(
    source: DataSource,
    file: RemoteFile,
    folder: Path,
    mirror: str | None,
    existing: Path | None,
    lock: Path | None,
    report: ProgressCallback,
) -> dict[str, int]:
    """Write one file to ``folder``, unpacked if it is an archive; return path -> size of the written files."""
    if existing and not (existing / file.name).is_file():
        return _move_files(existing, file.final_name, folder, _link)
    download_path = (existing or folder / WORK_FOLDER) / file.name
    if existing:
        verify(download_path, file.size, file.sha256, str(download_path))
    elif not download_path.is_file():
        url = file.choose_url(source.name, mirror)
        download(url, download_path, file.size, file.sha256, lambda done, total: report(file.name, done, total))
    if lock is not None and file.sha256 is None:
        try:
            compare_or_record(lock, source.name, file, download_path)
        except ValueError:
            if not existing:  # download the file again next time
                download_path.unlink()
            raise
    if file.makes is None:
        _link(download_path, folder / file.name)
        return {file.name: download_path.stat().st_size}
    scratch = folder / WORK_FOLDER / f"{file.name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        unpack(download_path, scratch, lambda done, total: report(f"{file.name}, unpacking", done, total))
        if not (scratch / file.makes).exists():
            content = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
            raise ValueError(f"{download_path.name}: the archive contains {content}, {file.makes} expected.")
        moved = (_move_files(scratch, path.name, folder) for path in scratch.iterdir())
        return {name: size for sizes in moved for name, size in sizes.items()}
    except ValueError:
        if not existing:  # download the archive again next time
            download_path.unlink()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _move_files(
    root: Path, name: str, folder: Path, move: Callable[[Path, Path], Any] = Path.replace
) -> dict[str, int]:
    """Move (or copy, with ``move``) the file or folder ``root/name`` to ``folder/name``; return path -> size of
    files."""
    source = root / name
    paths = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    members = {path.relative_to(root).as_posix(): path.stat().st_size for path in paths}
    for path, member in zip(paths, members, strict=True):
        (folder / member).parent.mkdir(parents=True, exist_ok=True)
        move(path, folder / member)
    return members


def _link(path: Path, target: Path) -> None:
    """Make ``target`` a hard link to the file; copy the file if ``target`` is on another file system."""
    with atomic_file(target) as partial:
        try:
            os.link(path.resolve(), partial)
        except OSError:
            shutil.copy2(path, partial)
