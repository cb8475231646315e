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
    """Accuracy, by how much the compound's image wins or loses, and its score, over all rows and over the correct ones.

    Figure 4 shows the last: a model may be right with scores that hardly differ from nothing.
    """
    mean_NI = prompt_mean(score_NIT).astype(np.float64)
    found = answers(compound(score_NIT))
    extra = {"margin": mean_NI[:, 0] - mean_NI[:, 1:].max(axis=1), "similarity": mean_NI[:, 0]}
    return {
        "": replace(
            found,
            columns=dict(found.columns) | extra,
            values=dict(found.values) | extra,
            of_hits={f"{name}_of_correct": value_N for name, value_N in extra.items()},
        )
    }


def among_all(sample: Sample) -> Directions:
    """The same against all images of the benchmark (section 6).

    All images of a compound are right: where a row is one of several renderings (rows with the same prompts), the
    others count for neither side.
    """
    crop_I = np.unique(sample.crop_NI)
    image_ID = sample.image(crop_I).astype(np.float64)
    truth_N = np.searchsorted(crop_I, sample.crop_NI[:, 0])
    compound_N = np.unique(sample.text_NT, axis=0, return_inverse=True)[1].ravel()
    parts = []
    for start in range(0, len(truth_N), _BLOCK):
        block = slice(start, start + _BLOCK)
        score_NI = (mean_prompt_feature(sample.text_NT[block], sample) @ image_ID.T).astype(np.float32)
        wrong_NI = ~own_images(compound_N, truth_N, compound_N[block], len(crop_I))
        parts.append(ranks(score_NI[np.arange(len(score_NI)), truth_N[block]], score_NI, wrong_NI))
    return {"all": answers(Ranks(*map(np.concatenate, zip(*parts, strict=True))))}


def own_images(compound_N: np.ndarray, image_N: np.ndarray, chosen_Q: np.ndarray, images: int) -> np.ndarray:
    """Whether an image (bool, Q x I) shows the chosen compound: row n has the image ``image_N[n]`` of its compound."""
    name_C, place_Q = np.unique(chosen_Q, return_inverse=True)
    of_chosen = np.isin(compound_N, name_C)
    own_CI = np.zeros((len(name_C), images), dtype=bool)
    own_CI[np.searchsorted(name_C, compound_N[of_chosen]), image_N[of_chosen]] = True
    return own_CI[place_Q]


def mean_prompt_feature(text_NP: np.ndarray, sample: Sample) -> np.ndarray:
    """Mean of the prompts' unit features (N, D) float64, -1 left out: its dot product is the mean of their scores."""
    there_NP = text_NP >= 0
    feature_NPD = sample.text(np.where(there_NP, text_NP, text_NP.max()).ravel()).reshape(*text_NP.shape, -1)
    weight_NP = there_NP / there_NP.sum(axis=1, keepdims=True)
    return np.einsum("np,npd->nd", weight_NP, feature_NPD.astype(np.float64))


PROTOCOLS = (
    RowProtocol("compound", ("prompts",), ("image", "image_n1", "image_n2"), answers=judge, among_all=among_all),
)
