"""Cache of the scores that language models assign to texts.

Each model has one SQLite file, whose name is a digest of everything that determines a score. A key is a digest of a
text, and the value its scores as float64.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from compeval.base.files.sqlite_store import SqliteStore

SUFFIX = ".scores.sqlite"
CHUNK = 256
"""Texts per transaction. A killed process loses at most one chunk."""

Compute = Callable[[Sequence[str]], Iterable[Sequence[float]]]
"""A function that returns the scores of each text."""


class ScoreCache(SqliteStore):
    """The scores of one model."""

    name = "cache of scores"
    contents = "computed scores"
    table = "score"

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__(folder / f"{model}{SUFFIX}")

    def score(self, texts: Iterable[str], compute: Compute) -> dict[str, tuple[float, ...]]:
        """Return text -> scores. ``compute`` is called for the distinct texts without stored scores only."""
        keys = {
            text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
            for text in texts
        }
        stored = self.read(keys.values())
        missing = [text for text, key in keys.items() if key not in stored]
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            new = {
                keys[text]: array("d", values).tobytes()
                for text, values in zip(chunk, compute(chunk), strict=True)
            }
            self.write(new.items())
            stored |= new
        return {text: tuple(array("d", stored[key])) for text, key in keys.items()}
