"""Answers of paid or slow endpoints on disk. A process that writes them may be killed at any moment.

One SQLite file (``answers.sqlite`` in the cache folder) maps the hash of a request to the parts of its answer that
scores are computed from. Each answer is committed alone, so an answer that arrived is never requested again. Unlike
features, answers do not depend on this package's version. No key and no image is stored.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

FILE = "answers.sqlite"
LOCK_SECONDS = 60
"""Seconds to wait while other processes write."""


class AnswerStore:
    """Answers by request hash. It may be used by several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=LOCK_SECONDS, check_same_thread=False)
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute("CREATE TABLE IF NOT EXISTS answer (request TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"{self._path}: the answers cannot be stored ({error}). Set COMPEVAL_CACHE to a writable folder."
            ) from None

    def get(self, request: str) -> dict[str, Any] | None:
        """Return the answer to a request, or None if there is none yet."""
        with self._lock:
            row = self._database.execute("SELECT answer FROM answer WHERE request = ?", (request,)).fetchone()
        return row and json.loads(row[0])

    def put(self, request: str, answer: dict[str, Any]) -> None:
        """Store an answer; it is on disk when this returns."""
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR IGNORE INTO answer VALUES (?, ?)", (request, json.dumps(answer)))
        except sqlite3.Error as error:
            raise ValueError(f"{self._path}: an answer cannot be stored ({error}). Free some space.") from None
