"""A source's files, got into its folder and checked there.

Downloads and archives on their way lie in ``<folder>/.downloads``; what is unpacked moves to its place when all of it
is there, and a record (``.downloads/<file>.json``) says what came from which file. So nothing half-written ever lies
where a stage looks for it, a second call gets only what has no record, and the archive is deleted once it is unpacked.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.sources import RemoteFile, Source
from generators.sources.download import download, verify
from generators.sources.unpack import unpack
from generators.storage.atomic import atomic_file, write_json

WORK = ".downloads"
Report = Callable[[str, int, int | None], None]
"""Called with what is being done, and the bytes that are done and to do."""


def obtain(
    source: Source,
    folder: Path,
    names: Sequence[str] = (),
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    report: Report = lambda stage, done, total: None,
) -> list[str]:
    """Get the files ``names`` of a source, by default all, into ``folder``; gives the names of those that were got now.

    With ``existing``, a folder that has them already, packed or unpacked, nothing is downloaded. ValueError for a
    source that a person has to get, and for a file that fails; FileNotFoundError for one that is nowhere.
    """
    wanted = choose(source, names)
    got = [file.name for file in wanted if state(file, folder) != "complete"]
    if existing is not None:
        _require(source, [file for file in wanted if file.name in got], existing)
    for file in wanted:
        if file.name in got:
            _obtain_file(source, file, folder, mirror, existing, report)
    return got


def choose(source: Source, names: Sequence[str]) -> list[RemoteFile]:
    """The files of a source that are meant. ValueError for a name that it has not, or if it has no files."""
    if source.how:
        raise ValueError(f"{source.name} cannot be fetched by a program. {source.how}")
    known = {file.name: file for file in source.files}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{source.name} has no file {unknown[0]}; it has {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(names or known)]


def state(file: RemoteFile, folder: Path) -> str:
    """``complete``, ``missing``, or what is wrong with what is there."""
    record = folder / WORK / f"{file.name}.json"
    if not record.is_file():
        return "missing"
    members: Mapping[str, int] = json.loads(record.read_text())["members"]
    gone = [name for name in members if not (folder / name).is_file()]
    if gone:
        return f"{len(gone):,} of {len(members):,} files are gone, {gone[0]} first"
    changed = [name for name, size in members.items() if (folder / name).stat().st_size != size]
    return f"{len(changed):,} of {len(members):,} files have changed, {changed[0]} first" if changed else "complete"


def _require(source: Source, files: Sequence[RemoteFile], existing: Path) -> None:
    if not existing.is_dir():
        raise FileNotFoundError(f"{existing}: no such folder.")
    missing = [file for file in files if not any((existing / name).exists() for name in (file.name, file.result))]
    if missing:
        told = ", ".join(f"{file.name} (or {file.makes})" if file.makes else file.name for file in missing)
        raise FileNotFoundError(
            f"{existing}: {told} not found, of {source.name}. Name the files that are there after the source's name to "
            "take those alone."
        )


def _obtain_file(
    source: Source, file: RemoteFile, folder: Path, mirror: str | None, existing: Path | None, report: Report
) -> None:
    work = folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    packed = work / file.name
    origin = file.mirrored(source.name, mirror)
    if existing is None:
        if not packed.is_file():
            download(origin, packed, file.size, file.sha256, lambda done, total: report(file.name, done, total))
        members = _place(packed, file, folder, report)
    elif (existing / file.name).is_file():
        origin = str(existing / file.name)
        verify(existing / file.name, file.size, file.sha256, origin)
        members = _place(existing / file.name, file, folder, report)
    else:
        origin = str(existing / file.result)
        members = _merge(existing, file.result, folder, _link)
    write_json(work / f"{file.name}.json", {"origin": origin, "sha256": file.sha256, "members": members})
    packed.unlink(missing_ok=True)


def _place(packed: Path, file: RemoteFile, folder: Path, report: Report) -> dict[str, int]:
    """Bring a file to its place, unpacked if it is an archive; gives path -> size of what is there then."""
    if file.makes is None:
        _link(packed, folder / file.name)
        return {file.name: packed.stat().st_size}
    scratch = folder / WORK / f"{file.name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        unpack(packed, scratch, lambda done, total: report(f"{file.name}, unpacking", done, total))
        if not (scratch / file.makes).exists():
            found = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
            raise ValueError(f"{packed.name}: it holds {found}, {file.makes} expected.")
        return {name: size for part in scratch.iterdir() for name, size in _merge(scratch, part.name, folder).items()}
    except ValueError:
        # An archive of ours that cannot be unpacked is not kept to fail again.
        if packed.parent == folder / WORK:
            packed.unlink()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _merge(
    root: Path,
    name: str,
    folder: Path,
    put: Callable[[Path, Path], Any] = lambda source, target: source.replace(target),
) -> dict[str, int]:
    """Put the file ``root/name``, or all files of that folder, to the same place in ``folder``."""
    start = root / name
    paths = [start] if start.is_file() else sorted(path for path in start.rglob("*") if path.is_file())
    members = {path.relative_to(root).as_posix(): path.stat().st_size for path in paths}
    for path, member in zip(paths, members, strict=True):
        (folder / member).parent.mkdir(parents=True, exist_ok=True)
        put(path, folder / member)
    return members


def _link(path: Path, target: Path) -> None:
    """Create ``target`` as a hard link to a file, or as a copy where the file system has no such link."""
    with atomic_file(target) as partial:
        try:
            os.link(path.resolve(), partial)
        except OSError:
            shutil.copy2(path, partial)
