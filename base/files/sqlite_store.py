"""Values by key in one SQLite file. A process that uses it may be killed at any moment.

The file has a write-ahead log. ``write`` stores all its values in one transaction, so a crash never leaves part of
them. Several threads and processes may use one file.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

LOG_PAGES = 25_000
"""Number of pages (4 kB each) in the log before SQLite copies them into the database, which is slow."""
KEYS_PER_QUERY = 500
LOCK_SECONDS = 60
"""Seconds to wait while other processes write."""


class SqliteStore:
    """Values by key, on disk or, if ``path`` is None, in memory. Errors are raised as ValueError, with a remedy."""

    name: ClassVar[str]
    """Name of the store in messages."""
    contents: ClassVar[str]
    """Name of the values in messages."""
    table: ClassVar[str]
    columns: ClassVar[tuple[str, str]] = ("key", "value")
    synchronous: ClassVar[Literal["NORMAL", "FULL"]] = "NORMAL"
    """With FULL, values are on disk when ``write`` returns, even if the machine crashes."""
    damaged: ClassVar[str] = "The file is damaged: delete it and run again. It is only a cache."

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"{path and path.parent}: the {self.name} cannot be created ({error.strerror}). Set COMPEVAL_CACHE to "
                "a writable folder."
            ) from None
        key, value = self.columns
        with self._explain_errors():
            self._database = sqlite3.connect(
                path or ":memory:", timeout=LOCK_SECONDS, check_same_thread=False
            )
            self._switch_to_write_ahead_log()
            self._database.execute(f"PRAGMA synchronous={self.synchronous}")
            self._database.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._database.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table} ({key} BLOB PRIMARY KEY, {value} BLOB NOT NULL)"
            )

    def _switch_to_write_ahead_log(self) -> None:
        """Set the journal mode. Retries while another process creates the file, since SQLite does not wait for it."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        self._database.close()

    def missing(self, keys: Sequence[Any]) -> list[int]:
        """Return the positions of the keys that are not stored."""
        stored = {key for key, _ in self._select("NULL", keys)}
        return [index for index, key in enumerate(keys) if key not in stored]

    def read(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Return the values of the keys that are stored."""
        return dict(self._select(self.columns[1], list(dict.fromkeys(keys))))

    def write(self, values: Iterable[tuple[Any, Any]]) -> int:
        """Store pairs of a key and a value in one transaction. The values of existing keys do not change.

        Returns the number of new keys.
        """
        # Lower case: Python 3.11 begins a transaction and counts rows if the lower case of the first word is "insert",
        # and with a Turkish locale that of INSERT is another word.
        with self._lock, self._explain_errors(), self._database:
            return self._database.executemany(
                f"insert OR IGNORE INTO {self.table} VALUES (?, ?)", values
            ).rowcount

    def replace(self, values: Iterable[tuple[Any, Any]]) -> None:
        """Store pairs of a key and a value in one transaction, in place of earlier values."""
        with self._lock, self._explain_errors(), self._database:
            self._database.executemany(f"insert OR REPLACE INTO {self.table} VALUES (?, ?)", values)

    def count(self) -> int:
        """Return the number of stored values."""
        with self._explain_errors():
            return self._database.execute(f"SELECT COUNT(*) FROM {self.table}").fetchone()[0]

    def _select(self, column: str, keys: Sequence[Any]) -> list[tuple[Any, Any]]:
        rows: list[tuple[Any, Any]] = []
        key = self.columns[0]
        with self._lock, self._explain_errors():
            for start in range(0, len(keys), KEYS_PER_QUERY):
                part = keys[start : start + KEYS_PER_QUERY]
                query = f"SELECT {key}, {column} FROM {self.table} WHERE {key} IN ({','.join('?' * len(part))})"
                rows += self._database.execute(query, part)
        return rows

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Turn an SQLite error into a ValueError that says what the user can do."""
        try:
            yield
        except sqlite3.Error as error:
            remedy = self._find_remedy(str(error))
            raise ValueError(f"{self.path}: the {self.name} failed ({error}). {remedy}") from None

    def _find_remedy(self, error: str) -> str:
        if "readonly" in error or "unable to open" in error:
            return "Set COMPEVAL_CACHE to a writable folder."
        # I/O: a quota is exceeded, or there is no space for the log.
        if "full" in error or "I/O" in error:
            return f"Free some space, or run `compeval cache prune`; {self.contents} are kept."
        if "locked" in error:
            return f"Another process is writing: wait for its end and run again; {self.contents} are kept."
        return self.damaged
