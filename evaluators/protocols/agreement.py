"""Compare the scores of images and their captions with the ratings of people.

Source: Hu et al. 2023 (TIFA, arXiv:2303.11897), Table 2: Spearman's and Kendall's rank correlation; Yarom et al. 2023
(SeeTRUE, arXiv:2305.10400): the area under the ROC curve. A rating above the median counts as a true caption: its
accuracy and ``auc`` are those of true_or_false.py. Ratings are sums over equally many people, which have the same ranks
as their means. TIFA's notebook prints Pearson's correlation as Spearman's.

Shapes: N rows, 1 image, 1 text, a rating. A correlation is a mean over the rows, so that it can be resampled: of the
products of standardised ranks (``spearman``), and of the share of rows ordered alike (``kendall``, tau-b). It is 0 if
all scores are equal. Chance: accuracy and auc as in true_or_false.py, correlations 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compeval.evaluators.protocols import true_or_false
from compeval.evaluators.protocols.base import Directions, RowProtocol

MAX_RATING = 100
ROWS_PER_BLOCK = 256
"""Rows whose order is compared with that of all rows at once."""


def compute_spearman(score_N: np.ndarray, rating_N: np.ndarray) -> np.ndarray:
    """Return products (N) whose mean is Spearman's rank correlation."""
    from scipy import stats  # not at the top: processes that prepare images import this module

    products_N = np.ones(len(score_N))
    for value_N in (score_N, rating_N):
        rank_N = stats.rankdata(value_N)
        products_N *= (rank_N - rank_N.mean()) / (rank_N.std() or 1)
    return products_N


def compute_kendall(score_N: np.ndarray, rating_N: np.ndarray) -> np.ndarray:
    """Return values (N) whose mean is Kendall's tau-b: pairs ordered alike minus pairs ordered differently, over the
    geometric mean of the numbers of pairs without a tie."""
    alike_N = np.zeros(len(score_N))
    untied = np.zeros(2)
    for start in range(0, len(score_N), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        signs_2BN = [
            np.sign(value_N[block, None] - value_N[None]) for value_N in (score_N, rating_N)
        ]
        alike_N[block] = (signs_2BN[0] * signs_2BN[1]).sum(axis=1)
        untied += [np.count_nonzero(sign_BN) for sign_BN in signs_2BN]
    return alike_N * len(score_N) / (np.sqrt(untied.prod()) or 1)


def evaluate(score_N11: np.ndarray, rating_N: np.ndarray) -> Directions:
    """Compute the metrics of true and false captions, and the rank correlations."""
    median = np.median(rating_N)
    is_true_N = rating_N > median if (rating_N > median).any() else rating_N >= median
    metrics = true_or_false.evaluate(score_N11, is_true_N.astype(np.int64))[""]
    score_N = score_N11[:, 0, 0].astype(np.float64)
    rating_N = rating_N.astype(np.float64)
    values = {
        "spearman": compute_spearman(score_N, rating_N),
        "kendall": compute_kendall(score_N, rating_N),
    }
    names = metrics.unbounded | values.keys()
    metrics = metrics.add(values, dict.fromkeys(values, 0.0))
    return {"": replace(metrics, unbounded=names, of_all_rows=frozenset(values))}


CLASSES: list[list[str]] = [[] for _ in range(MAX_RATING + 1)]
"""The possible ratings, without prompts."""
PROTOCOLS = (
    RowProtocol(
        "agreement", ("caption",), label="rating", classes=lambda schema: CLASSES, evaluate=evaluate
    ),
)
