"""The image of a compound noun among those of its constituents, by one prompt or by the mean over several.

Source: Kumar et al. 2024 (Compun), section 3 (template: correct iff the compound's image scores above both others) and
section 4 (the image with the largest mean score over the prompts). Differs in the tie rule.
Shapes: N compounds, 3 images (the compound's first), P prompts, NaN where a compound has fewer. Chance: 1/3; among all
images 1 over their number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluators.protocols.base import Directions, RowProtocol, Sample
from evaluators.protocols.ranking import Ranks, answers, ranks

_BLOCK = 1024


def prompt_mean(score_NIP: np.ndarray) -> np.ndarray:
    """Mean score (N, I) over the prompts that there are. ValueError for a row without any."""
    if np.isnan(score_NIP).all(axis=2).any():
        raise ValueError("A row has no prompt.")
    return np.nanmean(score_NIP.astype(np.float64), axis=2).astype(np.float32)


def compound(score_NIP: np.ndarray) -> Ranks:
    """Rank of the compound's image, the first, by mean score over the prompts."""
    mean_NI = prompt_mean(score_NIP)
    return ranks(mean_NI[:, 0], mean_NI[:, 1:])


def judge(score_NIT: np.ndarray) -> Directions:
    """Accuracy, and by how much the compound's image wins or loses (Figure 4: its similarity)."""
    mean_NI = prompt_mean(score_NIT)
    found = answers(compound(score_NIT))
    extra = {
        "margin": (mean_NI[:, 0] - mean_NI[:, 1:].max(axis=1)).astype(np.float64),
        "similarity": mean_NI[:, 0].astype(np.float64),
    }
    return {"": replace(found, values=dict(found.values) | extra)}


def among_all(sample: Sample) -> Directions:
    """The same against all images of the benchmark; an image that is the compound's own crop counts for neither."""
    crop_I = np.unique(sample.crop_NI)
    image_ID = sample.image(crop_I).astype(np.float64)
    parts = []
    for start in range(0, len(sample.crop_NI), _BLOCK):
        text_NP = sample.text_NT[start : start + _BLOCK]
        mean_ND = mean_prompt_feature(text_NP, sample)
        truth_N = np.searchsorted(crop_I, sample.crop_NI[start : start + _BLOCK, 0])
        score_NI = (mean_ND @ image_ID.T).astype(np.float32)
        wrong_NI = np.arange(len(crop_I))[None] != truth_N[:, None]
        parts.append(ranks(score_NI[np.arange(len(truth_N)), truth_N], score_NI, wrong_NI))
    return {"all": answers(Ranks(*map(np.concatenate, zip(*parts, strict=True))))}


def mean_prompt_feature(text_NP: np.ndarray, sample: Sample) -> np.ndarray:
    """Mean of the prompts' unit features (N, D) float64, -1 left out: its dot product is the mean of their scores."""
    there_NP = text_NP >= 0
    feature_NPD = sample.text(np.where(there_NP, text_NP, text_NP.max()).ravel()).reshape(*text_NP.shape, -1)
    weight_NP = there_NP / there_NP.sum(axis=1, keepdims=True)
    return np.einsum("np,npd->nd", weight_NP, feature_NPD.astype(np.float64))


PROTOCOLS = (
    RowProtocol("compound", ("prompts",), ("image", "image_n1", "image_n2"), answers=judge, among_all=among_all),
)
