"""The interface of a protocol: the columns that it reads and the metrics that it computes.

Shapes: N rows, I images and T texts per row, Q queries (rows, or captions if each caption is a query), C classes, P
prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from compeval.evaluators.protocols.reranking import ReRanking


@dataclass(frozen=True)
class QueryMetrics:
    """The metrics of Q queries."""

    main: str
    """Name of the main metric, which is a share of hits."""
    columns: Mapping[str, np.ndarray]
    """Columns of the per-example table. One column is ``rank`` (1 is a hit) or ``hit``."""
    values: Mapping[str, np.ndarray]
    """Metric -> values per query (float64). The metric is the mean over the queries."""
    chance: Mapping[str, float]
    medians: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values per query. The metric is the median over the queries; ``floored_<metric>`` is its integer part,
    which the scripts of CREPE and open_clip print."""
    of_hits: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Metric -> values per query. The metric is the mean over the hits; it is omitted if there is no hit."""
    unbounded: frozenset[str] = frozenset({"mean_rank"})
    """Metrics that are not shares between 0 and 1."""
    of_all_rows: frozenset[str] = frozenset()
    """Metrics that compare all rows, such as a correlation: their mean over some of the rows has no meaning."""
    row_Q: np.ndarray | None = None
    """Row of each query, in increasing order. None: query q is row q."""

    def summarise(self, selected_Q: np.ndarray | slice = slice(None)) -> dict[str, float]:
        """Compute all metrics over the selected queries. Raises ValueError if no query is selected."""
        if not len(self.values[self.main][selected_Q]):
            raise ValueError("No rows to evaluate.")
        means = {name: float(value_Q[selected_Q].mean()) for name, value_Q in self.values.items()}
        medians = {
            name: float(np.median(value_Q[selected_Q])) for name, value_Q in self.medians.items()
        }
        medians |= {f"floored_{name}": float(np.floor(median)) for name, median in medians.items()}
        hit_Q = self.values[self.main][selected_Q] == 1
        hits = {
            name: float(value_Q[selected_Q][hit_Q].mean())
            for name, value_Q in self.of_hits.items()
            if hit_Q.any()
        }
        return means | medians | hits

    def add(self, values: Mapping[str, np.ndarray], chance: Mapping[str, float]) -> QueryMetrics:
        """Return the metrics and further means over the queries."""
        return replace(self, values={**self.values, **values}, chance={**self.chance, **chance})

    def get_rows(self, count: int) -> np.ndarray:
        """Return the row of each query in a task with ``count`` rows."""
        return np.arange(count) if self.row_Q is None else self.row_Q


def count_hits(
    hits: np.ndarray, chance: float, ties: np.ndarray | None = None, main: str = "accuracy"
) -> QueryMetrics:
    """Return the share of hits among decisions as the metric ``main``, and the tie rate if ``ties`` is given.

    ``hits`` and ``ties`` have one decision per row (bool, N) or D decisions per row (bool, N, D).
    """
    row_Q = np.repeat(np.arange(len(hits)), hits.shape[1]) if hits.ndim == 2 else None
    columns = {"hit": hits.ravel()}
    values = {main: hits.ravel().astype(np.float64)}
    chances = {main: chance}
    if ties is not None:
        columns["tie"] = ties.ravel()
        values["tie_rate"], chances["tie_rate"] = columns["tie"].astype(np.float64), 0.0
    return QueryMetrics(main, columns, values, chances, row_Q=row_Q)


def check_finite(*scores: np.ndarray) -> None:
    """Raise ValueError if a score is not finite."""
    if not all(np.isfinite(score).all() for score in scores):
        raise ValueError("A score is not a finite number.")


@dataclass(frozen=True)
class Sample:
    """The rows of a task, as indices of images and texts.

    ``image`` and ``text`` return the unit-length features (n, D) of n indices.
    """

    crop_NI: np.ndarray
    text_NT: np.ndarray
    """-1 if a row has fewer than T texts."""
    fold_N: np.ndarray
    class_CP: np.ndarray
    label_N: np.ndarray
    image: Callable[[np.ndarray], np.ndarray]
    text: Callable[[np.ndarray], np.ndarray]
    reranking: ReRanking | None = None
    """Re-ranking of the best candidates of a retrieval set; None for models that do not re-rank."""


Directions = dict[str, QueryMetrics]
"""Direction -> metrics. The direction (``i2t``, ``t2i``) is the prefix of the metric names; it is ``""`` for protocols
with one direction."""


@dataclass(frozen=True)
class Protocol:
    name: str
    texts: tuple[str, ...]
    """Columns with a text or a list of texts. Together, in this order, they are the T texts of a row."""
    images: tuple[str, ...] = ("image",)
    """Columns with an image. Together they are the I images of a row."""
    label: str | None = None
    """Column with the class index."""
    classes: Callable[[pa.Schema], list[list[str]]] = lambda schema: []
    """Function that returns the P prompts of each class, given the schema of the file."""

    @property
    def crop_ids(self) -> tuple[str, ...]:
        """The columns with the crop ids of the image columns. Equal ids mean equal pixels."""
        return tuple(image.replace("image", "crop_id") for image in self.images)

    @property
    def columns(self) -> tuple[str, ...]:
        """The required columns, except for the image columns."""
        return (*self.crop_ids, *self.texts, *([self.label] if self.label else []))

    @property
    def num_columns(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class RowProtocol(Protocol):
    """Protocol in which each image of a row is scored with each text of the row. Supports all models with images."""

    evaluate: Callable[..., Directions] = field(kw_only=True)
    """Function that computes the metrics from scores (N, I, T), which are NaN if a row has fewer texts, and from the
    labels (N) if the protocol has a label."""
    among_all: Callable[[Sample], Directions] | None = None
    """Function that computes metrics from the features of all rows, for dual encoders only. They replace those of
    ``evaluate`` with the same direction."""
    of_texts: Callable[[Sample], Directions] | None = None
    """Function that computes additional metrics from the texts alone, for dual encoders and for pure text encoders."""

    def compute(self, score_NIT: np.ndarray, label_N: np.ndarray) -> Directions:
        """Compute the metrics. Labels are ignored if the protocol has none."""
        return self.evaluate(score_NIT, label_N) if self.label else self.evaluate(score_NIT)


@dataclass(frozen=True)
class SetProtocol(Protocol):
    """Protocol in which images and texts of different rows are scored with each other.

    Supports dual encoders only, and for retrieval also models that re-rank.
    """

    evaluate: Callable[[Sample], Directions] = field(kw_only=True)


@dataclass(frozen=True)
class TextProtocol(Protocol):
    """Protocol for rows without images."""

    images: tuple[str, ...] = ()
    evaluate: Callable[[list[str], list[str]], Directions] = field(kw_only=True)
    """Function that computes the metrics, given the recovered texts and the original texts."""
