"""Intervals and paired tests for scores of rows that share images.

Several captions of one image are not independent, so the bootstrap draws images (clusters), not rows. Paired tests
compare two models on the same rows: McNemar's exact test on hits, Wilcoxon's signed-rank test on ranks; both treat rows
as independent, the interval of the difference does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 1000
CONFIDENCE = 0.95
_CLUSTERS_A_DRAW = 1_000_000


def bootstrap_interval(
    value_N: np.ndarray, cluster_N: Sequence[str] | np.ndarray, seed: int = 0
) -> tuple[float, float]:
    """95 % percentile interval of the mean of ``value_N``, resampling whole clusters with replacement."""
    _, member_N = np.unique(np.asarray(cluster_N), return_inverse=True)
    total_C = np.bincount(member_N, weights=value_N)
    size_C = np.bincount(member_N)
    clusters = len(size_C)
    generator = np.random.default_rng(seed)
    step = max(1, _CLUSTERS_A_DRAW // clusters)
    mean_R = np.concatenate(
        [
            _resampled_means(
                generator.integers(clusters, size=(min(step, RESAMPLES - start), clusters)), total_C, size_C
            )
            for start in range(0, RESAMPLES, step)
        ]
    )
    low, high = np.quantile(mean_R, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _resampled_means(draw_RC: np.ndarray, total_C: np.ndarray, size_C: np.ndarray) -> np.ndarray:
    return total_C[draw_RC].sum(axis=1) / size_C[draw_RC].sum(axis=1)


def mcnemar(hit_a_N: np.ndarray, hit_b_N: np.ndarray) -> float:
    """Two-sided p of the exact McNemar test on rows that only one of two models gets right; 1 if there are none."""
    from scipy.stats import binomtest

    only_a = int((hit_a_N & ~hit_b_N).sum())
    only_b = int((hit_b_N & ~hit_a_N).sum())
    return 1.0 if only_a + only_b == 0 else float(binomtest(only_a, only_a + only_b).pvalue)


def wilcoxon(rank_a_N: np.ndarray, rank_b_N: np.ndarray) -> float:
    """Two-sided p of Wilcoxon's signed-rank test on paired ranks; 1 where no rank differs."""
    from scipy.stats import wilcoxon as signed_rank

    difference_N = np.asarray(rank_a_N, dtype=np.int64) - np.asarray(rank_b_N, dtype=np.int64)
    return 1.0 if not difference_N.any() else float(signed_rank(difference_N).pvalue)  # pyright: ignore[reportAttributeAccessIssue]
