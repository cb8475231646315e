"""sources.lock: size and SHA-256 of the downloads whose hash the registry does not know.

The first download of a file is recorded, and every later download must be equal. The file is committed, so everybody
who builds from a checkout reads the same bytes.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from compeval.base.files.atomic import atomic_file
from compeval.base.files.hashes import hash_file
from compeval.base.sources import RemoteFile

RECORD = {"url", "size", "sha256"}
HEADER = (
    "# Written by `compeval sources get`: the downloads whose hash their publisher does not state. "
    "Commit this file.\n"
)


def compare_or_record(lock: Path, source: str, file: RemoteFile, path: Path) -> None:
    """Compare a downloaded file with its record in the file ``lock``, or add the record and print it.

    A record of another URL is replaced. Raises ValueError if the file differs from its record, or if the lock is
    malformed.
    """
    entries = _read_entries(lock)
    record = {"url": file.url, "size": path.stat().st_size, "sha256": hash_file(path)}
    known = entries.get(source, {}).get(file.name)
    if known == record:
        return
    if known and known["url"] == file.url:
        raise ValueError(
            f"{source}/{file.name}: {record['size']:,} bytes, SHA-256 {record['sha256']}; {known['size']:,} bytes, "
            f"SHA-256 {known['sha256']} expected ({lock}, from the first download). The file at {file.url} has "
            f"changed. Use a copy of the recorded file (--from DIR or --mirror URL), or accept the new one: delete its "
            f"record in {lock.name}, download again and commit {lock.name}."
        )
    entries[source] = dict(sorted((entries.get(source, {}) | {file.name: record}).items()))
    with atomic_file(lock) as partial:
        text = yaml.safe_dump(dict(sorted(entries.items())), sort_keys=False, width=1000)
        partial.write_text(HEADER + text, encoding="utf-8")
    recorded = f"{record['size']:,} bytes, SHA-256 {record['sha256']}, recorded in {lock}"
    print(
        f"{source}/{file.name}: {recorded}. Later downloads must equal this one.", file=sys.stderr
    )


def read_hashes(lock: Path, source: str) -> dict[str, str]:
    """Return the recorded SHA-256 of the files of a source by name. Raises ValueError if the lock is malformed."""
    return {name: record["sha256"] for name, record in _read_entries(lock).get(source, {}).items()}


def _read_entries(lock: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the records by source and file name; {} without a lock. Raises ValueError if the lock is malformed."""
    if not lock.is_file():
        return {}
    try:
        entries = yaml.safe_load(lock.read_text(encoding="utf-8")) or {}
        if all(
            record.keys() >= RECORD for records in entries.values() for record in records.values()
        ):
            return entries
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError):
        pass  # not YAML, or not mappings
    raise ValueError(
        f"{lock} is malformed: it needs url, size and sha256 of each file by source. Restore it (git checkout "
        f"{lock.name}), or delete it to record the downloads again."
    )
