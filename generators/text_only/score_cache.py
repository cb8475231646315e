"""Cache of the scores that language models assign to texts. A process that uses it may be killed at any moment.

Each model has one SQLite file (with a write-ahead log), whose name is a digest of everything that determines a score.
A key is a digest of a text, and the value its scores as float64. Several processes may use one file.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SUFFIX = ".scores.sqlite"
CHUNK = 256
"""Texts per transaction. A killed process loses at most one chunk."""
KEYS_PER_QUERY = 500
LOCK_SECONDS = 60
"""Seconds to wait while other processes write."""

Compute = Callable[[Sequence[str]], Iterable[Sequence[float]]]
"""A function that returns the scores of each text."""


class ScoreCache:
    """The scores of one model.

    Raises ValueError if the file cannot be used.
    """

    def __init__(self, folder: Path, model: str) -> None:
        self._path = folder / f"{model}{SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=LOCK_SECONDS)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute("CREATE TABLE IF NOT EXISTS score (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"{self._path}: the cache of scores cannot be used ({error}). Delete the file, or set COMPEVAL_CACHE "
                "to a writable folder."
            ) from None

    def score(self, texts: Iterable[str], compute: Compute) -> dict[str, tuple[float, ...]]:
        """Return text -> scores. ``compute`` is called for the distinct texts without stored scores only."""
        distinct = list(dict.fromkeys(texts))
        scores = self._read(distinct)
        missing = [text for text in distinct if text not in scores]
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            new = {text: tuple(values) for text, values in zip(chunk, compute(chunk), strict=True)}
            with self._database:
                self._database.executemany(
                    "INSERT OR IGNORE INTO score VALUES (?, ?)",
                    [(_key(text), array("d", values).tobytes()) for text, values in new.items()],
                )
            scores |= new
        return scores

    def _read(self, texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
        scores: dict[str, tuple[float, ...]] = {}
        for start in range(0, len(texts), KEYS_PER_QUERY):
            by_key = {_key(text): text for text in texts[start : start + KEYS_PER_QUERY]}
            query = f"SELECT key, value FROM score WHERE key IN ({','.join('?' * len(by_key))})"
            for key, value in self._database.execute(query, list(by_key)):
                scores[by_key[key]] = tuple(array("d", value))
        return scores


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
