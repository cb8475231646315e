"""The rows of one split of productivity: which examples are used for which config, and when to stop.

A config is complete when it has ``rows`` examples. A config whose negatives are rare is given up, so that the work
depends on the number of rows and not on the number of images. Rows are kept in pickled form, which needs a fraction of
the memory.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from generators.graphs.walks import SAME_CROP, is_same_crop
from generators.hard_negatives.crepe.productivity import PER_TYPE
from generators.schemas.scene_graph import Box

MAX_IMAGES_PER_ROW = 40
"""A config is given up when it has fewer than one row per so many images, after the first images. An image counts again
for its second walk."""
MIN_IMAGES, MIN_IMAGES_PER_ROW = 400, 4
"""A config is not given up before so many images, and so many per requested row."""
LIMIT, NOT_FOUND = "proofs given up", "rows not found"
"""Reasons in the counts of a split: searches that reached their limit, and rows that a config lacks at the end."""
RAW = "raw"
"""The config that has all examples, without negatives."""

Row = dict[str, Any]


class ExampleRows(NamedTuple):
    """An example as pickled columns.

    ``raw`` is the row without negatives. ``columns`` are the columns with negatives of each requested kind, or None if
    there are too few, and ``undecided`` the numbers of negatives whose proof was given up. ``order`` sorts the rows; it
    is the sort key of the image and the key of the walk. ``box`` is the crop.
    """

    order: tuple[int, str, str]
    box: Box
    raw: bytes
    columns: Mapping[str, bytes | None]
    undecided: Mapping[str, int]


class Outcome(NamedTuple):
    """What one walk of an image yields for a split. ``dropped`` counts the failed attempts by reason."""

    dropped: Counter[str]
    example: ExampleRows | None


class SplitRows:
    """The rows of one split, in the order in which images are visited."""

    def __init__(self, max_rows: int, kinds: Sequence[str]) -> None:
        self.max_rows = max_rows
        self.dropped = Counter[str]()
        self.num_visited = 0
        self._raw: dict[tuple[int, str, str], bytes] = {}
        self._columns: dict[str, dict[tuple[int, str, str], bytes]] = {kind: {} for kind in kinds}
        """The columns with negatives, by the order of the raw row."""
        self._crops: dict[str, dict[tuple[int, str], list[Box]]] = {kind: {} for kind in (RAW, *kinds)}
        """The crops of the rows of each config, by image."""

    def _needs_rows(self, count: int) -> bool:
        """Return True if a config with ``count`` rows is neither complete nor given up."""
        min_images = max(MIN_IMAGES, MIN_IMAGES_PER_ROW * self.max_rows)
        return count < self.max_rows and self.num_visited < min_images + MAX_IMAGES_PER_ROW * count

    @property
    def open_kinds(self) -> frozenset[str]:
        """The kinds of hard negatives that still need rows."""
        return frozenset(kind for kind, items in self._columns.items() if self._needs_rows(len(items)))

    @property
    def is_open(self) -> bool:
        return self._needs_rows(len(self._raw)) or bool(self.open_kinds)

    def add(self, outcome: Outcome) -> None:
        """Add the example of a walk to the configs that still need rows. Its columns contain these kinds."""
        if not self.is_open:
            return
        self.dropped.update(outcome.dropped)
        if outcome.example is not None:
            self._add_example(outcome.example)
        self.num_visited += 1

    def _add_example(self, example: ExampleRows) -> None:
        is_used = len(self._raw) < self.max_rows and self._add_crop(RAW, example)
        for kind in sorted(self.open_kinds):
            self.dropped[f"{kind}: {LIMIT}"] += example.undecided[kind]
            columns = example.columns[kind]
            if columns is None:
                self.dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
            elif not self._add_crop(kind, example):
                self.dropped[f"{kind}: {SAME_CROP}"] += 1
            else:
                self._columns[kind][example.order] = columns
                is_used = True
        if is_used:
            self._raw[example.order] = example.raw

    def _add_crop(self, kind: str, example: ExampleRows) -> bool:
        """Add the crop of an example to a config, unless the config has it. Return True if it is added."""
        crops = self._crops[kind].setdefault(example.order[:2], [])
        if is_same_crop(example.box, crops):
            return False
        crops.append(example.box)
        return True

    def count_missing(self) -> dict[str, int]:
        """Return the number of rows that each kind of config lacks, for those that lack any."""
        counts = {RAW: len(self._raw)} | {kind: len(items) for kind, items in self._columns.items()}
        return {kind: self.max_rows - count for kind, count in counts.items() if count < self.max_rows}

    def count_dropped(self) -> dict[str, int]:
        """Return the number of dropped candidates and of missing rows by reason."""
        missing = {f"{kind}: {NOT_FOUND}": n for kind, n in self.count_missing().items()}
        return {reason: count for reason, count in sorted((self.dropped | Counter(missing)).items()) if count}

    def read_rows(self, kind: str) -> Iterator[Row]:
        """Yield the rows of a config, ``raw`` or a kind of hard negatives, sorted by image."""
        if kind == RAW:
            yield from (pickle.loads(self._raw[order]) for order in sorted(self._raw))
            return
        columns_by_order = self._columns[kind]
        for order in sorted(columns_by_order):
            yield pickle.loads(self._raw[order]) | pickle.loads(columns_by_order[order])
