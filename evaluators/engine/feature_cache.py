"""The feature cache: content-addressed, append-only, safe to kill at any moment.

One SQLite file (write-ahead log) per model, named by a digest of its fingerprint (weights, transform, tokeniser and
precision), of the code that decodes and encodes, and of the versions of Pillow, torchvision and the like. A key is a
digest of an encoded image or of a text, a value the feature's float32 bytes. ``put`` writes a whole chunk in one
transaction, so a crash never leaves part of a chunk. Several processes may use one file.
Folder: ``$COMPEVAL_CACHE``, else ``~/.cache/compeval``.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluators.models.fingerprint import of_features

SUFFIX = ".features.sqlite"
LOG_PAGES = 25_000
"""Pages (of 4 kB) in the log before SQLite copies them into the database, which waits for the disk."""
KEYS_PER_QUERY = 500
LOCK_SECONDS = 60
"""Seconds to wait while other processes write."""


def cache_folder() -> Path:
    folder = os.environ.get("COMPEVAL_CACHE")
    return Path(folder) if folder else Path.home() / ".cache" / "compeval"


class FeatureStore:
    """Features of one model; ``folder=None`` keeps them in memory."""

    def __init__(self, folder: Path | None, model_fingerprint: str) -> None:
        self.path = folder and folder / f"{of_features(model_fingerprint)}{SUFFIX}"
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"{folder}: the feature cache cannot be created ({error.strerror}). Set COMPEVAL_CACHE to a writable "
                "folder."
            ) from None
        with self._one_message():
            self._database = sqlite3.connect(self.path or ":memory:", timeout=LOCK_SECONDS)
            self._switch_to_write_ahead_log()
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._database.execute("CREATE TABLE IF NOT EXISTS feature (key BLOB PRIMARY KEY, value BLOB NOT NULL)")

    def _switch_to_write_ahead_log(self) -> None:
        """Retry while another process creates the file: SQLite does not wait for its lock in this one statement."""
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

    def missing(self, keys: Sequence[bytes]) -> list[int]:
        """Positions of the keys that are not stored."""
        stored = {key for key, _ in self._select("key, NULL", keys)}
        return [index for index, key in enumerate(keys) if key not in stored]

    def put(self, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        """Store N features in one transaction; existing keys keep their value."""
        values = np.ascontiguousarray(feature_ND, dtype=np.float32)
        with self._one_message(), self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO feature VALUES (?, ?)",
                ((key, value.tobytes()) for key, value in zip(keys, values, strict=True)),
            )

    def get(self, keys: Sequence[bytes]) -> np.ndarray:
        """Features (N, D) float32, one row per key. KeyError for a key that is not stored."""
        stored = dict(self._select("key, value", list(dict.fromkeys(keys))))
        return np.stack([np.frombuffer(stored[key], dtype=np.float32) for key in keys])

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        rows: list[tuple[bytes, bytes]] = []
        with self._one_message():
            for start in range(0, len(keys), KEYS_PER_QUERY):
                part = keys[start : start + KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                rows += self._database.execute(f"SELECT {columns} FROM feature WHERE key IN ({marks})", part)
        return rows

    @contextmanager
    def _one_message(self) -> Iterator[None]:
        """Turn an SQLite error into a ValueError with its remedy."""
        try:
            yield
        except sqlite3.Error as error:
            raise ValueError(f"{self.path}: the feature cache failed ({error}). {_remedy(str(error))}") from None


def _remedy(error: str) -> str:
    if "readonly" in error or "unable to open" in error:
        return "Set COMPEVAL_CACHE to a writable folder."
    if "full" in error or "I/O" in error:  # I/O: over a quota, or no space for the index of the log
        return "Free some space, or run `compeval cache prune`; encoded features are kept."
    if "locked" in error:
        return "Another process is writing: wait for its end and run again; encoded features are kept."
    return "The file is damaged: delete it and run again, it is only a cache."


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
    for path in folder.glob(f"*{SUFFIX}"):
        size = sum(part.stat().st_size for part in folder.glob(f"{path.name}*"))
        files.append(CacheFile(path, size, (time.time() - path.stat().st_mtime) / 86_400))
    return sorted(files, key=lambda file: (-file.size, file.path))


def prune(folder: Path, older_than_days: float) -> list[CacheFile]:
    """Delete the files that were last written that many days ago, and return them."""
    deleted = [file for file in list_cache(folder) if file.idle_days >= older_than_days]
    for file in deleted:
        for part in folder.glob(f"{file.path.name}*"):
            part.unlink()
    return deleted
