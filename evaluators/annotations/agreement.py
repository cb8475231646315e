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

from compeval.evaluators.annotations.answers import Answers
from compeval.evaluators.annotations.forms import ANSWERS
from compeval.evaluators.annotations.items import Item
from compeval.evaluators.metrics.intervals import Interval, compute_weighted_interval

_TABLE = pd.read_csv(Path(__file__).with_name("published.csv"), dtype=object)
PUBLISHED: dict[tuple[str, int | None], tuple[float | None, ...]] = {
    (kind, None if pd.isna(number) else int(number)): tuple(
        None if pd.isna(cell) else float(cell) for cell in cells
    )
    for kind, number, *cells in _TABLE.itertuples(index=False)
}
"""(type, complexity) -> accuracy, standard deviation and pairwise agreement in percent.

Source: CREPE, Tables 4 and 7; section 4.3 for all captions, and for all hard negatives of a dataset, together.
"""
POOLED = {
    "productivity": ("prod_hnatom", "prod_hnswap", "prod_hnneg"),
    "systematicity": ("sc_hnatom", "sc_hncomp", "uc_hnatom", "uc_hncomp"),
}
"""Dataset of CREPE -> its types of hard negatives, which have one line together."""


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
    """Return a line per type, per type and complexity, and per dataset of CREPE (POOLED) with several types.

    Raises ValueError if there are no answers.
    """
    rows = pd.DataFrame(
        [
            {**vars(item), "annotator": annotator, "answer": float(ANSWERS.index(by_item[item.id]))}
            | {"is_correct": float(by_item[item.id] == item.expected)}
            for annotator, by_item in answers.items()
            for item in items
            if item.id in by_item
        ]
    )
    if rows.empty:
        raise ValueError(
            "No item of the sample has an answer. Import answers with `compeval annotate import`."
        )
    lines = []
    for kind, of_kind in rows.groupby("type"):
        lines.append(_make_line(str(kind), None, of_kind))
        lines += [
            _make_line(str(kind), int(group["complexity"].iloc[0]), group)
            for _, group in of_kind.groupby("complexity")
        ]
    for name, kinds in POOLED.items():
        pooled = rows[rows["type"].isin(kinds)]
        if pooled["type"].nunique() > 1:
            lines.append(_make_line(name, None, pooled))
    return lines


def _make_line(kind: str, complexity: int | None, rows: pd.DataFrame) -> Line:
    by_annotator = rows.groupby("annotator")["is_correct"]
    accuracy_A = by_annotator.mean()
    weight_N = 1 / by_annotator.transform("size")
    answer_AI = rows.pivot(index="annotator", columns="id", values="answer").to_numpy()
    return Line(
        kind,
        complexity,
        items=rows["id"].nunique(),
        annotators=len(accuracy_A),
        accuracy=float(accuracy_A.mean()),
        deviation=float(accuracy_A.std(ddof=0)),
        interval=compute_weighted_interval(
            rows["is_correct"].to_numpy(), rows["image_id"].to_numpy(), weight_N.to_numpy()
        ),
        agreement=compute_pairwise_agreement(answer_AI),
        alpha=compute_alpha(answer_AI),
    )


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
