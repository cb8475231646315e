"""The right caption of an image among wrong ones: hard-negative retrieval and ARO's choices.

Source: CREPE (arXiv:2212.07796), section 3.4; Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2. Differs in the tie
rule.
Shapes: N rows, 1 image, K captions, the truth first. Chance of recall@1 (accuracy): 1 / K.
"""

from __future__ import annotations

import numpy as np

from evaluators.protocols.base import Directions, RowProtocol
from evaluators.protocols.ranking import Ranks, ranks, to_metrics


def choice(score_NK: np.ndarray) -> Ranks:
    """Ranks of the truth, column 0, among the K candidates of each row."""
    return ranks(score_NK[:, 0], score_NK[:, 1:])


def evaluate(score_NIT: np.ndarray) -> Directions:
    return {"": to_metrics(choice(score_NIT[:, 0]))}


PROTOCOLS = (RowProtocol("choice", ("caption", "hard_negatives"), evaluate=evaluate),)
