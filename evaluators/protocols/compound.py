"""The image of a compound noun among the images of its constituents, by one prompt or the mean over several.

Source: Kumar et al. 2024 (Compun), section 3 (template: correct iff the compound's image scores above both others) and
section 4 (the image with the largest mean score over the prompts). Differs in the tie rule.
Shapes: N compounds, 3 images (the compound's first), P prompts, NaN where a compound has fewer. Chance: 1/3; among all
images 1 over their number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluators.protocols.base import Directions, RowProtocol, Sample
from evaluators.protocols.ranking import Ranks, concatenate, ranks, to_metrics

ROWS_PER_BLOCK = 1024


def prompt_mean(score_NIP: np.ndarray) -> np.ndarray:
    """Mean score (N, I) over the prompts. ValueError for a row without prompts."""
    if np.isnan(score_NIP).all(axis=2).any():
        raise ValueError("A row has no prompt.")
    return np.nanmean(score_NIP.astype(np.float64), axis=2).astype(np.float32)


def compound(score_NIP: np.ndarray) -> Ranks:
    """Rank of the compound's image, the first, by mean score over the prompts."""
    mean_NI = prompt_mean(score_NIP)
    return ranks(mean_NI[:, 0], mean_NI[:, 1:])


def evaluate(score_NIT: np.ndarray) -> Directions:
    """Accuracy, the margin over the best other image and the similarity, the last two also over the hits (Figure 4)."""
    mean_NI = prompt_mean(score_NIT).astype(np.float64)
    metrics = to_metrics(compound(score_NIT))
    extra = {"margin": mean_NI[:, 0] - mean_NI[:, 1:].max(axis=1), "similarity": mean_NI[:, 0]}
    return {
        "": replace(
            metrics,
            columns={**metrics.columns, **extra},
            values={**metrics.values, **extra},
            of_hits={f"{name}_of_correct": value_N for name, value_N in extra.items()},
        )
    }


def among_all(sample: Sample) -> Directions:
    """Rank of the compound's image among all images of the benchmark (section 6).

    Other renderings of the same compound (rows with the same prompts) are neither right nor wrong.
    """
    crop_I = np.unique(sample.crop_NI)
    image_ID = sample.image(crop_I).astype(np.float64)
    truth_N = np.searchsorted(crop_I, sample.crop_NI[:, 0])
    compound_N = np.unique(sample.text_NT, axis=0, return_inverse=True)[1].ravel()
    blocks = []
    for start in range(0, len(truth_N), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        score_BI = (mean_prompt_feature(sample.text_NT[block], sample) @ image_ID.T).astype(np.float32)
        row_B, rendering_B = np.nonzero(compound_N[block, None] == compound_N)
        wrong_BI = np.ones(score_BI.shape, dtype=bool)
        wrong_BI[row_B, truth_N[rendering_B]] = False
        blocks.append(ranks(score_BI[np.arange(len(score_BI)), truth_N[block]], score_BI, wrong_BI))
    return {"all": to_metrics(concatenate(blocks))}


def mean_prompt_feature(text_NP: np.ndarray, sample: Sample) -> np.ndarray:
    """Mean of the prompts' unit features (N, D) float64: its dot product is the mean of their scores. -1: no prompt."""
    is_text_NP = text_NP >= 0
    feature_NPD = sample.text(np.where(is_text_NP, text_NP, text_NP.max()).ravel()).reshape(*text_NP.shape, -1)
    weight_NP = is_text_NP / is_text_NP.sum(axis=1, keepdims=True)
    return np.einsum("np,npd->nd", weight_NP, feature_NPD.astype(np.float64))


PROTOCOLS = (
    RowProtocol("compound", ("prompts",), ("image", "image_n1", "image_n2"), evaluate=evaluate, among_all=among_all),
)
