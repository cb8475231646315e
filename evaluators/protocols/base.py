"""What a protocol is: the columns that its rows have, and what it makes of scores.

A protocol is one file of this package with a ``PROTOCOLS`` tuple; ``find`` knows it by the columns of a parquet file.
Shapes: N rows, I images and T texts of a row, Q queries (rows, or captions where each is one), C classes, P prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Answers:
    """What each of Q queries got."""

    main: str
    """The metric to look at first: a share of hits."""
    columns: Mapping[str, np.ndarray]
    """For the table of examples, by name; ``rank`` (hit: 1) or ``hit`` is among them."""
    values: Mapping[str, np.ndarray]
    """Metric -> its value on each query, float64; the metric is their mean."""
    chance: Mapping[str, float]
    medians: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values whose median it is."""
    of_hits: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values whose mean over the queries with a hit it is; there is no such metric without a hit."""
    row_Q: np.ndarray | None = None
    """Position of each query's row, increasing; None where query q is row q."""

    def summary(self, chosen_Q: np.ndarray | slice = slice(None)) -> dict[str, float]:
        """All metrics, over all queries or the chosen ones; shares are fractions of 1. No queries is an error."""
        if not len(self.values[self.main][chosen_Q]):
            raise ValueError("No rows to evaluate.")
        means = {name: float(value_Q[chosen_Q].mean()) for name, value_Q in self.values.items()}
        medians = {name: float(np.median(value_Q[chosen_Q])) for name, value_Q in self.medians.items()}
        hit_Q = self.values[self.main][chosen_Q] == 1
        hits = {name: float(value_Q[chosen_Q][hit_Q].mean()) for name, value_Q in self.of_hits.items() if hit_Q.any()}
        return means | medians | hits

    def rows(self, count: int) -> np.ndarray:
        """The row of each query, of ``count`` rows in all."""
        return np.arange(count) if self.row_Q is None else self.row_Q


@dataclass(frozen=True)
class Sample:
    """The features of a task's rows; ``image`` and ``text`` give unit features (n, D) of some positions."""

    crop_NI: np.ndarray
    text_NT: np.ndarray
    """-1 where a row has fewer texts than the longest."""
    fold_N: np.ndarray
    class_CP: np.ndarray
    label_N: np.ndarray
    image: Callable[[np.ndarray], np.ndarray]
    text: Callable[[np.ndarray], np.ndarray]


Directions = dict[str, Answers]
"""By direction; the metrics' prefix. ``""`` where there is but one."""


def no_classes(schema: pa.Schema) -> list[list[str]]:
    """Rows share no texts."""
    return []


@dataclass(frozen=True)
class Protocol:
    name: str
    texts: tuple[str, ...]
    """Columns of texts or lists of texts; together a row's T texts, in this order."""
    images: tuple[str, ...] = ("image",)
    """Columns of images, a row's I images."""
    label: str | None = None
    """Column of class positions."""
    classes: Callable[[pa.Schema], list[list[str]]] = no_classes
    """Prompts of each class, as many each, from the schema: texts that all rows share."""

    @property
    def crop_ids(self) -> tuple[str, ...]:
        """The columns that say which pixels an image column holds."""
        return tuple(image.replace("image", "crop_id") for image in self.images)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a row must have, pixels aside."""
        return (*self.crop_ids, *self.texts, *([self.label] if self.label else []))


@dataclass(frozen=True)
class RowProtocol(Protocol):
    """Each image of a row is scored with each text of the row, by any model."""

    answers: Callable[[np.ndarray], Directions] = field(kw_only=True)
    """Of finite scores (N, I, T), NaN only where a row has no such text."""
    among_all: Callable[[Sample], Directions] | None = None
    """More, for models that encode images and texts apart."""


@dataclass(frozen=True)
class SetProtocol(Protocol):
    """Images and texts of different rows are scored with each other, by models that encode them apart."""

    answers: Callable[[Sample], Directions] = field(kw_only=True)


@dataclass(frozen=True)
class TextProtocol(Protocol):
    """Texts alone."""

    images: tuple[str, ...] = ()
    answers: Callable[[list[str], list[str]], Directions] = field(kw_only=True)
    """Of the texts and what the model made of them."""
