"""Confidence intervals and paired tests for rows that share images.

Captions of the same image are not independent, so the bootstrap resamples images (clusters), not rows. The paired tests
compare two models on the same rows: McNemar's exact test compares hits, Wilcoxon's signed-rank test compares ranks.
Both tests assume independent rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

Interval = tuple[float, float]
NUM_RESAMPLES = 1000
CONFIDENCE = 0.95
CLUSTERS_PER_BLOCK = 1_000_000


def bootstrap_interval(
    value_N: np.ndarray, cluster_N: Sequence[str] | np.ndarray, seed: int = 0
) -> Interval:
    """Return the 95 % percentile interval of the mean of ``value_N``. Clusters are resampled with replacement."""
    member_N = number_clusters(cluster_N)
    total_C = np.bincount(member_N, weights=value_N)
    size_C = np.bincount(member_N)
    generator = np.random.default_rng(seed)
    means = []
    for block_size in _split_into_blocks(NUM_RESAMPLES, len(size_C)):
        draw_RC = generator.integers(len(size_C), size=(block_size, len(size_C)))
        means.append(total_C[draw_RC].sum(axis=1) / size_C[draw_RC].sum(axis=1))
    return compute_interval(np.concatenate(means))


def bootstrap_group_means(
    value_N: np.ndarray,
    group_N: Sequence[str] | np.ndarray,
    cluster_N: Sequence[str] | np.ndarray,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> np.ndarray:
    """Return resampled means (R, G) of groups of rows. Groups are sorted by name.

    Clusters get random weights (Bayesian bootstrap, Rubin 1981), so every resample contains every group.
    """
    order_N = np.argsort(np.asarray(group_N), kind="stable")
    starts_G = np.unique(np.asarray(group_N)[order_N], return_index=True)[1]
    member_N = number_clusters(cluster_N)[order_N]
    value_N = np.asarray(value_N, dtype=np.float64)[order_N]
    generator = np.random.default_rng(seed)
    means = []
    for count in _split_into_blocks(num_resamples, len(value_N)):
        weight_RN = generator.standard_exponential((count, member_N.max() + 1))[:, member_N]
        total_RG = np.add.reduceat(weight_RN * value_N, starts_G, axis=1)
        means.append(total_RG / np.add.reduceat(weight_RN, starts_G, axis=1))
    return np.concatenate(means)


def _split_into_blocks(num_resamples: int, width: int) -> Iterator[int]:
    """Yield the sizes of blocks of resamples. A block has at most CLUSTERS_PER_BLOCK elements."""
    step = max(1, CLUSTERS_PER_BLOCK // width)
    for start in range(0, num_resamples, step):
        yield min(step, num_resamples - start)


def compute_interval(value_R: np.ndarray) -> Interval:
    """Return the 95 % percentile interval of resampled values."""
    low, high = np.quantile(value_R, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def number_clusters(cluster_N: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return the number of each row's cluster, from 0."""
    return np.unique(np.asarray(cluster_N), return_inverse=True)[1]


def mcnemar_p(hit_a_N: np.ndarray, hit_b_N: np.ndarray) -> float:
    """Return the two-sided p-value of McNemar's exact test. Returns 1 if both models are right on the same rows."""
    from scipy.stats import binomtest

    only_a = int((hit_a_N & ~hit_b_N).sum())
    only_b = int((hit_b_N & ~hit_a_N).sum())
    return 1.0 if only_a + only_b == 0 else float(binomtest(only_a, only_a + only_b).pvalue)


def wilcoxon_p(rank_a_N: np.ndarray, rank_b_N: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test. Returns 1 if all paired ranks are equal."""
    from scipy.stats import wilcoxon as signed_rank

    difference_N = np.asarray(rank_a_N, dtype=np.int64) - np.asarray(rank_b_N, dtype=np.int64)
    return 1.0 if not difference_N.any() else float(signed_rank(difference_N).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def correct_by_holm(p_values: Sequence[float] | np.ndarray) -> list[float]:
    """Return the p-values, Holm-corrected for the number of tests."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if len(p_values) else []  # pyright: ignore
