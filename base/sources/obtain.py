"""Download, verify and unpack the files of a source into its folder.

Files are downloaded to and unpacked in ``<folder>/.downloads``. Complete files are moved to ``<folder>``, so a stage
never reads an incomplete file, and then listed in a record (``.downloads/<file>.json``). The next call downloads only
the files that are not complete, or that were made from another version than the registered one, or than the one in the
given folder. An archive is deleted after it has been unpacked.

sources.lock has the size and SHA-256 of the downloads whose hash the registry does not know. The first download of a
file is recorded, and every later download must be equal. The file is committed, so everybody who builds from a checkout
reads the same bytes.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from compeval.base.files.atomic import atomic_file, write_json
from compeval.base.files.file_state import confirm_state, read_state
from compeval.base.files.hashes import hash_file
from compeval.base.progress import ProgressCallback, no_progress
from compeval.base.sources import DataSource, RemoteFile
from compeval.base.sources.download import download, verify
from compeval.base.sources.unpack import unpack

WORK_FOLDER = ".downloads"
MISSING = "missing"
"""The problem of a file that was not added to a folder."""
LOCK_RECORD = {"url", "size", "sha256"}
LOCK_HEADER = (
    "# Written by `compeval sources get`: the downloads whose hash their publisher does not state. "
    "Commit this file.\n"
)


def fetch(
    source: DataSource,
    folder: Path,
    names: Sequence[str] = (),
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    lock: Path | None = None,
    report: ProgressCallback = no_progress,
) -> list[str]:
    """Write the files ``names`` of a source (default: all files) to ``folder``; return the names of the new files.

    ``existing`` is a folder with the packed or unpacked files; if it is given, nothing is downloaded, and without
    ``names``, optional files and those that others replace may be missing there. ``lock`` is the file with the hashes
    that the registry does not know. Raises ValueError if the source must be downloaded manually, a
    name is unknown, or a file is wrong or cannot be downloaded. Raises FileNotFoundError if the server or the folder
    ``existing`` does not have a file.
    """
    locked = _read_hashes(lock, source.name) if lock else {}
    missing = [
        file
        for file in _select_files(source, names)
        if find_problem(file, folder)
        or is_other_version(file, folder, locked.get(file.name), existing)
    ]
    if existing is not None:
        missing = _select_existing(source, missing, folder, existing, may_lack=not names)
    for file in missing:
        packed = (existing or folder / WORK_FOLDER) / file.name
        registered = file.sha256 or locked.get(file.name)
        is_downloaded = packed.is_file() and registered == hash_file(packed)
        if existing is None and not is_downloaded:
            url = f"{mirror.rstrip('/')}/{source.name}/{file.name}" if mirror else file.url
            download(
                url,
                packed,
                file.size,
                file.sha256,
                git_blob=file.git_blob,
                report=report,
                step=file.name,
            )
        try:
            _add_file(source, file, packed, folder, existing, lock, report)
        except ValueError:
            if existing is None:  # download the file again next time
                packed.unlink()
            raise
    return [file.name for file in missing]


def _select_files(source: DataSource, names: Sequence[str]) -> list[RemoteFile]:
    """Return the files ``names`` of a source, by default all files.

    Raises ValueError for an unknown name, or if the source must be downloaded manually.
    """
    if source.download_instructions:
        raise ValueError(
            f"{source.name} must be downloaded manually. {source.download_instructions}"
        )
    files = {file.name: file for file in source.files}
    if unknown := [name for name in names if name not in files]:
        raise ValueError(f"{source.name} has no file {unknown[0]}; it has {', '.join(files)}.")
    return [files[name] for name in dict.fromkeys(names or files)]


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
    if existing and not packed.is_file():
        unpacked = dict.fromkeys(_list_unpacked(file, existing))
        _install(file, existing, unpacked, folder, None, moves=False)
        return
    if existing:
        verify(packed, file.size, file.sha256, str(packed), file.git_blob)
    if lock is not None and file.sha256 is None:
        _compare_or_record(lock, source.name, file, packed)
    sha256 = file.sha256 or hash_file(packed)
    if file.makes is None:
        root = existing or folder / WORK_FOLDER
        _install(file, root, {packed: sha256}, folder, (packed, sha256), moves=existing is None)
        return
    scratch = folder / WORK_FOLDER / f"{file.name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        hashes = unpack(packed, scratch, report, step=f"{file.name}, unpacking")
        if not (scratch / file.makes).exists():
            content = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
            raise ValueError(
                f"{packed.name}: the archive contains {content}, {file.makes} expected."
            )
        members = {scratch / name: digest for name, digest in hashes.items()}
        _install(file, scratch, members, folder, (packed, sha256), moves=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if existing is None:
        packed.unlink()


def is_complete(source: DataSource, folder: Path) -> bool:
    """Return True if a folder has all files of a source, unchanged (:func:`find_problem`)."""
    return not any(find_problem(file, folder) for file in source.files)


def find_problem(file: RemoteFile, folder: Path) -> str:
    """Return what is wrong with a file in the folder of its source: ``MISSING``, what is missing or has changed of it,
    or "" if it is complete.

    If only the status of its members has changed, as in a copy of the folder, the present status is recorded, so that
    they are hashed once.
    """
    record = _read_record(file, folder)
    if record is None:
        return MISSING
    if is_other_version(file, folder):
        return f"made from another version of {file.name} than the registered one"
    members = record["members"]
    missing = [name for name in members if not (folder / name).is_file()]
    if missing:
        return f"{len(missing):,} of {len(members):,} files are missing; the first is {missing[0]}"
    present = {name: _confirm_member(folder / name, state) for name, state in members.items()}
    changed = [name for name, state in present.items() if state is None]
    if changed:
        return f"{len(changed):,} of {len(members):,} files have changed; the first is {changed[0]}"
    states = {name: [*state] for name, state in present.items() if state}
    if states != members:
        with suppress(OSError):  # of a folder that cannot be written, the files are hashed again
            write_json(_get_record(file, folder), record | {"members": states})
    return ""


def _confirm_member(path: Path, state: Sequence[Any] | int) -> Sequence[Any] | None:
    """Return the present state of a file; None if it has changed. Earlier versions recorded only its size."""
    if isinstance(state, int):
        return read_state(path) if path.stat().st_size == state else None
    return confirm_state(path, state)


def _read_record(file: RemoteFile, folder: Path) -> dict[str, Any] | None:
    """Return the states of the members of a file, and of the file itself if it was not given unpacked."""
    path = _get_record(file, folder)
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    record.setdefault("packed", None)  # earlier versions did not record it
    return record


def is_other_version(
    file: RemoteFile, folder: Path, locked: str | None = None, existing: Path | None = None
) -> bool:
    """Return True if what ``folder`` has of a file comes from another version of it.

    The version is the one whose hash is registered or ``locked``, and if ``existing`` has the file, the one in
    ``existing``.
    """
    record = _read_record(file, folder)
    if record is None:
        return False
    packed = record["packed"]
    states = record["members"]
    registered = file.sha256 or locked
    if packed and registered not in (None, packed[-1]):
        return True
    if existing is None:
        return False
    if (existing / file.name).is_file():
        return packed is None or confirm_state(existing / file.name, packed) is None
    members = _list_members(existing, _list_unpacked(file, existing))
    are_same = members.keys() == states.keys() and all(
        _confirm_member(members[name], states[name]) for name in states
    )
    return bool(members) and not are_same


def _list_unpacked(file: RemoteFile, existing: Path) -> list[Path]:
    unpacked = existing / file.final_name
    return [unpacked] if unpacked.is_file() else sorted(unpacked.rglob("*"))


def _list_members(root: Path, paths: Iterable[Path]) -> dict[str, Path]:
    """Return the files among some paths below ``root`` by their relative paths."""
    return {path.relative_to(root).as_posix(): path for path in paths if path.is_file()}


def _get_record(file: RemoteFile, folder: Path) -> Path:
    return folder / WORK_FOLDER / f"{file.name}.json"


def find_replacement(source: DataSource, file: RemoteFile, folder: Path) -> tuple[str, ...]:
    """Return the names of the files in ``folder`` that replace this one; () if it is not replaced."""
    complete = {other.name for other in source.files if not find_problem(other, folder)}
    return file.replaced_by if complete.issuperset(file.replaced_by) else ()


def _select_existing(
    source: DataSource,
    files: Sequence[RemoteFile],
    folder: Path,
    existing: Path,
    *,
    may_lack: bool,
) -> list[RemoteFile]:
    """Return those of the files that the folder ``existing`` has.

    Raises FileNotFoundError if it lacks one of the others, unless ``may_lack`` and the file is optional or replaced by
    files that ``existing`` or ``folder`` has. Raises ValueError if ``folder`` has a file that is replaced by new ones.
    """
    if not existing.is_dir():
        raise FileNotFoundError(f"{existing}: no such folder.")
    present = [file for file in files if has_file(existing, file)]
    complete = [file for file in source.files if file not in files]
    for file in complete:
        is_replaced = any(other.name in file.replaced_by for other in present)
        if may_lack and is_replaced and not has_file(existing, file):
            raise ValueError(
                f"{folder} has {file.final_name} of another version than {existing}. Use another folder, or delete it."
            )
    available = {file.name for file in (*present, *complete)}
    missing: list[RemoteFile] = []
    for file in files:
        is_replaced = file.replaced_by and available.issuperset(file.replaced_by)
        if file not in present and not (may_lack and (file.optional or is_replaced)):
            missing.append(file)
    if missing:
        names = ", ".join(
            f"{file.name} (or {file.makes})" if file.makes else file.name for file in missing
        )
        raise FileNotFoundError(
            f"{existing}: {names} of {source.name} not found. To use only the available files, list them after the "
            "name of the source."
        )
    return present


def has_file(folder: Path, file: RemoteFile) -> bool:
    """Return True if a folder has a file, packed or unpacked."""
    return any((folder / name).exists() for name in (file.name, file.final_name))


def _install(
    file: RemoteFile,
    root: Path,
    hashes: Mapping[Path, str | None],
    folder: Path,
    packed: tuple[Path, str] | None,
    *,
    moves: bool,
) -> None:
    """Add files below ``root`` to ``folder`` and record them, given their SHA-256 if it is known.

    The files are moved, or linked if they belong to the user. ``packed`` is the file that contained them, and its
    SHA-256. Members of an earlier version are deleted.
    """
    members = _list_members(root, hashes)
    earlier = _read_record(file, folder)
    if earlier is not None:
        for name in earlier["members"]:
            if name not in members:
                (folder / name).unlink(missing_ok=True)
    for name, path in members.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if moves:
            path.replace(target)
        else:
            _link_or_copy(path, target)
    states = {name: read_state(folder / name, hashes[path]) for name, path in members.items()}
    record: dict[str, Any] = {"packed": None, "members": states}
    if packed is not None:
        path, sha256 = packed
        record["packed"] = read_state(path if path.exists() else folder / file.name, sha256)
    write_json(_get_record(file, folder), record)


def _link_or_copy(path: Path, target: Path) -> None:
    """Make ``target`` a hard link to the file; copy the file if ``target`` is on another file system.

    Nothing is done if they are one file, as for a source whose files the user has put into its folder.
    """
    if target.exists() and target.samefile(path):
        return
    target.unlink(missing_ok=True)
    try:
        os.link(path.resolve(), target)
    except OSError:
        with atomic_file(target) as partial:
            shutil.copy2(path, partial)


def _compare_or_record(lock: Path, source: str, file: RemoteFile, path: Path) -> None:
    """Compare a downloaded file with its record in the file ``lock``, or add the record and print it.

    A record of another URL is replaced. Raises ValueError if the file differs from its record, or if the lock is
    malformed.
    """
    entries = _read_entries(lock)
    record = {"url": file.url, "size": path.stat().st_size, "sha256": hash_file(path)}
    locked = entries.get(source, {}).get(file.name)
    if locked == record:
        return
    if locked and locked["url"] == file.url:
        raise ValueError(
            f"{source}/{file.name}: {record['size']:,} bytes, SHA-256 {record['sha256']}; {locked['size']:,} bytes, "
            f"SHA-256 {locked['sha256']} expected ({lock}, from the first download). The file at {file.url} has "
            f"changed. Use a copy of the recorded file (--from DIR or --mirror URL), or accept the new one: delete its "
            f"record in {lock.name}, download again and commit {lock.name}."
        )
    entries[source] = dict(sorted((entries.get(source, {}) | {file.name: record}).items()))
    with atomic_file(lock) as partial:
        text = yaml.safe_dump(dict(sorted(entries.items())), sort_keys=False, width=1000)
        partial.write_text(LOCK_HEADER + text, encoding="utf-8")
    recorded = f"{record['size']:,} bytes, SHA-256 {record['sha256']}, recorded in {lock}"
    print(
        f"{source}/{file.name}: {recorded}. Later downloads must equal this one.", file=sys.stderr
    )


def _read_hashes(lock: Path, source: str) -> dict[str, str]:
    """Return the recorded SHA-256 of the files of a source by name. Raises ValueError if the lock is malformed."""
    return {name: record["sha256"] for name, record in _read_entries(lock).get(source, {}).items()}


def _read_entries(lock: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the records by source and file name; {} without a lock. Raises ValueError if the lock is malformed."""
    if not lock.is_file():
        return {}
    try:
        entries = yaml.safe_load(lock.read_text(encoding="utf-8")) or {}
        if all(
            record.keys() >= LOCK_RECORD
            for records in entries.values()
            for record in records.values()
        ):
            return entries
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError):
        pass  # not YAML, or not mappings
    raise ValueError(
        f"{lock} is malformed: it needs url, size and sha256 of each file by source. Restore it (git checkout "
        f"{lock.name}), or delete it to record the downloads again."
    )
