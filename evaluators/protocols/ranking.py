"""Compute the rank of the truth among wrong candidates, and metrics of ranks.

Source: CREPE (arXiv:2212.07796), section 3.4. Difference from the authors' scripts: the tie rule. A tie with a wrong
candidate counts as a loss, independent of the order of the candidates, so a constant encoder scores 0.

Shapes: N rows, K candidates per row, Q queries. Scores are similarities: higher is better. The best rank is 1. Chance
of recall@k: k / K with one truth among K candidates; 1 - C(W, k) / C(W + m, k) with m truths and W wrong candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any, NamedTuple

import numpy as np

from compeval.evaluators.protocols.base import QueryMetrics

CUTOFFS = (1, 3, 5)
"""The values of k for Recall@k in the paper."""


class Ranks(NamedTuple):
    """Retrieval ranks of N queries."""

    rank_N: np.ndarray
    """int32: 1 + number of wrong candidates that score at least as high as the truth."""
    tie_N: np.ndarray
    """bool: True if a wrong candidate has the same score as the truth."""
    wrong_N: np.ndarray
    """int32: number of wrong candidates."""


def compute_ranks(
    truth_N: np.ndarray, score_NK: np.ndarray, wrong_NK: np.ndarray | None = None
) -> Ranks:
    """Return the rank of each truth among the wrong candidates.

    ``wrong_NK``: True for wrong candidates; by default, all K candidates are wrong. Raises ValueError if a score is not
    finite.
    """
    finite_N = np.isfinite(truth_N) & np.isfinite(score_NK).all(axis=1)
    if not finite_N.all():
        raise ValueError(f"Row {int(np.argmin(finite_N))} has a score that is not a finite number.")
    if wrong_NK is None:
        wrong_NK = np.ones(score_NK.shape, dtype=bool)
    at_least_NK = wrong_NK & (score_NK >= truth_N[:, None])
    equal_NK = wrong_NK & (score_NK == truth_N[:, None])
    return Ranks(
        1 + at_least_NK.sum(axis=1, dtype=np.int32),
        equal_NK.any(axis=1),
        wrong_NK.sum(axis=1, dtype=np.int32),
    )


def concatenate(blocks: Sequence[Ranks]) -> Ranks:
    """Concatenate the ranks of consecutive blocks of queries."""
    return Ranks(*map(np.concatenate, zip(*blocks, strict=True)))


def cosine(query_ND: np.ndarray, item_NKD: np.ndarray) -> np.ndarray:
    """Return the cosine similarities (N, K) float32 of unit-length features.

    Sums are computed in float64 and rounded to float32, so that equal features have equal scores. In float32, the last
    bit of a product can depend on the column, which would hide ties.
    """
    return cosine_in_float64(query_ND, item_NKD).astype(np.float32)


def cosine_in_float64(query_ND: np.ndarray, item_NKD: np.ndarray) -> np.ndarray:
    """Return the cosine similarities (N, K) of unit-length features, before they are rounded."""
    return np.einsum("nd,nkd->nk", query_ND.astype(np.float64), item_NKD.astype(np.float64))


def to_metrics(
    ranks: Ranks, truths_Q: np.ndarray | int = 1, row_Q: np.ndarray | None = None
) -> QueryMetrics:
    """Compute recall@k for each k below the smallest set size, ``avg_recall``, mean and median rank, and tie rate.

    ``avg_recall`` is (R@1 + R@3) / 2, the "Avg R@K" of CREPE's Tables 9 to 11. ``truths_Q``: number of true candidates
    per query, of which the best is ranked. Raises ValueError if a query has no wrong candidate.
    """
    fewest_wrong = int(ranks.wrong_N.min(initial=max(CUTOFFS)))
    if fewest_wrong < 1:
        query = int(ranks.wrong_N.argmin())
        raise ValueError(f"Query {query} has no wrong candidate, so its rank is meaningless.")
    values: dict[str, np.ndarray] = {
        f"recall@{k}": ranks.rank_N <= k for k in CUTOFFS if k <= fewest_wrong
    }
    if "recall@3" in values:
        values["avg_recall"] = (values["recall@1"].astype(np.float64) + values["recall@3"]) / 2
    values |= {"mean_rank": ranks.rank_N, "tie_rate": ranks.tie_N}
    return QueryMetrics(
        main="recall@1",
        columns={"rank": ranks.rank_N, "tie": ranks.tie_N},
        values={name: value_Q.astype(np.float64) for name, value_Q in values.items()},
        chance=compute_chance(ranks.wrong_N, truths_Q),
        medians={"median_rank": ranks.rank_N},
        row_Q=row_Q,
    )


BY_INDEX = "_by_index"
"""End of the names of metrics of retrieval for which equal texts or images of different rows are different items."""

PAIRWISE = "pairwise"
"""Metric: the share of pairs of the truth and a wrong candidate that are ordered rightly; chance 1/2."""


def add_pairwise(metrics: QueryMetrics, ranks: Ranks) -> QueryMetrics:
    """Add the pairwise accuracy. A pair with equal scores is wrong.

    A rule that compares candidates with each other has nothing to compare in a pair: the medoid is at chance.
    """
    return metrics.add({PAIRWISE: compute_pairwise(ranks.rank_N, ranks.wrong_N)}, {PAIRWISE: 0.5})


def compute_pairwise(rank_N: np.ndarray, wrong_N: np.ndarray | int) -> np.ndarray:
    """Return the share of pairs that are ordered rightly (N), from ranks and numbers of wrong candidates."""
    return 1 - (rank_N - 1) / wrong_N


def has_pairs(result: Mapping[str, Any]) -> bool:
    """Return True if a result has an accuracy on pairs that is not its Recall@1, as with two candidates."""
    chance = result["chance"]
    return PAIRWISE in result["metrics"] and chance[PAIRWISE] != chance.get("recall@1")


def list_main_metrics(result: Mapping[str, Any]) -> list[str]:
    """Return the main metrics of a result, each with its value by index, and the accuracy on pairs if it differs."""
    of_main = (name for main in result["main"] for name in (main, f"{main}{BY_INDEX}"))
    metrics = [name for name in of_main if name in result["main"] or name in result["metrics"]]
    return [*metrics, *([PAIRWISE] if has_pairs(result) else [])]


def is_on_request(metric: str) -> bool:
    """Return True for metrics that tables show on request only.

    They are means over atoms, the accuracy on pairs, and retrieval by index.
    """
    return metric == PAIRWISE or metric.endswith(("_macro_atoms", BY_INDEX))


def compute_chance(wrong_Q: np.ndarray | int, truths_Q: np.ndarray | int = 1) -> dict[str, float]:
    """Return the expected metrics if candidates are in random order, as mean over the queries."""
    wrong_Q, truths_Q = np.broadcast_arrays(np.atleast_1d(wrong_Q), truths_Q)
    if not len(wrong_Q):
        return {}
    metrics = {
        f"recall@{k}": _expected_recall(wrong_Q, truths_Q, k) for k in CUTOFFS if k <= wrong_Q.min()
    }
    if "recall@3" in metrics:
        metrics["avg_recall"] = (metrics["recall@1"] + metrics["recall@3"]) / 2
    metrics["mean_rank"] = float((1 + wrong_Q / (truths_Q + 1)).mean())
    if (truths_Q == 1).all():
        metrics["median_rank"] = float(np.median(1 + wrong_Q / 2))
        metrics["floored_median_rank"] = float(np.floor(metrics["median_rank"]))
    return metrics | {"tie_rate": 0.0}


def compute_missed(wrong_N: np.ndarray, truths_N: np.ndarray, k_N: np.ndarray) -> np.ndarray:
    """Return the probability (N) that none of the first k candidates is true, if they are in random order.

    It is C(wrong, k) / C(wrong + truths, k), and 1 for k below 1.
    """
    from scipy.special import binom  # the list of tasks need not wait for it

    drawn_N = np.clip(k_N, 0, wrong_N + truths_N)
    missed_N = binom(wrong_N, drawn_N) / binom(wrong_N + truths_N, drawn_N)
    return np.where(drawn_N > wrong_N, 0.0, missed_N)


def _expected_recall(wrong_Q: np.ndarray, truths_Q: np.ndarray, k: int) -> float:
    """Return the probability that one of the first k candidates is true, averaged over the queries.

    Computed with exact fractions.
    """
    sizes, counts = np.unique(np.stack([wrong_Q, truths_Q]), axis=1, return_counts=True)
    missed = [
        Fraction(comb(wrong, k), comb(wrong + truths, k)) for wrong, truths in sizes.T.tolist()
    ]
    return float(
        1
        - sum(share * count for share, count in zip(missed, counts.tolist(), strict=True))
        / len(wrong_Q)
    )
