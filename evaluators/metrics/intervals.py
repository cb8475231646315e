"""95 % confidence intervals of shares, differences and means, for rows that share images.

Rows of the same image (cluster) are not independent. A share gets a Wilson interval with an effective number of rows:
the number of independent rows that would have the same variance (Korn & Graubard 1998, Survey Methodology 24(2); with
Wilson's interval: Dean & Pagano 2015, JSSAM 3(4)). Unlike a bootstrap, it holds its level for few rows and for shares
near 0 or 1. For independent rows it is Wilson's interval. The difference of two models on the same rows gets the
adjusted Wald interval of Bonett & Price (2012, J. Educ. Behav. Stat. 37(4)). Other means are bootstrapped
(statistics.py), unless there are too few images.

bench/RESULTS.md has the measured coverage of all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from compeval.evaluators.metrics.statistics import (
    CONFIDENCE,
    Interval,
    bootstrap_interval,
    number_clusters,
)

Clusters = Sequence[str] | np.ndarray
MIN_CLUSTERS = 10
"""With fewer clusters, their variance cannot be estimated, and each cluster counts as one row."""
QUANTILE = 1.959963984540054  # scipy.stats.norm.ppf((1 + CONFIDENCE) / 2), without the second of its import


def compute_intervals(
    values: Mapping[str, np.ndarray], cluster_N: Clusters, unbounded: Collection[str] = ()
) -> dict[str, Interval | None]:
    """Return the interval of the mean of each value (N), or None if there is none.

    ``unbounded`` names the values that are not shares between 0 and 1.
    """
    member_N = number_clusters(cluster_N)
    return {
        name: compute_mean_interval(value_N, member_N)
        if name in unbounded
        else _compute_share_interval(value_N, member_N)
        for name, value_N in values.items()
    }


def compute_share_interval(value_N: np.ndarray, cluster_N: Clusters) -> Interval:
    """Return Wilson's interval of the mean of values between 0 and 1, with an effective number of rows."""
    return _compute_share_interval(value_N, number_clusters(cluster_N))


def _compute_share_interval(value_N: np.ndarray, member_N: np.ndarray) -> Interval:
    """Return the interval, given the number of each row's cluster."""
    share = float(np.mean(value_N))
    rows = _count_effective_rows(value_N, member_N)
    if 0 < share < 1 and (spread := float(np.var(value_N))):
        rows *= share * (1 - share) / spread  # 1 for hits; more for values between 0 and 1
    return wilson_interval(share, rows)


def compute_weighted_interval(
    value_N: np.ndarray, cluster_N: Clusters, weight_N: np.ndarray
) -> Interval:
    """Return Wilson's interval of the weighted mean of values between 0 and 1, such as a mean over tasks."""
    member_N = number_clusters(cluster_N)
    weight_N = weight_N / weight_N.sum()
    clusters = int(member_N.max()) + 1
    share = float(weight_N @ value_N)
    residual_C = np.bincount(member_N, weights=weight_N * (value_N - share))
    variance = float((residual_C**2).sum()) * clusters / (clusters - 1 or 1)
    if clusters < MIN_CLUSTERS or variance == 0:
        return wilson_interval(share, clusters)
    most = 1 / float((weight_N**2).sum())  # Kish's effective number of independent rows
    return wilson_interval(
        share, min(share * (1 - share) / variance, most) if 0 < share < 1 else clusters
    )


def wilson_interval(share: float, rows: float) -> Interval:
    """Return Wilson's score interval of a share of ``rows`` independent rows."""
    weight = QUANTILE**2 / rows
    centre = (share + weight / 2) / (1 + weight)
    half = (share * (1 - share) * weight + weight**2 / 4) ** 0.5 / (1 + weight)
    return (
        0.0 if share == 0 else max(0.0, centre - half),
        1.0 if share == 1 else min(1.0, centre + half),
    )


def compute_difference_interval(difference_N: np.ndarray, cluster_N: Clusters) -> Interval:
    """Return the interval of the mean of paired differences between -1 and 1, with an effective number of rows.

    Two rows are added, with the differences 1 and -1. For hits, this is the interval of Bonett and Price (2012).
    """
    rows = count_effective_rows(difference_N, cluster_N)
    mean = rows * float(np.mean(difference_N)) / (rows + 2)
    mean_square = (rows * float(np.mean(np.square(difference_N))) + 2) / (rows + 2)
    half = QUANTILE * ((mean_square - mean**2) / (rows + 2)) ** 0.5
    return max(-1.0, mean - half), min(1.0, mean + half)


def compute_mean_interval(value_N: np.ndarray, cluster_N: Clusters) -> Interval | None:
    """Return the bootstrap interval of a mean, or None for equal values or too few clusters."""
    if len(np.unique(np.asarray(cluster_N))) < MIN_CLUSTERS or np.ptp(value_N) == 0:
        return None
    return bootstrap_interval(value_N, cluster_N)


def count_effective_rows(value_N: np.ndarray, cluster_N: Clusters) -> float:
    """Return the number of independent rows whose mean has the variance of the mean of ``value_N``.

    At most N. If the variance between clusters cannot be estimated, because all values are equal or there are too few
    clusters, it is the number of clusters. An estimate from C clusters is reduced by Student's quantile with C - 1
    degrees of freedom.
    """
    return _count_effective_rows(value_N, number_clusters(cluster_N))


def _count_effective_rows(value_N: np.ndarray, member_N: np.ndarray) -> float:
    rows = len(member_N)
    clusters = int(member_N.max()) + 1
    if clusters == rows:
        return float(rows)
    residual_N = np.asarray(value_N, dtype=np.float64) - np.mean(value_N)
    independent = float((residual_N**2).sum())
    clustered = (
        float((np.bincount(member_N, weights=residual_N) ** 2).sum())
        * clusters
        / (clusters - 1 or 1)
    )
    if clusters < MIN_CLUSTERS or independent == 0 or clustered == 0:
        return float(clusters)
    design_effect = max(1.0, clustered / independent)
    # The quantile of scipy.stats.t, without the seconds of its import.
    from scipy.special import (
        stdtrit,
    )

    return (
        rows / design_effect * (QUANTILE / float(stdtrit(clusters - 1, (1 + CONFIDENCE) / 2))) ** 2
    )
