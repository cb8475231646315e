"""Find the best rule that selects the true caption of a published set without the image.

A blind model can use such a rule, so a set that one solves does not measure vision. `compeval inspect` examines one set
in detail; here, many are compared. The rules are the cues of the audit (loaders/audit.py), the medoid (a truth of which
all negatives are edits is closest to them), and scorers that learn from the captions of other images
(generators/text_only/baselines.py). The best rule is chosen with knowledge of the truth. Tied captions
share the hit. Sets whose candidates are images, and pairs of images with the same two captions, cannot be solved by a
text alone.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evaluators.metrics.intervals import Interval, compute_share_interval
from evaluators.validity.rules import RULES, SLOW_RULES, beats_chance
from generators.storage import parquet
from generators.text_only.baselines import RetrievalSets, recall_at_1
from loaders.datasets.folders import is_published, list_datasets
from loaders.datasets.stats import parquet_files

MAX_ROWS = 1000
"""Number of distinct random rows of a set on which the rules are tried."""
Row = tuple[str, tuple[str, ...]]
"""An image and its candidates, the true one first."""


class Shortcut(NamedTuple):
    """The best rule on a set. Shares are fractions of 1."""

    rule: str
    recall: float
    interval: Interval
    chance: float
    rows: int

    @property
    def beats_chance(self) -> bool:
        return beats_chance(self.recall, self.interval, self.chance)

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"beats_chance": self.beats_chance}


def find_shortcut(rows: Iterable[Row]) -> Shortcut | None:
    """Return the best rule on the rows of a set.

    Returns None if there are no negatives, or if their number differs.
    """
    sampled = _sample(rows)
    if len({len(candidates) for _, candidates in sampled} | {1}) != 2:
        return None
    sets = RetrievalSets([candidates for _, candidates in sampled], [image for image, _ in sampled])
    hits = {
        name.replace("_", " "): recall_at_1(scorer(sets)) for name, scorer in RULES.items() if name not in SLOW_RULES
    }
    best = max(hits, key=lambda name: hits[name].mean())
    interval = compute_share_interval(hits[best], sets.images)
    return Shortcut(best, float(hits[best].mean()), interval, sets.chance, len(sets))


def _sample(rows: Iterable[Row]) -> list[Row]:
    """Return at most ``MAX_ROWS`` distinct rows, those with the smallest hashes."""
    by_hash: dict[bytes, Row] = {}
    for image, candidates in rows:
        by_hash[hashlib.blake2b("\0".join((image, *candidates)).encode(), digest_size=16).digest()] = image, candidates
        if len(by_hash) == 2 * MAX_ROWS:
            by_hash = {key: by_hash[key] for key in heapq.nsmallest(MAX_ROWS, by_hash)}
    return [by_hash[key] for key in sorted(by_hash)[:MAX_ROWS]]


def find_shortcuts(folder: Path) -> dict[str, Shortcut]:
    """Return the best rule for each config of a dataset folder that has hard negatives, over all its splits."""
    files: dict[str, list[Path]] = {}
    for path in parquet_files(folder):
        if {"image_id", "hard_negatives"} <= {*parquet.read_schema(path).names}:
            files.setdefault(path.parent.name, []).append(path)
    found = {config: find_shortcut(_read_rows(paths)) for config, paths in files.items()}
    return {config: shortcut for config, shortcut in found.items() if shortcut}


def _read_rows(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        for batch in parquet.read_batches(path, columns=["image_id", "caption", "hard_negatives"]):
            for row in batch.to_pylist():
                yield row["image_id"], (row["caption"], *row["hard_negatives"])


def find_published_shortcuts(names: Iterable[str], data_dir: Path | None = None) -> dict[str, Shortcut]:
    """Return the best rule on each ``dataset/config`` of the published datasets among ``names`` that are here."""
    published = sorted(filter(is_published, names))
    here = list_datasets(data_dir) if published else {}
    return {
        f"{name}/{config}": shortcut
        for name in published
        if name in here
        for config, shortcut in find_shortcuts(here[name]).items()
    }
