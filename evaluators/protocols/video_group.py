"""Match two videos with their two captions: text, image and group score.

Source: Zhang et al. 2024 (Vinoground, arXiv:2410.02763): Winoground's scores (group.py), of videos. ``image_score`` is
their video score. A video is its frames. As in CLIP4Clip's mean pooling (Luo et al. 2022, arXiv:2104.08860), its
feature is the mean of those of its frames, scaled to unit length; the scores of models without features are averaged.
Neither depends on the order of the frames, which is what the captions differ in: what such models score above chance
comes from the content of the frames.

Shapes: N items, I = 2 F frames, of which the first F are video 0, 2 captions, D features; video i belongs to caption i.
A tie counts as a loss. Chance: text 1/4, image 1/4, group 1/6.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols import group
from compeval.evaluators.protocols.base import Directions, RowProtocol, Sample
from compeval.evaluators.protocols.ranking import cosine

COUNTS = (12,)
"""Numbers of frames per video in the known benchmarks."""


def evaluate(score_NIT: np.ndarray) -> Directions:
    """Return the scores of videos whose score with a caption is the mean of their frames' scores."""
    num_items, num_frames, num_captions = score_NIT.shape
    return group.evaluate(
        score_NIT.reshape(num_items, 2, num_frames // 2, num_captions).mean(axis=2)
    )


def evaluate_features(sample: Sample) -> Directions:
    """Return the scores of videos whose feature is the mean of their frames' features."""
    videos = np.split(sample.crop_NI, 2, axis=1)
    return group.evaluate(np.stack([_score_video(sample, frame_NF) for frame_NF in videos], axis=1))


def _score_video(sample: Sample, frame_NF: np.ndarray) -> np.ndarray:
    """Return the cosine similarities (N, 2) of the mean features of videos with the captions of their items.

    Opposite features whose mean is zero have the similarity 0 to everything.
    """
    mean_ND = np.mean([sample.image(frame_N).astype(np.float64) for frame_N in frame_NF.T], axis=0)
    length_N1 = np.linalg.norm(mean_ND, axis=1, keepdims=True)
    text_N2D = sample.text(sample.text_NT.ravel()).reshape(*sample.text_NT.shape, -1)
    return cosine(mean_ND / np.where(length_N1 > 0, length_N1, 1), text_N2D)


PROTOCOLS = tuple(
    RowProtocol(
        "video_group",
        ("caption_0", "caption_1"),
        tuple(f"image_{number}" for number in range(2 * count)),
        evaluate=evaluate,
        among_all=evaluate_features,
    )
    for count in COUNTS
)
