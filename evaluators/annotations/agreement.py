"""How right a sample is and how far annotators agree, by type and complexity (CREPE's Tables 4 and 7).

Shapes: A annotators, I items. An answer that was not given is nan.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluators.annotations.answers import Answers
from evaluators.annotations.forms import ANSWERS
from evaluators.annotations.items import Item
from evaluators.metrics.statistics import bootstrap_interval

PUBLISHED = {
    ("caption", 7): (88.7, 10.8, None),
    ("caption", 8): (85.7, 7.0, None),
    ("caption", 9): (90.0, 6.0, None),
    ("caption", 10): (87.7, 9.3, None),
    ("caption", 11): (88.1, 7.8, None),
    ("caption", 12): (89.1, 2.9, None),
    ("caption", None): (87.9, None, 88.8),
    ("prod_hnatom", None): (91.6, 4.2, 83.1),
    ("prod_hnswap", None): (70.1, 9.1, 58.5),
    ("prod_hnneg", None): (72.4, 0.0, 59.5),
}
"""Type and complexity -> accuracy, its deviation between annotators, and pairwise agreement, in percent (Tables 4
and 7; all captions: section 4.3)."""


@dataclass(frozen=True)
class Line:
    """One line of the report; shares are fractions of 1, None where nothing can be said."""

    type: str
    complexity: int | None
    """None for all together."""
    items: int
    """With an answer."""
    annotators: int
    accuracy: float
    """The mean of the annotators' own accuracies."""
    deviation: float
    """Their standard deviation (of the annotators that there are)."""
    interval: tuple[float, float]
    """95 %, resampling images."""
    agreement: float | None
    alpha: float | None


def report(items: Sequence[Item], answers: Answers) -> list[Line]:
    """A line for each type, and one for each of its complexities. ValueError if there is no answer."""
    answer_AI = matrix(items, answers)
    if not np.isfinite(answer_AI).any():
        raise ValueError("No item of the sample has an answer. `compeval annotate import` takes them.")
    groups = dict.fromkeys((item.type, None) for item in items) | dict.fromkeys(
        (item.type, item.complexity) for item in items
    )
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
    right_AI = np.where(given_AI, answer_AI == expected_I, np.nan)
    accuracy_A = np.nanmean(right_AI[annotated_A], axis=1)
    images = [items[at].image_id for at in np.flatnonzero(answered_I).tolist()]
    return Line(
        kind,
        complexity,
        int(answered_I.sum()),
        int(annotated_A.sum()),
        float(accuracy_A.mean()),
        float(accuracy_A.std()),
        bootstrap_interval(np.nanmean(right_AI[:, answered_I], axis=0), images),
        pairwise_agreement(answer_AI),
        alpha(answer_AI),
    )


def matrix(items: Sequence[Item], answers: Answers) -> np.ndarray:
    """(A, I): the position of each answer in ANSWERS."""
    answer_AI = np.full((len(answers), len(items)), np.nan)
    for row, found in enumerate(answers.values()):
        for column, item in enumerate(items):
            if item.id in found:
                answer_AI[row, column] = ANSWERS.index(found[item.id])
    return answer_AI


def pairwise_agreement(answer_AI: np.ndarray) -> float | None:
    """The share of equal answers among the items that both of a pair answered, averaged over the pairs."""
    shares = []
    for first_I, second_I in itertools.combinations(answer_AI, 2):
        both_I = np.isfinite(first_I) & np.isfinite(second_I)
        if both_I.any():
            shares.append((first_I[both_I] == second_I[both_I]).mean())
    return float(np.mean(shares)) if shares else None


def alpha(answer_AI: np.ndarray) -> float | None:
    """Krippendorff's alpha of nominal answers; None where no item has two, or all answers are the same."""
    import krippendorff

    paired_AI = answer_AI[:, np.isfinite(answer_AI).sum(axis=0) > 1]
    if len(np.unique(paired_AI[np.isfinite(paired_AI)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=paired_AI, level_of_measurement="nominal"))
