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

from generators.hard_negatives.productivity import PER_TYPE

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
    there are too few, and ``undecided`` the numbers of negatives whose proof was given up. ``order`` sorts the rows.
    """

    order: tuple[int, str, str]
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
        self._raw: list[tuple[tuple[int, str, str], bytes]] = []
        self._columns: dict[str, list[tuple[int, bytes]]] = {kind: [] for kind in kinds}
        """The index of the raw row, and the columns with negatives."""

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
        is_used = len(self._raw) < self.max_rows
        for kind in sorted(self.open_kinds):
            self.dropped[f"{kind}: {LIMIT}"] += example.undecided[kind]
            columns = example.columns[kind]
            if columns is None:
                self.dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
            else:
                self._columns[kind].append((len(self._raw), columns))
                is_used = True
        if is_used:
            self._raw.append((example.order, example.raw))

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
            yield from (pickle.loads(raw) for _, raw in sorted(self._raw))
            return
        items = sorted((self._raw[index], columns) for index, columns in self._columns[kind])
        yield from (pickle.loads(raw) | pickle.loads(columns) for (_, raw), columns in items)
