"""Ranks of the truth among wrong candidates, and what is made of them.

Source: CREPE (arXiv:2212.07796), section 3.4. Differs from the authors' scripts in the tie rule: a tie with a wrong
candidate is a loss, whatever the order of the candidates, so an encoder that gives every text the same vector scores 0.

Shapes: N rows, K candidates of a row, Q queries. Scores are similarities, higher is better. Ranks count from 1.
Chance of recall@k among K candidates: k / K; with m truths and W wrong candidates 1 - C(W, k) / C(W + m, k).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np

from evaluators.protocols.base import Answers

CUTOFFS = (1, 3, 5)
"""The k of the paper's Recall@k."""


class Ranks(NamedTuple):
    """What retrieval gave for each of N queries."""

    rank_N: np.ndarray
    """int32, 1 + the number of wrong candidates that score at least what the truth scores."""
    tie_N: np.ndarray
    """bool, whether a wrong candidate scores exactly what the truth scores."""
    wrong_N: np.ndarray
    """int32, number of wrong candidates."""


def ranks(truth_N: np.ndarray, score_NK: np.ndarray, wrong_NK: np.ndarray | None = None) -> Ranks:
    """Rank of the truth's score among the candidates that ``wrong_NK`` marks (all of them by default)."""
    finite_N = np.isfinite(truth_N) & np.isfinite(score_NK).all(axis=1)
    if not finite_N.all():
        raise ValueError(f"Row {int(np.argmin(finite_N))} has a score that is not a finite number.")
    if wrong_NK is None:
        wrong_NK = np.ones(score_NK.shape, dtype=bool)
    at_least_NK = wrong_NK & (score_NK >= truth_N[:, None])
    equal_NK = wrong_NK & (score_NK == truth_N[:, None])
    return Ranks(
        1 + at_least_NK.sum(axis=1, dtype=np.int32), equal_NK.any(axis=1), wrong_NK.sum(axis=1, dtype=np.int32)
    )


def cosine(query_ND: np.ndarray, item_NKD: np.ndarray) -> np.ndarray:
    """Scores (N, K) float32 of unit-length features.

    Summed in float64 and rounded to float32, so that equal features give equal scores wherever they stand: a
    single-precision product may differ in its last bit from column to column, which would hide ties.
    """
    score_NK = np.einsum("nd,nkd->nk", query_ND.astype(np.float64), item_NKD.astype(np.float64))
    return score_NK.astype(np.float32)


def recalls(rank_Q: np.ndarray, fewest_wrong: int) -> dict[str, np.ndarray]:
    """``recall@k`` on each query (float64) for each k below the size of the smallest retrieval set.

    ``avg_recall`` = (R@1 + R@3) / 2, the papers' Avg R@K of Tables 9 to 11.
    """
    values = {f"recall@{k}": (rank_Q <= k).astype(np.float64) for k in CUTOFFS if k <= fewest_wrong}
    if "recall@3" in values:
        values["avg_recall"] = (values["recall@1"] + values["recall@3"]) / 2
    return values


def answers(found: Ranks, truths_Q: np.ndarray | int = 1, row_Q: np.ndarray | None = None) -> Answers:
    """The metrics of ranks, where ``truths_Q`` candidates of each query are true (the best of them was ranked).

    ValueError for a query without a wrong candidate.
    """
    fewest = int(found.wrong_N.min()) if len(found.wrong_N) else max(CUTOFFS)
    if fewest < 1:
        place = int(found.wrong_N.argmin())
        raise ValueError(f"Query {place} has no wrong candidate, so it measures nothing: take more rows (--limit).")
    values = recalls(found.rank_N, fewest) | {"mean_rank": found.rank_N, "tie_rate": found.tie_N}
    return Answers(
        main="recall@1",
        columns={"rank": found.rank_N, "tie": found.tie_N},
        values={name: np.asarray(value_Q, dtype=np.float64) for name, value_Q in values.items()},
        chance=chance(found.wrong_N, truths_Q),
        medians={"median_rank": found.rank_N},
        row_Q=row_Q,
    )


def chance(wrong_Q: np.ndarray | int, truths_Q: np.ndarray | int = 1) -> dict[str, float]:
    """What the metrics tend to when candidates come in a random order: means over queries with their own sets."""
    wrong_Q, truths_Q = np.broadcast_arrays(np.atleast_1d(wrong_Q), truths_Q)
    if not len(wrong_Q):
        return {}
    found = {f"recall@{k}": _hit_by_chance(wrong_Q, truths_Q, k) for k in CUTOFFS if k <= wrong_Q.min()}
    if "recall@3" in found:
        found["avg_recall"] = (found["recall@1"] + found["recall@3"]) / 2
    found["mean_rank"] = float((1 + wrong_Q / (truths_Q + 1)).mean())
    if (truths_Q == 1).all():
        found["median_rank"] = float(np.median(1 + wrong_Q / 2))
    return found | {"tie_rate": 0.0}


def _hit_by_chance(wrong_Q: np.ndarray, truths_Q: np.ndarray, k: int) -> float:
    """Probability that one of the first k is true, in the mean over queries; as exact as fractions are."""
    sizes, counts = np.unique(np.stack([wrong_Q, truths_Q]), axis=1, return_counts=True)
    missed = [Fraction(comb(wrong, k), comb(wrong + truths, k)) for wrong, truths in sizes.T.tolist()]
    return float(1 - sum(share * count for share, count in zip(missed, counts.tolist(), strict=True)) / len(wrong_Q))
