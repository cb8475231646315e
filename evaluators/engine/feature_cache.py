"""Cache of image and text features on disk. A process that uses it may be killed at any moment.

Each model has one SQLite file (with a write-ahead log). The file name is a digest of three parts: the model's
fingerprint (weights, transform, tokeniser, precision), the code that decodes and encodes, and the versions of Pillow,
torchvision and similar packages. A key is a digest of an image file or of a text; the value is the feature as float32
bytes. ``put`` writes a whole chunk in one transaction, so a crash never leaves part of a chunk. Several processes may
use one file.

The folder is ``$COMPEVAL_CACHE`` if it is set, and ``~/.cache/compeval`` otherwise.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluators.models.fingerprint import of_features
from generators.files.cache_folder import cache_folder as cache_folder

SUFFIX = ".features.sqlite"
LOG_PAGES = 25_000
"""Number of pages (4 kB each) in the log before SQLite copies them into the database, which is slow."""
KEYS_PER_QUERY = 500
LOCK_SECONDS = 60
"""Seconds to wait while other processes write."""


class FeatureStore:
    """Features of one model, on disk or, if ``folder`` is None, in memory."""

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

    def missing(self, keys: Sequence[bytes]) -> list[int]:
        """Return the positions of the keys that are not stored."""
        stored = {key for key, _ in self._select("key, NULL", keys)}
        return [index for index, key in enumerate(keys) if key not in stored]

    def put(self, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        """Store N features in one transaction. The values of existing keys do not change."""
        values = np.ascontiguousarray(feature_ND, dtype=np.float32)
        with self._one_message(), self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO feature VALUES (?, ?)",
                ((key, value.tobytes()) for key, value in zip(keys, values, strict=True)),
            )

    def get(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return the features (N, D) in float32, one row per key. Raises KeyError if a key is not stored."""
        stored = dict(self._select("key, value", list(dict.fromkeys(keys))))
        return np.stack([np.frombuffer(stored[key], dtype=np.float32) for key in keys])

    def count(self) -> int:
        """Return the number of stored features."""
        with self._one_message():
            return self._database.execute("SELECT COUNT(*) FROM feature").fetchone()[0]

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
        """Turn an SQLite error into a ValueError that says what the user can do."""
        try:
            yield
        except sqlite3.Error as error:
            raise ValueError(f"{self.path}: the feature cache failed ({error}). {_remedy(str(error))}") from None


def count_features(folder: Path, model_fingerprint: str) -> int:
    """Return the number of cached features of a model, without creating its file."""
    path = folder / f"{of_features(model_fingerprint)}{SUFFIX}"
    if not path.is_file():
        return 0
    with closing(FeatureStore(folder, model_fingerprint)) as store:
        return store.count()


def _remedy(error: str) -> str:
    if "readonly" in error or "unable to open" in error:
        return "Set COMPEVAL_CACHE to a writable folder."
    if "full" in error or "I/O" in error:  # I/O: a quota is exceeded, or there is no space for the log
        return "Free some space, or run `compeval cache prune`; encoded features are kept."
    if "locked" in error:
        return "Another process is writing: wait for its end and run again; encoded features are kept."
    return "The file is damaged: delete it and run again. It is only a cache."


@dataclass(frozen=True)
class CacheFile:
    """Size and age of one model's cache file."""

    path: Path
    size: int
    """Size in bytes, including the write-ahead log."""
    idle_days: float


def list_cache(folder: Path) -> list[CacheFile]:
    """Return the files with the features of models and with the scores of language models, the largest first."""
    files = []
    for path in folder.glob("*.sqlite"):
        size = sum(part.stat().st_size for part in folder.glob(f"{path.name}*"))
        files.append(CacheFile(path, size, (time.time() - path.stat().st_mtime) / 86_400))
    return sorted(files, key=lambda file: (-file.size, file.path))


def prune(folder: Path, older_than_days: float) -> list[CacheFile]:
    """Delete the files that were last written at least ``older_than_days`` ago, and return them."""
    deleted = [file for file in list_cache(folder) if file.idle_days >= older_than_days]
    for file in deleted:
        for part in folder.glob(f"{file.path.name}*"):
            part.unlink()
    return deleted
