"""The feature cache: content-addressed, append-only, safe to kill at any moment.

One SQLite file (write-ahead log) per model fingerprint, which covers weights, transform, tokeniser and precision. A key
is a digest of an encoded image or of a text, a value the feature's float32 bytes. ``put`` writes a whole chunk in one
transaction: after a crash a chunk is there or it is not.
Place: ``$COMPEVAL_CACHE``, else ``~/.cache/compeval``.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SUFFIX = ".features.sqlite"
LOG_PAGES = 25_000
"""Pages (of 4 kB) that the log may hold before they go into the database, which waits for the disk."""
_KEYS_A_QUERY = 500


def cache_folder() -> Path:
    named = os.environ.get("COMPEVAL_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "compeval"


class FeatureStore:
    """Features of one model; ``folder=None`` keeps them in memory for the life of the store."""

    def __init__(self, folder: Path | None, model_fingerprint: str) -> None:
        if folder is None:
            self.path = None
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ValueError(
                    f"{folder}: the feature cache cannot be made ({error.strerror}). Set COMPEVAL_CACHE to a folder "
                    "that can be written."
                ) from None
            self.path = folder / f"{model_fingerprint}{SUFFIX}"
        try:
            self._database = sqlite3.connect(self.path or ":memory:", timeout=60)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._database.execute("CREATE TABLE IF NOT EXISTS feature (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def close(self) -> None:
        self._database.close()

    def missing(self, keys: Sequence[bytes]) -> list[int]:
        """Positions of the keys that are not stored."""
        found = {key for key, _ in self._select("key, NULL", keys)}
        return [index for index, key in enumerate(keys) if key not in found]

    def put(self, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        """Store N features in one transaction; a key that is already there keeps its value."""
        values = np.ascontiguousarray(feature_ND, dtype=np.float32)
        try:
            with self._database:
                self._database.executemany(
                    "INSERT OR IGNORE INTO feature VALUES (?, ?)",
                    ((key, value.tobytes()) for key, value in zip(keys, values, strict=True)),
                )
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def get(self, keys: Sequence[bytes]) -> np.ndarray:
        """Features (N, D) float32, one row per key. KeyError if one is not stored."""
        found = dict(self._select("key, value", list(dict.fromkeys(keys))))
        return np.stack([np.frombuffer(found[key], dtype=np.float32) for key in keys])

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        rows: list[tuple[bytes, bytes]] = []
        try:
            for start in range(0, len(keys), _KEYS_A_QUERY):
                part = keys[start : start + _KEYS_A_QUERY]
                marks = ",".join("?" * len(part))
                rows += self._database.execute(f"SELECT {columns} FROM feature WHERE key IN ({marks})", part)
        except sqlite3.Error as error:
            raise self._failure(error) from None
        return rows

    def _failure(self, error: sqlite3.Error) -> ValueError:
        if "readonly" in str(error) or "unable to open" in str(error):
            remedy = "Set COMPEVAL_CACHE to a folder that can be written."
        elif "full" in str(error) or "I/O" in str(error):  # the latter also at a quota, or without room for its index
            remedy = "Free some space, or run `compeval cache prune`; what was encoded so far is kept."
        elif "locked" in str(error):
            remedy = "Another process writes to it: wait for its end and run again; what was encoded so far is kept."
        else:
            remedy = "The file is damaged: delete it and run again, it is only a cache."
        return ValueError(f"{self.path}: the feature cache failed ({error}). {remedy}")


@dataclass(frozen=True)
class CacheFile:
    """One model's features on disk."""

    path: Path
    size: int
    """Bytes, write-ahead log included."""
    idle_days: float


def list_cache(folder: Path) -> list[CacheFile]:
    """The cache's files, the largest first."""
    files = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        size = sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))
        files.append(CacheFile(path, size, (time.time() - path.stat().st_mtime) / 86_400))
    return sorted(files, key=lambda file: -file.size)


def prune(folder: Path, older_than_days: float) -> list[CacheFile]:
    """Delete the features of models that were not written for that long; gives what was deleted."""
    gone = [file for file in list_cache(folder) if file.idle_days >= older_than_days]
    for file in gone:
        for part in file.path.parent.glob(f"{file.path.name}*"):
            part.unlink()
    return gone
