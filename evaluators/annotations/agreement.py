"""Accuracy and agreement of annotators, by type and complexity (CREPE's Tables 4 and 7).

Shapes: A annotators, I items. A missing answer is NaN.
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
from evaluators.metrics.statistics import bootstrap_interval

_TABLE = pd.read_csv(Path(__file__).with_name("published.csv"), dtype=object)
PUBLISHED: dict[tuple[str, int | None], tuple[float | None, ...]] = {
    (kind, None if pd.isna(number) else int(number)): tuple(None if pd.isna(cell) else float(cell) for cell in cells)
    for kind, number, *cells in _TABLE.itertuples(index=False)
}
"""(type, complexity) -> accuracy, standard deviation and pairwise agreement in percent.

Source: CREPE, Tables 4 and 7; all captions: section 4.3.
"""


@dataclass(frozen=True)
class Line:
    """One line of the report; shares are fractions of 1, None if undefined.

    ``complexity`` is None for all together; ``accuracy`` and ``deviation`` are the mean and standard deviation of the
    annotators' accuracies; ``interval`` is 95 %, over resampled images.
    """

    type: str
    complexity: int | None
    items: int
    annotators: int
    accuracy: float
    deviation: float
    interval: tuple[float, float]
    agreement: float | None
    alpha: float | None


def report(items: Sequence[Item], answers: Answers) -> list[Line]:
    """A line for each type, and one for each of its complexities. ValueError without answers."""
    answer_AI = matrix(items, answers)
    if not np.isfinite(answer_AI).any():
        raise ValueError("No item of the sample has an answer. `compeval annotate import` reads answers.")
    groups = {(item.type, complexity) for item in items for complexity in (None, item.complexity)}
    lines = []
    for kind, complexity in sorted(groups, key=lambda group: (group[0], group[1] or 0)):
        chosen = [at for at, item in enumerate(items) if item.type == kind and complexity in (None, item.complexity)]
        part_AI = answer_AI[:, chosen]
        if np.isfinite(part_AI).any():
            lines.append(_line(kind, complexity, [items[at] for at in chosen], part_AI))
    return lines


def _line(kind: str, complexity: int | None, items: Sequence[Item], answer_AI: np.ndarray) -> Line:
    given_AI = np.isfinite(answer_AI)
    answered_I, annotated_A = given_AI.any(axis=0), given_AI.any(axis=1)
    expected_I = np.array([ANSWERS.index(item.expected) for item in items])
    correct_AI = np.where(given_AI, answer_AI == expected_I, np.nan)
    accuracy_A = np.nanmean(correct_AI[annotated_A], axis=1)
    images = [items[at].image_id for at in np.flatnonzero(answered_I).tolist()]
    return Line(
        kind,
        complexity,
        items=int(answered_I.sum()),
        annotators=int(annotated_A.sum()),
        accuracy=float(accuracy_A.mean()),
        deviation=float(accuracy_A.std()),
        interval=bootstrap_interval(np.nanmean(correct_AI[:, answered_I], axis=0), images),
        agreement=pairwise_agreement(answer_AI),
        alpha=alpha(answer_AI),
    )


def matrix(items: Sequence[Item], answers: Answers) -> np.ndarray:
    """(A, I): the position of each answer in ANSWERS."""
    position = {answer: float(at) for at, answer in enumerate(ANSWERS)}
    rows = [[position.get(given.get(item.id, ""), np.nan) for item in items] for given in answers.values()]
    return np.array(rows).reshape(len(answers), len(items))


def pairwise_agreement(answer_AI: np.ndarray) -> float | None:
    """Share of equal answers among the items that both annotators of a pair answered, averaged over the pairs."""
    shares = []
    for first_I, second_I in itertools.combinations(answer_AI, 2):
        both_I = np.isfinite(first_I) & np.isfinite(second_I)
        if both_I.any():
            shares.append((first_I[both_I] == second_I[both_I]).mean())
    return float(np.mean(shares)) if shares else None


def alpha(answer_AI: np.ndarray) -> float | None:
    """Krippendorff's alpha of nominal answers; None if no item has two answers or all answers are equal."""
    import krippendorff

    paired_AI = answer_AI[:, np.isfinite(answer_AI).sum(axis=0) > 1]
    if len(np.unique(paired_AI[np.isfinite(paired_AI)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=paired_AI, level_of_measurement="nominal"))
