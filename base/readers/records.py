"""Join the records of large JSON files by image id, and count flawed records.

Visual Genome's files contain up to 700 MB of JSON, and their images may be in different orders. Each file is streamed
once into a temporary SQLite database on disk, which is then read in the order of the image ids. Only one record per
file is held in memory. The database takes about a fifth of the size of the JSON files, in SQLite's temporary folder
(``SQLITE_TMPDIR`` or ``TMPDIR``).
"""

from __future__ import annotations

import json
import sqlite3
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import ijson

MALFORMED = "malformed record"


@dataclass(frozen=True)
class Flaws:
    """The number of flawed records by kind of flaw, and a message about the first record of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, message: str) -> None:
        self.counts[kind] += 1
        self.first.setdefault(kind, message)

    def print(self, name: str) -> None:
        """Print the number of flawed records of each kind, and the first of them, to stderr."""
        for kind, message in sorted(self.first.items()):
            print(
                f"{name}: {self.counts[kind]} flawed records ({kind}). The first: {message}",
                file=sys.stderr,
            )


def stream_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (position, record) for each record of a JSON list, or (key, value) for each entry of a JSON object.

    Raises FileNotFoundError without the file, and ValueError if the file is not valid JSON.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: not found.")
    count = 0
    with path.open("rb") as file:
        is_object = file.read(1 << 10).lstrip()[:1] == b"{"
        file.seek(0)
        records = (
            ijson.kvitems(file, "", use_float=True)
            if is_object
            else ijson.items(file, "item", use_float=True)
        )
        try:
            for count, record in enumerate(records, start=1):
                yield record if is_object else (str(count - 1), record)
        except ijson.JSONError as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"{path}: broken JSON after {count} records ({reason}). It is cut off or damaged. Download it again."
            ) from None


class RecordsByImage:
    """Records of several files, grouped by image."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")  # a temporary database on disk
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE records (image_id TEXT, file TEXT, record BLOB)")
        self._database.execute("CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, image_id: str, file: str, record: Any) -> None:
        data = zlib.compress(json.dumps(record).encode(), level=1)
        self._database.execute("insert INTO records VALUES (?, ?, ?)", (image_id, file, data))

    def __iter__(self) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        """Yield each image id with its (file, record) pairs, sorted by id."""
        self._database.execute("CREATE INDEX by_image ON records (length(image_id), image_id)")
        rows = self._database.execute(
            "SELECT image_id, file, record FROM records ORDER BY length(image_id), image_id, rowid"
        )
        for image_id, group in groupby(rows, key=lambda row: row[0]):
            yield image_id, [(file, json.loads(zlib.decompress(data))) for _, file, data in group]

    def has_file(self, file: str) -> bool:
        """Return True if a record of the file was added."""
        return bool(
            self._database.execute(
                "SELECT 1 FROM records WHERE file = ? LIMIT 1", (file,)
            ).fetchall()
        )

    def is_new(self, record_id: str) -> bool:
        """Return True for the first call with an id and False for later calls."""
        # Lower case: with a Turkish locale, Python 3.11 does not recognise INSERT, and its rowcount is -1.
        return (
            self._database.execute("insert OR IGNORE INTO ids VALUES (?)", (record_id,)).rowcount
            == 1
        )
