"""Test whether hits depend on a property of the rows, such as the complexity of the caption.

One linear regression over all rows: hit = slope * x + level of the group (the model), with standard errors clustered on
images (Liang & Zeger 1986) and Student's t with C - 1 degrees of freedom for C images. The slope is in shares per unit
of x; if x is 0 or 1, it is a difference of means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from compeval.evaluators.metrics.intervals import MIN_CLUSTERS, Clusters
from compeval.evaluators.metrics.statistics import CONFIDENCE, number_clusters


class Slope(NamedTuple):
    """The slope with its 95 % interval and two-sided p-value."""

    slope: float
    low: float
    high: float
    p: float

    @property
    def is_significant(self) -> bool:
        return self.p < 1 - CONFIDENCE


def regress(
    hit_N: np.ndarray, x_N: np.ndarray, group_N: Sequence[str] | np.ndarray, cluster_N: Clusters
) -> Slope | None:
    """Regress the hits on x within groups.

    Returns None if there is nothing to test: fewer than ten images, equal x, or equal hits.
    """
    from statsmodels.regression.linear_model import OLS

    group_N, member_N = (number_clusters(values) for values in (group_N, cluster_N))
    if (
        member_N.max(initial=-1) + 1 < MIN_CLUSTERS
        or np.all(x_N == x_N[0])
        or np.all(hit_N == hit_N[0])
    ):
        return None
    design = np.column_stack([x_N, np.eye(group_N.max() + 1)[group_N]]).astype(np.float64)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": member_N}, "use_t": True}
    fit = OLS(np.asarray(hit_N, dtype=np.float64), design).fit(**options)
    low, high = fit.conf_int(1 - CONFIDENCE)[0]
    return Slope(float(fit.params[0]), float(low), float(high), float(fit.pvalues[0]))
