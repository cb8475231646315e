"""Choose the true caption of an image among wrong captions: hard-negative retrieval and ARO's tasks.

Source: CREPE (arXiv:2212.07796), section 3.4; Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.
Difference from the papers: the tie rule (ranking.py).

Shapes: N rows, 1 image, K captions, of which the first is true. Chance of recall@1 (accuracy): 1 / K; of ``pairwise``,
the accuracy on pairs of the true and a wrong caption: 1 / 2.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol
from compeval.evaluators.protocols.ranking import Ranks, add_pairwise, compute_ranks, to_metrics


def rank_truth(score_NK: np.ndarray) -> Ranks:
    """Return the rank of the true caption (column 0) among the K captions of each row."""
    return compute_ranks(score_NK[:, 0], score_NK[:, 1:])


def evaluate(score_NIT: np.ndarray) -> Directions:
    ranks = rank_truth(score_NIT[:, 0])
    return {"": add_pairwise(to_metrics(ranks), ranks)}


PROTOCOLS = (RowProtocol("choice", ("caption", "hard_negatives"), evaluate=evaluate),)
