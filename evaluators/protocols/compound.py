"""Choose the image of a compound noun ("coffee mug") among the images of the compound and its two constituents.

Source: Kumar et al. 2024 (Compun), section 3 (one prompt: correct if the compound's image scores higher than both
others) and section 4 (several prompts: correct if its mean score is highest). Difference from the paper: the tie rule
(ranking.py).

Shapes: N compounds, I = 3 images (the first shows the compound), P prompts (scores are NaN if a compound has fewer).
Chance: 1/3, or 1 / number of images if all images of the benchmark are candidates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluators.protocols.base import Directions, RowProtocol, Sample
from evaluators.protocols.ranking import Ranks, compute_ranks, concatenate, to_metrics

ROWS_PER_BLOCK = 1024


def average_over_prompts(score_NIP: np.ndarray) -> np.ndarray:
    """Return the mean score (N, I) over the prompts. Raises ValueError if a row has no prompt."""
    if np.isnan(score_NIP).all(axis=2).any():
        raise ValueError("A row has no prompt.")
    return np.nanmean(score_NIP.astype(np.float64), axis=2).astype(np.float32)


def rank_compound_image(score_NIP: np.ndarray) -> Ranks:
    """Return the rank of the compound's image (index 0) by the mean score over the prompts."""
    mean_NI = average_over_prompts(score_NIP)
    return compute_ranks(mean_NI[:, 0], mean_NI[:, 1:])


def evaluate(score_NIT: np.ndarray) -> Directions:
    """Compute accuracy, margin over the best other image, and similarity.

    Margin and similarity are also averaged over the correct rows only (Figure 4).
    """
    mean_NI = average_over_prompts(score_NIT).astype(np.float64)
    metrics = to_metrics(rank_compound_image(score_NIT))
    extra = {"margin": mean_NI[:, 0] - mean_NI[:, 1:].max(axis=1), "similarity": mean_NI[:, 0]}
    return {
        "": replace(
            metrics,
            columns={**metrics.columns, **extra},
            values={**metrics.values, **extra},
            of_hits={f"{name}_of_correct": value_N for name, value_N in extra.items()},
        )
    }


def evaluate_among_all(sample: Sample) -> Directions:
    """Rank the compound's image among all images of the benchmark (section 6).

    Images of other rows with the same prompts show the same compound and are not candidates.
    """
    crop_I = np.unique(sample.crop_NI)
    image_ID = sample.image(crop_I).astype(np.float64)
    truth_N = np.searchsorted(crop_I, sample.crop_NI[:, 0])
    compound_N = np.unique(sample.text_NT, axis=0, return_inverse=True)[1].ravel()
    blocks = []
    for start in range(0, len(truth_N), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        score_BI = (average_prompt_features(sample.text_NT[block], sample) @ image_ID.T).astype(np.float32)
        row_B, same_compound_B = np.nonzero(compound_N[block, None] == compound_N)
        wrong_BI = np.ones(score_BI.shape, dtype=bool)
        wrong_BI[row_B, truth_N[same_compound_B]] = False
        blocks.append(compute_ranks(score_BI[np.arange(len(score_BI)), truth_N[block]], score_BI, wrong_BI))
    return {"all": to_metrics(concatenate(blocks))}


def average_prompt_features(text_NP: np.ndarray, sample: Sample) -> np.ndarray:
    """Return the mean of each row's prompt features (N, D) float64. An index of -1 means no prompt."""
    is_text_NP = text_NP >= 0
    feature_NPD = sample.text(np.where(is_text_NP, text_NP, text_NP.max()).ravel()).reshape(*text_NP.shape, -1)
    weight_NP = is_text_NP / is_text_NP.sum(axis=1, keepdims=True)
    return np.einsum("np,npd->nd", weight_NP, feature_NPD.astype(np.float64))


PROTOCOLS = (
    RowProtocol(
        "compound", ("prompts",), ("image", "image_n1", "image_n2"), evaluate=evaluate, among_all=evaluate_among_all
    ),
)
