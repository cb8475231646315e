"""Retrieval protocols: pure functions on score arrays.

Source: CREPE (arXiv:2212.07796), section 3.4 (hard-negative retrieval) and appendix B.2 (raw K-fold retrieval).
Differs from the authors' scripts in the tie rule: a tie with a wrong candidate is a loss, whatever the order of the
candidates, so an encoder that gives every text the same vector scores 0.

Shapes: N rows, K candidates of a row, M candidates of a whole fold. Scores are similarities, higher is better; a NaN
score is an error. Ranks count from 1. Chance of recall@k: k / K.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

CUTOFFS = (1, 3, 5)
"""The k of the paper's Recall@k."""
MAX_FOLDS = 20
_BLOCK = 1024


class Ranks(NamedTuple):
    """What retrieval gave for each of N rows."""

    rank_N: np.ndarray
    """int32, 1 + the number of wrong candidates that score at least what the truth scores."""
    tie_N: np.ndarray
    """bool, whether a wrong candidate scores exactly what the truth scores."""


def ranks(truth_N: np.ndarray, score_NK: np.ndarray, wrong_NK: np.ndarray | None = None) -> Ranks:
    """Rank of the truth's score among the candidates that ``wrong_NK`` marks (all of them by default)."""
    if not (np.isfinite(truth_N).all() and np.isfinite(score_NK).all()):
        finite_N = np.isfinite(truth_N) & np.isfinite(score_NK).all(axis=1)
        raise ValueError(f"Row {int(np.argmin(finite_N))} has a score that is not a finite number.")
    at_least_NK = score_NK >= truth_N[:, None]
    equal_NK = score_NK == truth_N[:, None]
    if wrong_NK is not None:
        at_least_NK &= wrong_NK
        equal_NK &= wrong_NK
    return Ranks(1 + at_least_NK.sum(axis=1, dtype=np.int32), equal_NK.any(axis=1))


def choice(score_NK: np.ndarray) -> Ranks:
    """Ranks for one query with K candidates a row, the truth in column 0 (image-to-text with hard negatives)."""
    return ranks(score_NK[:, 0], score_NK[:, 1:])


def retrieve(query_ND: np.ndarray, item_ND: np.ndarray, query_group_N: np.ndarray, item_group_N: np.ndarray) -> Ranks:
    """Ranks for N queries that search all N items of a fold; the truth of query i is item i.

    Items of the truth's item group, and items whose query belongs to the query's group, are other true answers: they
    neither win nor lose. (Crops that recur with several captions, captions that recur with several crops.) Unit-length
    features (N, D); works in blocks, so a fold of 200,000 needs no matrix of that size.
    """
    rows = len(query_ND)
    truth_N = cosine(query_ND, item_ND[:, None])[:, 0]
    rank_N, tie_N = np.ones(rows, dtype=np.int32), np.zeros(rows, dtype=bool)
    for top in range(0, rows, _BLOCK):
        query = slice(top, top + _BLOCK)
        query_QD = query_ND[query].astype(np.float64)
        for left in range(0, rows, _BLOCK):
            item = slice(left, left + _BLOCK)
            score_QI = (query_QD @ item_ND[item].astype(np.float64).T).astype(np.float32)
            wrong_QI = (query_group_N[query, None] != query_group_N[None, item]) & (
                item_group_N[query, None] != item_group_N[None, item]
            )
            found = ranks(truth_N[query], score_QI, wrong_QI)
            rank_N[query] += found.rank_N - 1
            tie_N[query] |= found.tie_N
    return Ranks(rank_N, tie_N)


def cosine(query_ND: np.ndarray, item_NKD: np.ndarray) -> np.ndarray:
    """Scores (N, K) float32 of unit-length features.

    Summed in float64 and rounded to float32, so that equal features give equal scores wherever they stand: a
    single-precision product may differ in its last bit from column to column, which would hide ties.
    """
    score_NK = np.einsum("nd,nkd->nk", query_ND.astype(np.float64), item_NKD.astype(np.float64))
    return score_NK.astype(np.float32)


def folds(rows: int, fold_size: int, seed: int) -> Iterator[np.ndarray]:
    """The K folds of appendix B.2, each ``fold_size`` row numbers in increasing order.

    K = min(20, floor(rows / fold_size)). Taken in order from one seeded permutation.
    """
    order = np.random.default_rng(seed).permutation(rows)
    for fold in range(min(MAX_FOLDS, rows // fold_size)):
        yield np.sort(order[fold * fold_size : (fold + 1) * fold_size])


def row_values(rank_N: np.ndarray, set_size: int) -> dict[str, np.ndarray]:
    """The metrics that are means over rows, as their values on each row (float64, shape N).

    ``recall@k`` only for k < set_size; ``avg_recall`` = (R@1 + R@3) / 2, the papers' Avg R@K of Tables 9 to 11.
    """
    values = {f"recall@{k}": (rank_N <= k).astype(np.float64) for k in CUTOFFS if k < set_size}
    if "recall@3" in values:
        values["avg_recall"] = (values["recall@1"] + values["recall@3"]) / 2
    return values


def summary(found: Ranks, set_size: int) -> dict[str, float]:
    """All metrics of N rows; shares are fractions of 1. No rows is an error."""
    if not len(found.rank_N):
        raise ValueError("No rows to evaluate.")
    means = {name: float(value_N.mean()) for name, value_N in row_values(found.rank_N, set_size).items()}
    return means | {
        "mean_rank": float(found.rank_N.mean()),
        "median_rank": float(np.median(found.rank_N)),
        "tie_rate": float(found.tie_N.mean()),
    }


def chance(set_size: int) -> dict[str, float]:
    """What :func:`summary` tends to when the truth's rank is uniform over ``set_size`` candidates."""
    recalls = {f"recall@{k}": k / set_size for k in CUTOFFS if k < set_size}
    if "recall@3" in recalls:
        recalls["avg_recall"] = (recalls["recall@1"] + recalls["recall@3"]) / 2
    return recalls | {"mean_rank": (set_size + 1) / 2, "median_rank": (set_size + 1) / 2, "tie_rate": 0.0}
