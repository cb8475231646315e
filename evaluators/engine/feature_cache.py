"""Cache of image and text features on disk.

Each model has one SQLite file. The file name is a digest of three parts: the model's fingerprint (weights, transform,
tokeniser, precision), the code that decodes and encodes, and the versions of Pillow, torchvision and similar packages.
A key is a digest of an image file, a text, or a pair of these. The value is the feature as float32 bytes or the score
of the pair as float64 bytes.

The folder is ``$COMPEVAL_CACHE`` if it is set, and ``~/.cache/compeval`` otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compeval.base.files.sqlite_store import SqliteStore
from compeval.evaluators.models.fingerprint import of_features

SUFFIX = ".features.sqlite"
RECENT_BYTES = 500_000_000
"""Size of the new features that are kept in memory, so that they need not be read again to score them."""


class FeatureStore(SqliteStore):
    """Features of one model, on disk or, if ``folder`` is None, in memory."""

    name = "feature cache"
    contents = "encoded features"
    table = "feature"

    def __init__(self, folder: Path | None, model_fingerprint: str) -> None:
        super().__init__(folder and folder / f"{of_features(model_fingerprint)}{SUFFIX}")
        self._recent: dict[bytes, bytes] = {}

    def put(self, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        """Store N features in one transaction. The values of existing keys do not change."""
        values = {key: value.tobytes() for key, value in zip(keys, feature_ND, strict=True)}
        is_new = self.write(values.items()) == len(values)
        if (
            is_new
            and self.path
            and (len(self._recent) + len(values)) * feature_ND.nbytes <= RECENT_BYTES * len(values)
        ):
            self._recent |= values

    def get(self, keys: Sequence[bytes], dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Return the features (N, D), one row per key. Raises KeyError if a key is not stored.

        ``dtype`` is the type that they were stored with.
        """
        stored = self._recent if self._recent.keys() >= set(keys) else self.read(keys)
        return np.frombuffer(b"".join(stored[key] for key in keys), dtype).reshape(len(keys), -1)


@dataclass(frozen=True)
class FeatureReader:
    """Reads the features at some positions of a list of keys."""

    store: FeatureStore
    keys: Sequence[bytes]

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """Return the features (n, D) at n positions."""
        return self.store.get([self.keys[position] for position in positions])


def count_features(folder: Path, model_fingerprint: str) -> int:
    """Return the number of cached features of a model, without creating its file."""
    path = folder / f"{of_features(model_fingerprint)}{SUFFIX}"
    if not path.is_file():
        return 0
    with closing(FeatureStore(folder, model_fingerprint)) as store:
        return store.count()


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
