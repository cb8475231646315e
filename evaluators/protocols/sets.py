"""Choose the caption of each image of a set: accuracy per image, per pair of images and per set.

Source: Kamath, Hessel and Chang 2023 (What'sUp, arXiv:2310.19785), section 2: sets of four images whose captions differ
in a preposition. The first two and the last two images are pairs of opposites. Difference from the paper: the tie rule.

Shapes: N sets, I images, I captions; image i belongs to caption i. A tie counts as a loss. Chance: 1 / I per image,
1 / I^2 per pair and 1 / I^I per set.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol, check_finite, count_hits

COUNTS = (4,)
"""Numbers of images per set in the known benchmarks."""


def evaluate(score_NII: np.ndarray) -> Directions:
    """Return the accuracy per image, per pair (``pair``) and per set (``set``).

    ``score_NII[n, i, t]`` is the score of image i with caption t. Raises ValueError if a score is not finite.
    """
    check_finite(score_NII)
    count = score_NII.shape[1]
    truth_NI1 = np.diagonal(score_NII, axis1=1, axis2=2)[..., None]
    wrong_NII = np.where(np.eye(count, dtype=bool), -np.inf, score_NII)
    hit_NI = np.all(truth_NI1 > wrong_NII, axis=2)
    tie_NI = np.any(truth_NI1 == wrong_NII, axis=2)
    return {
        "": count_hits(hit_NI, 1 / count, tie_NI),
        "pair": count_hits(
            np.all(_pairs(hit_NI), axis=2), 1 / count**2, np.any(_pairs(tie_NI), axis=2)
        ),
        "set": count_hits(np.all(hit_NI, axis=1), 1 / count**count, np.any(tie_NI, axis=1)),
    }


def _pairs(value_NI: np.ndarray) -> np.ndarray:
    """Return the values (N, I / 2, 2) of consecutive images."""
    return value_NI.reshape(len(value_NI), -1, 2)


def _columns(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}_{number}" for number in range(count))


PROTOCOLS = tuple(
    RowProtocol("sets", _columns("caption", count), _columns("image", count), evaluate=evaluate)
    for count in COUNTS
)
