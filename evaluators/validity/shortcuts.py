"""Find the best rule that selects the true caption of a published set without the image.

A blind model can use such a rule, so a set that one solves does not measure vision. `compeval inspect` examines one set
in detail; here, many are compared. The rules are the cues of the audit (loaders/audit.py), the medoid (a truth of which
all negatives are edits is closest to them), and scorers that learn from the captions of other images
(generators/hard_negatives/text_only_scorers.py). The best rule is chosen with knowledge of the truth. Tied captions
share the hit. Sets whose candidates are images, and pairs of images with the same two captions, cannot be solved by a
text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evaluators.inspection import measures
from evaluators.metrics.intervals import Interval, compute_share_interval
from generators.hard_negatives.text_only_scorers import RetrievalSets, Scorer, recall_at_1
from generators.storage import parquet
from loaders.datasets.stats import parquet_files

MAX_ROWS = 1000
"""Rows of a set on which the rules are tried, at equal distances."""
MIN_MARGIN = 0.05
"""Smallest difference from chance that is a shortcut, if the interval is above chance as well."""
RULES: Mapping[str, Scorer] = {
    name.replace("_", " "): scorer
    for name, scorer in measures.RULES.items()
    if name not in ("learned", "character_trigrams", "nearest_to_mean")
}
"""Those of ``compeval inspect`` that take seconds on a thousand rows."""


class Shortcut(NamedTuple):
    """The best rule on a set. Shares are fractions of 1."""

    rule: str
    recall: float
    interval: Interval
    chance: float
    rows: int

    @property
    def beats_chance(self) -> bool:
        return self.interval[0] > self.chance and self.recall > self.chance + MIN_MARGIN

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"beats_chance": self.beats_chance}


def find_shortcut(rows: Iterable[tuple[str, tuple[str, ...]]]) -> Shortcut | None:
    """Return the best rule on rows of an image and its candidates, the true one first.

    Returns None if there are no negatives, or if their number differs.
    """
    distinct = list(dict.fromkeys(rows))
    sampled = distinct[:: -(-len(distinct) // MAX_ROWS) or 1]
    if len({len(candidates) for _, candidates in sampled} | {1}) != 2:
        return None
    sets = RetrievalSets([candidates for _, candidates in sampled], [image for image, _ in sampled])
    hits = {name: recall_at_1(scorer(sets)) for name, scorer in RULES.items()}
    best = max(hits, key=lambda name: hits[name].mean())
    interval = compute_share_interval(hits[best], sets.images)
    return Shortcut(best, float(hits[best].mean()), interval, sets.chance, len(sets))


def find_shortcuts(folder: Path) -> dict[str, Shortcut]:
    """Return the best rule for each config of a dataset folder that has hard negatives, over all its splits."""
    files: dict[str, list[Path]] = {}
    for path in parquet_files(folder):
        if {"image_id", "hard_negatives"} <= {*parquet.read_schema(path).names}:
            files.setdefault(path.parent.name, []).append(path)
    found = {config: find_shortcut(_read_rows(paths)) for config, paths in files.items()}
    return {config: shortcut for config, shortcut in found.items() if shortcut}


def _read_rows(paths: Iterable[Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for path in paths:
        for batch in parquet.read_batches(path, columns=["image_id", "caption", "hard_negatives"]):
            for row in batch.to_pylist():
                yield row["image_id"], (row["caption"], *row["hard_negatives"])
