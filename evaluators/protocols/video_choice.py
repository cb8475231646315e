"""Choose the true caption of a video among wrong captions.

Source: Li et al. 2024 (VITATECS, arXiv:2311.17404), section 4: accuracy on pairs of captions. As in CLIP4Clip's mean
pooling (Luo et al. 2022, arXiv:2104.08860), the feature of a video is the mean of those of its frames: its score with
a caption is the mean over the frames, up to a factor that is the same for all captions of a video. The scores of
models without features are averaged, too. Difference from the papers: the tie rule (ranking.py).

Shapes: N rows, I frames, K captions, of which the first is true. Chance of recall@1 (accuracy): 1 / K.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols import choice
from compeval.evaluators.protocols.base import Directions, RowProtocol

COUNTS = (12,)
"""Numbers of frames per video in the known benchmarks."""


def evaluate(score_NIT: np.ndarray) -> Directions:
    return choice.evaluate(score_NIT.mean(axis=1, keepdims=True))


PROTOCOLS = tuple(
    RowProtocol(
        "video_choice",
        ("caption", "hard_negatives"),
        tuple(f"image_{number}" for number in range(count)),
        evaluate=evaluate,
    )
    for count in COUNTS
)
