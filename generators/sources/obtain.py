"""Download, verify and unpack the files of a source into its folder.

Downloads and archives are kept in ``<folder>/.downloads`` until all of an archive is unpacked; only then its files move
to their place, and a record (``.downloads/<file>.json``) lists them. So a stage never sees an incomplete file, a second
call downloads only the files without a record, and an archive is deleted once it is unpacked.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.sources import DataSource, RemoteFile
from generators.sources.download import download, verify
from generators.sources.unpack import unpack
from generators.storage.atomic import atomic_file, write_json

WORK = ".downloads"
Report = Callable[[str, int, int | None], None]
"""Called with a step's name, and the bytes that are done and to do."""


def fetch(
    source: DataSource,
    folder: Path,
    names: Sequence[str] = (),
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    report: Report = lambda step, done, total: None,
) -> list[str]:
    """Bring the files ``names`` of a source, by default all, into ``folder``; return the names of the new ones.

    With ``existing``, a folder that has them, packed or unpacked, nothing is downloaded. ValueError for a source
    without downloads, an unknown name and a file that fails; FileNotFoundError for a file that is nowhere.
    """
    if source.how:
        raise ValueError(f"{source.name} cannot be fetched by a program. {source.how}")
    known = {file.name: file for file in source.files}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{source.name} has no file {unknown[0]}; it has {', '.join(known)}.")
    missing = [file for name in dict.fromkeys(names or known) if check_file(file := known[name], folder) != "complete"]
    if existing is not None:
        _require(source, missing, existing)
    for file in missing:
        members = _obtain_file(source, file, folder, mirror, existing, report)
        write_json(folder / WORK / f"{file.name}.json", {"members": members})
        (folder / WORK / file.name).unlink(missing_ok=True)
    return [file.name for file in missing]


def check_file(file: RemoteFile, folder: Path) -> str:
    """``complete``, ``missing``, or a description of the damage."""
    record = folder / WORK / f"{file.name}.json"
    if not record.is_file():
        return "missing"
    members: Mapping[str, int] = json.loads(record.read_text())["members"]
    gone = [name for name in members if not (folder / name).is_file()]
    if gone:
        return f"{len(gone):,} of {len(members):,} files are gone, {gone[0]} first"
    changed = [name for name, size in members.items() if (folder / name).stat().st_size != size]
    return f"{len(changed):,} of {len(members):,} files have changed, {changed[0]} first" if changed else "complete"


def _require(source: DataSource, files: Sequence[RemoteFile], existing: Path) -> None:
    if not existing.is_dir():
        raise FileNotFoundError(f"{existing}: no such folder.")
    missing = [file for file in files if not any((existing / name).exists() for name in (file.name, file.result))]
    if missing:
        names = ", ".join(f"{file.name} (or {file.makes})" if file.makes else file.name for file in missing)
        raise FileNotFoundError(
            f"{existing}: {names} not found, of {source.name}. To take only the files that are there, name them after "
            "the source's name."
        )


def _obtain_file(
    source: DataSource, file: RemoteFile, folder: Path, mirror: str | None, existing: Path | None, report: Report
) -> dict[str, int]:
    """Bring one file to its place, unpacked if it is an archive; return path -> size of the resulting files."""
    if existing and not (existing / file.name).is_file():
        return _merge(existing, file.result, folder, _link)
    packed = (existing or folder / WORK) / file.name
    if existing:
        verify(packed, file.size, file.sha256, str(packed))
    elif not packed.is_file():
        url = file.mirrored(source.name, mirror)
        download(url, packed, file.size, file.sha256, lambda done, total: report(file.name, done, total))
    if file.makes is None:
        _link(packed, folder / file.name)
        return {file.name: packed.stat().st_size}
    scratch = folder / WORK / f"{file.name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        unpack(packed, scratch, lambda done, total: report(f"{file.name}, unpacking", done, total))
        if not (scratch / file.makes).exists():
            content = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
            raise ValueError(f"{packed.name}: it holds {content}, {file.makes} expected.")
        return {name: size for part in scratch.iterdir() for name, size in _merge(scratch, part.name, folder).items()}
    except ValueError:
        if not existing:  # a downloaded archive that cannot be unpacked would only fail again
            packed.unlink()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _merge(root: Path, name: str, folder: Path, put: Callable[[Path, Path], Any] = Path.replace) -> dict[str, int]:
    """Put the file ``root/name``, or all files of that folder, to the same place in ``folder``."""
    start = root / name
    paths = [start] if start.is_file() else sorted(path for path in start.rglob("*") if path.is_file())
    members = {path.relative_to(root).as_posix(): path.stat().st_size for path in paths}
    for path, member in zip(paths, members, strict=True):
        (folder / member).parent.mkdir(parents=True, exist_ok=True)
        put(path, folder / member)
    return members


def _link(path: Path, target: Path) -> None:
    """Make ``target`` a hard link to the file, or a copy on another file system."""
    with atomic_file(target) as partial:
        try:
            os.link(path.resolve(), partial)
        except OSError:
            shutil.copy2(path, partial)
