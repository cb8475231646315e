"""Ranks of the truth among wrong candidates, and their metrics.

Source: CREPE (arXiv:2212.07796), section 3.4. Differs from the authors' scripts in the tie rule: a tie with a wrong
candidate is a loss, whatever the order of the candidates, so a constant encoder scores 0.

Shapes: N rows, K candidates per row, Q queries. Scores are similarities, higher is better. Ranks count from 1.
Chance of recall@k among K candidates: k / K; with m truths and W wrong candidates 1 - C(W, k) / C(W + m, k).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np

from evaluators.protocols.base import QueryMetrics

CUTOFFS = (1, 3, 5)
"""The k of the paper's Recall@k."""


class Ranks(NamedTuple):
    """Retrieval ranks of N queries."""

    rank_N: np.ndarray
    """int32, 1 + the number of wrong candidates with at least the truth's score."""
    tie_N: np.ndarray
    """bool, True if a wrong candidate has exactly the truth's score."""
    wrong_N: np.ndarray
    """int32, number of wrong candidates."""


def ranks(truth_N: np.ndarray, score_NK: np.ndarray, wrong_NK: np.ndarray | None = None) -> Ranks:
    """Rank of the truth's score among the candidates that ``wrong_NK`` marks (default: all)."""
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


def concatenate(blocks: Sequence[Ranks]) -> Ranks:
    """The ranks of consecutive blocks of queries."""
    return Ranks(*map(np.concatenate, zip(*blocks, strict=True)))


def cosine(query_ND: np.ndarray, item_NKD: np.ndarray) -> np.ndarray:
    """Scores (N, K) float32 of unit-length features.

    Summed in float64 and rounded to float32, so that equal features have equal scores: a single-precision product may
    differ in its last bit from column to column, which would hide ties.
    """
    score_NK = np.einsum("nd,nkd->nk", query_ND.astype(np.float64), item_NKD.astype(np.float64))
    return score_NK.astype(np.float32)


def to_metrics(found: Ranks, truths_Q: np.ndarray | int = 1, row_Q: np.ndarray | None = None) -> QueryMetrics:
    """recall@k for each k below the smallest set size, Avg R@K, mean and median rank and tie rate.

    ``avg_recall`` = (R@1 + R@3) / 2, the papers' Avg R@K of Tables 9 to 11. ``truths_Q``: number of true candidates per
    query, the best of which is ranked. ValueError for a query without wrong candidates.
    """
    fewest_wrong = int(found.wrong_N.min(initial=max(CUTOFFS)))
    if fewest_wrong < 1:
        query = int(found.wrong_N.argmin())
        raise ValueError(f"Query {query} has no wrong candidate, so it measures nothing: take more rows (--limit).")
    values: dict[str, np.ndarray] = {f"recall@{k}": found.rank_N <= k for k in CUTOFFS if k <= fewest_wrong}
    if "recall@3" in values:
        values["avg_recall"] = (values["recall@1"].astype(np.float64) + values["recall@3"]) / 2
    values |= {"mean_rank": found.rank_N, "tie_rate": found.tie_N}
    return QueryMetrics(
        main="recall@1",
        columns={"rank": found.rank_N, "tie": found.tie_N},
        values={name: value_Q.astype(np.float64) for name, value_Q in values.items()},
        chance=chance(found.wrong_N, truths_Q),
        medians={"median_rank": found.rank_N},
        row_Q=row_Q,
    )


def chance(wrong_Q: np.ndarray | int, truths_Q: np.ndarray | int = 1) -> dict[str, float]:
    """Expected metrics of candidates in random order, as mean over the queries."""
    wrong_Q, truths_Q = np.broadcast_arrays(np.atleast_1d(wrong_Q), truths_Q)
    if not len(wrong_Q):
        return {}
    metrics = {f"recall@{k}": _expected_recall(wrong_Q, truths_Q, k) for k in CUTOFFS if k <= wrong_Q.min()}
    if "recall@3" in metrics:
        metrics["avg_recall"] = (metrics["recall@1"] + metrics["recall@3"]) / 2
    metrics["mean_rank"] = float((1 + wrong_Q / (truths_Q + 1)).mean())
    if (truths_Q == 1).all():
        metrics["median_rank"] = float(np.median(1 + wrong_Q / 2))
    return metrics | {"tie_rate": 0.0}


def _expected_recall(wrong_Q: np.ndarray, truths_Q: np.ndarray, k: int) -> float:
    """Probability that one of the first k candidates is true, as mean over the queries, in exact fractions."""
    sizes, counts = np.unique(np.stack([wrong_Q, truths_Q]), axis=1, return_counts=True)
    missed = [Fraction(comb(wrong, k), comb(wrong + truths, k)) for wrong, truths in sizes.T.tolist()]
    return float(1 - sum(share * count for share, count in zip(missed, counts.tolist(), strict=True)) / len(wrong_Q))
