"""Download, verify and unpack the files of a source into its folder.

Files are downloaded to and unpacked in ``<folder>/.downloads``. Complete files are listed in a record
(``.downloads/<file>.json``) and then moved to ``<folder>``, so a stage never reads an incomplete file. The next call
downloads only the files that are not complete. An archive is deleted after it has been unpacked.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

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
    if source.download_instructions:
        raise ValueError(f"{source.name} must be downloaded manually. {source.download_instructions}")
    known = {file.name: file for file in source.files}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{source.name} has no file {unknown[0]}; it has {', '.join(known)}.")
    missing = [file for name in dict.fromkeys(names or known) if check_file(file := known[name], folder) != "complete"]
    if existing is not None:
        _check_existing(source, missing, existing)
    for file in missing:
        packed = (existing or folder / WORK_FOLDER) / file.name
        if existing is None and not packed.is_file():
            url = f"{mirror.rstrip('/')}/{source.name}/{file.name}" if mirror else file.url
            download(url, packed, file.size, file.sha256, lambda *counts, name=file.name: report(name, *counts))
        try:
            _add_file(source, file, packed, folder, existing, lock, report)
        except ValueError:
            if existing is None:  # download the file again next time
                packed.unlink()
            raise
    return [file.name for file in missing]


def _add_file(
    source: DataSource,
    file: RemoteFile,
    packed: Path,
    folder: Path,
    existing: Path | None,
    lock: Path | None,
    report: ProgressCallback,
) -> None:
    """Add a file to ``folder``, unpacked if it is an archive. Files in ``existing`` stay there."""
    root, place = (folder / WORK_FOLDER, os.replace) if existing is None else (existing, _link_or_copy)
    if existing and not packed.is_file():
        unpacked = existing / file.final_name
        _install(file, root, [unpacked] if unpacked.is_file() else sorted(unpacked.rglob("*")), folder, place)
        return
    if existing:
        verify(packed, file.size, file.sha256, str(packed))
    if lock is not None and file.sha256 is None:
        compare_or_record(lock, source.name, file, packed)
    if file.makes is None:
        _install(file, root, [packed], folder, place)
        return
    scratch = folder / WORK_FOLDER / f"{file.name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        names = unpack(packed, scratch, lambda *counts: report(f"{file.name}, unpacking", *counts))
        if not (scratch / file.makes).exists():
            content = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
            raise ValueError(f"{packed.name}: the archive contains {content}, {file.makes} expected.")
        _install(file, scratch, [scratch / name for name in names], folder, os.replace)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if existing is None:
        packed.unlink()


def check_file(file: RemoteFile, folder: Path) -> str:
    """Return ``complete``, ``missing``, or a description of the missing or changed files."""
    record = _get_record(file, folder)
    if not record.is_file():
        return "missing"
    members: Mapping[str, int] = json.loads(record.read_text(encoding="utf-8"))["members"]
    missing = [name for name in members if not (folder / name).is_file()]
    if missing:
        return f"{len(missing):,} of {len(members):,} files are missing; the first is {missing[0]}"
    changed = [name for name, size in members.items() if (folder / name).stat().st_size != size]
    if changed:
        return f"{len(changed):,} of {len(members):,} files have changed; the first is {changed[0]}"
    return "complete"


def _get_record(file: RemoteFile, folder: Path) -> Path:
    return folder / WORK_FOLDER / f"{file.name}.json"


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


def _install(
    file: RemoteFile, root: Path, paths: Iterable[Path], folder: Path, place: Callable[[Path, Path], None]
) -> None:
    """Record the files among some paths below ``root``, and place them in ``folder``."""
    members = {path.relative_to(root).as_posix(): path for path in paths if path.is_file()}
    write_json(_get_record(file, folder), {"members": {name: path.stat().st_size for name, path in members.items()}})
    for name, path in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        place(path, folder / name)


def _link_or_copy(path: Path, target: Path) -> None:
    """Make ``target`` a hard link to the file; copy the file if ``target`` is on another file system."""
    target.unlink(missing_ok=True)
    try:
        os.link(path.resolve(), target)
    except OSError:
        with atomic_file(target) as partial:
            shutil.copy2(path, partial)
