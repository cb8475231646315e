"""Compute accuracy and agreement of annotators by type and complexity of the hard negatives (CREPE's Tables 4 and 7).

Letters at the end of an array's name are its axes: A annotators, I items (``answer_AI``). A missing answer is NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evaluators.annotations.answers import Answers
from evaluators.annotations.forms import ANSWERS
from evaluators.annotations.items import Item
from evaluators.metrics.intervals import Interval, compute_weighted_interval

_TABLE = pd.read_csv(Path(__file__).with_name("published.csv"), dtype=object)
PUBLISHED: dict[tuple[str, int | None], tuple[float | None, ...]] = {
    (kind, None if pd.isna(number) else int(number)): tuple(None if pd.isna(cell) else float(cell) for cell in cells)
    for kind, number, *cells in _TABLE.itertuples(index=False)
}
"""(type, complexity) -> accuracy, standard deviation and pairwise agreement in percent.

Source: CREPE, Tables 4 and 7; section 4.3 for all captions together.
"""


@dataclass(frozen=True)
class Line:
    """One line of the report. Accuracy and agreement are between 0 and 1; undefined values are None.

    ``complexity``: None for all complexities together. ``accuracy``, ``deviation``: mean and standard deviation over
    annotators. ``interval``: 95 % confidence interval of ``accuracy`` (Wilson, images are clusters).
    """

    type: str
    complexity: int | None
    items: int
    annotators: int
    accuracy: float
    deviation: float
    interval: Interval
    agreement: float | None
    alpha: float | None


def make_report(items: Sequence[Item], answers: Answers) -> list[Line]:
    """Return a line per type and a line per type and complexity. Raises ValueError if there are no answers."""
    answer_AI = make_matrix(items, answers)
    if not np.isfinite(answer_AI).any():
        raise ValueError("No item of the sample has an answer. Import answers with `compeval annotate import`.")
    groups = {(item.type, complexity) for item in items for complexity in (None, item.complexity)}
    lines = []
    for kind, complexity in sorted(groups, key=lambda group: (group[0], group[1] or 0)):
        indices = [
            index for index, item in enumerate(items) if item.type == kind and complexity in (None, item.complexity)
        ]
        group_AI = answer_AI[:, indices]
        if np.isfinite(group_AI).any():
            lines.append(_make_line(kind, complexity, [items[index] for index in indices], group_AI))
    return lines


def _make_line(kind: str, complexity: int | None, items: Sequence[Item], answer_AI: np.ndarray) -> Line:
    is_answered_AI = np.isfinite(answer_AI)
    is_answered_I, has_answers_A = is_answered_AI.any(axis=0), is_answered_AI.any(axis=1)
    expected_I = np.array([ANSWERS.index(item.expected) for item in items])
    correct_AI = np.where(is_answered_AI, answer_AI == expected_I, np.nan)
    accuracy_A = np.nanmean(correct_AI[has_answers_A], axis=1)
    image_ids = [items[index].image_id for index in np.flatnonzero(is_answered_I).tolist()]
    return Line(
        kind,
        complexity,
        items=int(is_answered_I.sum()),
        annotators=int(has_answers_A.sum()),
        accuracy=float(accuracy_A.mean()),
        deviation=float(accuracy_A.std()),
        interval=_compute_interval(correct_AI[has_answers_A][:, is_answered_I], image_ids),
        agreement=compute_pairwise_agreement(answer_AI),
        alpha=compute_alpha(answer_AI),
    )


def _compute_interval(correct_AI: np.ndarray, image_ids: Sequence[str]) -> Interval:
    """Return the 95 % interval of the annotators' mean accuracy; images are clusters."""
    annotator_N, item_N = np.nonzero(np.isfinite(correct_AI))
    weight_N = 1 / np.bincount(annotator_N)[annotator_N]
    return compute_weighted_interval(correct_AI[annotator_N, item_N], np.asarray(image_ids)[item_N], weight_N)


def make_matrix(items: Sequence[Item], answers: Answers) -> np.ndarray:
    """Return the answers as indices of ``ANSWERS``, an array of shape (A, I)."""
    index_of = {answer: float(index) for index, answer in enumerate(ANSWERS)}
    rows = [[index_of.get(by_item.get(item.id, ""), np.nan) for item in items] for by_item in answers.values()]
    return np.array(rows).reshape(len(answers), len(items))


def compute_pairwise_agreement(answer_AI: np.ndarray) -> float | None:
    """Return the share of equal answers of two annotators, averaged over all pairs of annotators.

    Returns None if no two annotators answered the same item.
    """
    shares = []
    for first_I, second_I in itertools.combinations(answer_AI, 2):
        both_I = np.isfinite(first_I) & np.isfinite(second_I)
        if both_I.any():
            shares.append((first_I[both_I] == second_I[both_I]).mean())
    return float(np.mean(shares)) if shares else None


def compute_alpha(answer_AI: np.ndarray) -> float | None:
    """Return Krippendorff's alpha (nominal). Returns None if no item has two answers or all answers are equal."""
    import krippendorff

    paired_AI = answer_AI[:, np.isfinite(answer_AI).sum(axis=0) > 1]
    if len(np.unique(paired_AI[np.isfinite(paired_AI)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=paired_AI, level_of_measurement="nominal"))
