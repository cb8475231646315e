"""The interface of a protocol: the columns of its rows, and the metrics of their scores.

Shapes: N rows, I images and T texts per row, Q queries (rows, or captions where each is a query), C classes, P prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class QueryMetrics:
    """The metrics of Q queries."""

    main: str
    """The metric to look at first: a share of hits."""
    columns: Mapping[str, np.ndarray]
    """Columns of the examples table; one is ``rank`` (1: a hit) or ``hit``."""
    values: Mapping[str, np.ndarray]
    """Metric -> its value per query, float64; the metric is their mean."""
    chance: Mapping[str, float]
    medians: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values per query whose median the metric is."""
    of_hits: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values per query whose mean over the hits the metric is; omitted if there is no hit."""
    row_Q: np.ndarray | None = None
    """Row of each query, increasing; None if query q is row q."""

    def summary(self, selected_Q: np.ndarray | slice = slice(None)) -> dict[str, float]:
        """All metrics over the selected queries, as fractions of 1. ValueError if there is no query."""
        if not len(self.values[self.main][selected_Q]):
            raise ValueError("No rows to evaluate.")
        means = {name: float(value_Q[selected_Q].mean()) for name, value_Q in self.values.items()}
        medians = {name: float(np.median(value_Q[selected_Q])) for name, value_Q in self.medians.items()}
        hit_Q = self.values[self.main][selected_Q] == 1
        hits = {name: float(value_Q[selected_Q][hit_Q].mean()) for name, value_Q in self.of_hits.items() if hit_Q.any()}
        return means | medians | hits

    def rows(self, count: int) -> np.ndarray:
        """The row of each query, for a task of ``count`` rows."""
        return np.arange(count) if self.row_Q is None else self.row_Q


@dataclass(frozen=True)
class Sample:
    """The rows of a task; ``image`` and ``text`` return the unit-length features (n, D) of n positions."""

    crop_NI: np.ndarray
    text_NT: np.ndarray
    """-1 where a row has fewer than T texts."""
    fold_N: np.ndarray
    class_CP: np.ndarray
    label_N: np.ndarray
    image: Callable[[np.ndarray], np.ndarray]
    text: Callable[[np.ndarray], np.ndarray]


Directions = dict[str, QueryMetrics]
"""Direction (``i2t``, ``t2i``), the prefix of its metrics -> metrics; ``""`` for protocols with one direction."""


@dataclass(frozen=True)
class Protocol:
    name: str
    texts: tuple[str, ...]
    """Columns of texts or lists of texts; together the T texts of a row, in this order."""
    images: tuple[str, ...] = ("image",)
    """Columns of images; together the I images of a row."""
    label: str | None = None
    """Column of class numbers."""
    classes: Callable[[pa.Schema], list[list[str]]] = lambda schema: []
    """P prompts of each class, from the schema: texts that all rows share."""

    @property
    def crop_ids(self) -> tuple[str, ...]:
        """The columns that identify the pixels of the image columns."""
        return tuple(image.replace("image", "crop_id") for image in self.images)

    @property
    def columns(self) -> tuple[str, ...]:
        """The required columns other than images."""
        return (*self.crop_ids, *self.texts, *([self.label] if self.label else []))


@dataclass(frozen=True)
class RowProtocol(Protocol):
    """Each image of a row is scored with each text of the row, by any model."""

    evaluate: Callable[[np.ndarray], Directions] = field(kw_only=True)
    """Metrics of finite scores (N, I, T), NaN where a row has fewer texts."""
    among_all: Callable[[Sample], Directions] | None = None
    """Further metrics for dual encoders."""


@dataclass(frozen=True)
class SetProtocol(Protocol):
    """Images and texts of different rows are scored with each other, by dual encoders."""

    evaluate: Callable[[Sample], Directions] = field(kw_only=True)


@dataclass(frozen=True)
class TextProtocol(Protocol):
    """Rows without images."""

    images: tuple[str, ...] = ()
    evaluate: Callable[[list[str], list[str]], Directions] = field(kw_only=True)
    """Metrics of the texts that a model recovered and of the original texts."""
