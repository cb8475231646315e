"""Match two images with their two captions: text, image and group score.

Source: Thrush et al. 2022 (Winoground, arXiv:2204.03162), section 3.2, without differences.

Shapes: N items, 2 images, 2 captions; image i belongs to caption i. A tie counts as a loss. Chance: text 1/4, image
1/4, group 1/6.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol, check_finite, count_hits

CHANCE = {"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}
"""Share of hits among all orders of four distinct scores."""


def compute_hits(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (bool, N) of the text, image and group score.

    text: each image scores higher with its caption. image: each caption scores higher with its image. group: both.
    ``score_N22[n, i, t]`` is the score of image i with caption t. Raises ValueError if a score is not finite.
    """
    check_finite(score_N22)
    text_N = (score_N22[:, 0, 0] > score_N22[:, 0, 1]) & (score_N22[:, 1, 1] > score_N22[:, 1, 0])
    image_N = (score_N22[:, 0, 0] > score_N22[:, 1, 0]) & (score_N22[:, 1, 1] > score_N22[:, 0, 1])
    return {"text": text_N, "image": image_N, "group": text_N & image_N}


def find_ties(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return True (bool, N) for items in which two compared scores are equal."""
    text_N = (score_N22[:, :, 0] == score_N22[:, :, 1]).any(axis=1)
    image_N = (score_N22[:, 0] == score_N22[:, 1]).any(axis=1)
    return {"text": text_N, "image": image_N, "group": text_N | image_N}


def evaluate(score_NIT: np.ndarray) -> Directions:
    ties = find_ties(score_NIT)
    hits = compute_hits(score_NIT)
    return {
        name: count_hits(hit_N, CHANCE[name], ties[name], "score") for name, hit_N in hits.items()
    }


PROTOCOLS = (
    RowProtocol("group", ("caption_0", "caption_1"), ("image_0", "image_1"), evaluate=evaluate),
)
