"""Rank models on the same rows: paired tests of all pairs of models, and ranks with ties.

Test of a pair: McNemar's test for clustered rows (Durkalski et al. 2003, Stat. Med. 22(15)). With the difference d_c of
the two models summed over the rows of image c, z = sum d_c / sqrt(sum d_c^2). With one row per image it is McNemar's
test without continuity correction. If the models differ on fewer than 25 images, it is the exact sign test of d_c.
p-values are Holm-corrected over all pairs. A model's rank is 1 + the number of models that are significantly better.

Shapes: M models, N rows, C images (clusters).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from compeval.evaluators.metrics.intervals import Clusters
from compeval.evaluators.metrics.statistics import CONFIDENCE, correct_by_holm, number_clusters

MIN_DISCORDANT = 25


class Ranking(NamedTuple):
    """``p_MM`` is Holm-corrected; its diagonal is 1."""

    share_M: np.ndarray
    p_MM: np.ndarray
    rank_M: np.ndarray


def rank(score_MN: np.ndarray, cluster_N: Clusters, weight_N: np.ndarray | None = None) -> Ranking:
    """Rank models by their mean score over rows, which have equal weights by default."""
    share_M, p_MM = compare_all_pairs(score_MN, cluster_N, weight_N)
    corrected_MM = correct_pairs(p_MM)
    return Ranking(share_M, corrected_MM, make_ranks(share_M, corrected_MM))


def compare_all_pairs(
    score_MN: np.ndarray, cluster_N: Clusters, weight_N: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score (M) and the two-sided p-values (M, M) of all pairs, without correction."""
    member_N = number_clusters(cluster_N)
    weight_N = np.ones(len(member_N)) if weight_N is None else weight_N
    total_MC = np.array(
        [
            np.bincount(member_N, weights=weight_N * score_N)
            for score_N in score_MN.astype(np.float64)
        ]
    )
    share_M = total_MC.sum(axis=1) / weight_N.sum()
    p_MM = np.ones((len(total_MC), len(total_MC)))
    for model, total_C in enumerate(total_MC[:-1]):
        p_MM[model, model + 1 :] = p_MM[model + 1 :, model] = _compare(
            total_C - total_MC[model + 1 :]
        )
    return share_M, p_MM


def _compare(difference_KC: np.ndarray) -> np.ndarray:
    """Return the p-values (K) of K pairs of models."""
    from scipy.stats import binom, norm  # takes a second, which finished results need not wait for

    difference_KC = np.where(np.abs(difference_KC) < 1e-12, 0, difference_KC)
    up_K = (difference_KC > 0).sum(axis=1)
    down_K = (difference_KC < 0).sum(axis=1)
    exact_K = np.minimum(1, 2 * binom.cdf(np.minimum(up_K, down_K), up_K + down_K, 0.5))
    spread_K = np.sqrt((difference_KC**2).sum(axis=1))
    z_K = np.divide(
        difference_KC.sum(axis=1), spread_K, out=np.zeros(len(spread_K)), where=spread_K > 0
    )
    return np.where(up_K + down_K < MIN_DISCORDANT, exact_K, 2 * norm.sf(np.abs(z_K)))


def correct_pairs(p_MM: np.ndarray) -> np.ndarray:
    """Return the p-values, Holm-corrected over all pairs."""
    upper = np.triu_indices(len(p_MM), 1)
    corrected_MM = np.ones(p_MM.shape)
    corrected_MM[upper] = corrected_MM.T[upper] = correct_by_holm(p_MM[upper])
    return corrected_MM


def make_ranks(share_M: np.ndarray, p_MM: np.ndarray) -> np.ndarray:
    """Return 1 + the number of models that are significantly better than each model (M)."""
    is_better_MM = (p_MM < 1 - CONFIDENCE) & (share_M[None, :] > share_M[:, None])
    return 1 + is_better_MM.sum(axis=1)
