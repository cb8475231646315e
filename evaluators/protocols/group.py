"""Match two images with their two captions: text, image and group score.

Source: Thrush et al. 2022 (Winoground, arXiv:2204.03162), section 3.2, without differences.

Shapes: N items, 2 images, 2 captions; image i belongs to caption i. A tie counts as a loss. Chance: text 1/4, image
1/4, group 1/6.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from evaluators.protocols.base import Directions, QueryMetrics, RowProtocol


def compute_hits(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (bool, N) of the text, image and group score.

    text: each image scores higher with its caption. image: each caption scores higher with its image. group: both.
    ``score_N22[n, i, t]`` is the score of image i with caption t. Raises ValueError if a score is not finite.
    """
    if not np.isfinite(score_N22).all():
        raise ValueError("A score is not a finite number.")
    text_N = (score_N22[:, 0, 0] > score_N22[:, 0, 1]) & (score_N22[:, 1, 1] > score_N22[:, 1, 0])
    image_N = (score_N22[:, 0, 0] > score_N22[:, 1, 0]) & (score_N22[:, 1, 1] > score_N22[:, 0, 1])
    return {"text": text_N, "image": image_N, "group": text_N & image_N}


def find_ties(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return True (bool, N) for items in which two compared scores are equal."""
    text_N = (score_N22[:, :, 0] == score_N22[:, :, 1]).any(axis=1)
    image_N = (score_N22[:, 0] == score_N22[:, 1]).any(axis=1)
    return {"text": text_N, "image": image_N, "group": text_N | image_N}


def compute_chance() -> dict[str, float]:
    """Return the mean hits over all orders of four distinct scores."""
    orders = np.array(list(permutations(range(4))), dtype=float).reshape(-1, 2, 2)
    return {name: float(hit_N.mean()) for name, hit_N in compute_hits(orders).items()}


def evaluate(score_NIT: np.ndarray) -> Directions:
    chance, tie = compute_chance(), find_ties(score_NIT)
    return {
        name: QueryMetrics(
            main="score",
            columns={"hit": hit_N, "tie": tie[name]},
            values={"score": hit_N.astype(np.float64), "tie_rate": tie[name].astype(np.float64)},
            chance={"score": chance[name], "tie_rate": 0.0},
        )
        for name, hit_N in compute_hits(score_NIT).items()
    }


PROTOCOLS = (RowProtocol("group", ("caption_0", "caption_1"), ("image_0", "image_1"), evaluate=evaluate),)
