"""The right caption of an image among wrong ones: hard-negative retrieval, ARO's choices, pick the right caption.

Source: CREPE (arXiv:2212.07796), section 3.4; Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2. Differs in the tie
rule.
Shapes: N rows, 1 image, K captions, the truth first. Chance of recall@1 (accuracy): 1 / K.
"""

from __future__ import annotations

import numpy as np

from evaluators.protocols.base import Directions, RowProtocol
from evaluators.protocols.ranking import Ranks, answers, ranks


def choice(score_NK: np.ndarray) -> Ranks:
    """Ranks for one query with K candidates a row, the truth in column 0."""
    return ranks(score_NK[:, 0], score_NK[:, 1:])


def judge(score_NIT: np.ndarray) -> Directions:
    return {"": answers(choice(score_NIT[:, 0]))}


PROTOCOLS = (RowProtocol("choice", ("caption", "hard_negatives"), answers=judge),)
