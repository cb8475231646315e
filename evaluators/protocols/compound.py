"""Choose the image of a compound noun ("coffee mug") among the images of the compound and its two constituents.

Source: Kumar et al. 2024 (Compun), section 3 (one prompt: correct if the compound's image scores higher than both
other images) and section 4 (several prompts: correct if its mean score is highest). Difference from the paper: a tie
with another image always counts as wrong (ranking.py).

Shapes: N rows (one compound each), I = 3 images (the first shows the compound), T prompts (scores are NaN if a row has
fewer), D feature dimensions. If all images of the benchmark are candidates, I is their number, and rows are processed
in blocks of B rows. Chance: 1/3; about 1 / number of images if all images are candidates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol, Sample
from compeval.evaluators.protocols.ranking import Ranks, compute_ranks, concatenate, to_metrics

ROWS_PER_BLOCK = 1024


def average_over_prompts(score_NIT: np.ndarray) -> np.ndarray:
    """Return the mean score (N, I) over the prompts. Raises ValueError if a row has no prompt."""
    has_no_prompt_NI = np.isnan(score_NIT).all(axis=-1)
    has_no_prompt_N = has_no_prompt_NI.any(axis=-1)
    if has_no_prompt_N.any():
        raise ValueError(f"Row {int(np.argmax(has_no_prompt_N))} has no prompt.")
    return np.nanmean(score_NIT.astype(np.float64), axis=2).astype(score_NIT.dtype)


def rank_compound_image(score_NIT: np.ndarray) -> Ranks:
    """Return the rank of the compound's image (index 0) by the mean score over the prompts."""
    mean_NI = average_over_prompts(score_NIT)
    return compute_ranks(mean_NI[:, 0], mean_NI[:, 1:])


def evaluate(score_NIT: np.ndarray) -> Directions:
    """Compute the accuracy (recall@1) and means of two values.

    ``similarity`` is the score of the compound's image. ``margin`` is the difference between this score and the best
    score of another image. ``similarity_of_correct`` and ``margin_of_correct`` are the means over the correct rows
    (Figure 4).
    """
    mean_NI = average_over_prompts(score_NIT).astype(np.float64)
    metrics = to_metrics(rank_compound_image(score_NIT))
    extra = {"margin": mean_NI[:, 0] - mean_NI[:, 1:].max(axis=1), "similarity": mean_NI[:, 0]}
    return {
        "": replace(
            metrics,
            columns={**metrics.columns, **extra},
            values={**metrics.values, **extra},
            unbounded=metrics.unbounded | extra.keys(),
            of_hits={f"{name}_of_correct": value_N for name, value_N in extra.items()},
        )
    }


def evaluate_among_all(sample: Sample) -> Directions:
    """Rank the compound's image among all images of the benchmark (section 6).

    Rows with the same prompts are about the same compound, so their compound images are not wrong candidates.
    """
    crop_I = np.unique(sample.crop_NI)
    feature_ID = sample.image(crop_I).astype(np.float64)
    truth_N = np.searchsorted(crop_I, sample.crop_NI[:, 0])
    compound_N = np.unique(sample.text_NT, axis=0, return_inverse=True)[1].ravel()
    blocks = []
    for start in range(0, len(truth_N), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        score_BI = (average_prompt_features(sample.text_NT[block], sample) @ feature_ID.T).astype(
            np.float32
        )
        row_B, same_compound_B = np.nonzero(compound_N[block, None] == compound_N)
        wrong_BI = np.ones(score_BI.shape, dtype=bool)
        wrong_BI[row_B, truth_N[same_compound_B]] = False
        blocks.append(
            compute_ranks(score_BI[np.arange(len(score_BI)), truth_N[block]], score_BI, wrong_BI)
        )
    return {"all": to_metrics(concatenate(blocks))}


def average_prompt_features(text_NT: np.ndarray, sample: Sample) -> np.ndarray:
    """Return the mean feature (N, D) of each row's prompts, as float64.

    ``text_NT`` holds the indices of the prompts; -1 means that the row has fewer prompts.
    """
    is_text_NT = text_NT >= 0
    feature_NTD = sample.text(np.where(is_text_NT, text_NT, text_NT.max()).ravel()).reshape(
        *text_NT.shape, -1
    )
    weight_NT = is_text_NT / is_text_NT.sum(axis=1, keepdims=True)
    return np.einsum("nt,ntd->nd", weight_NT, feature_NTD.astype(np.float64))


PROTOCOLS = (
    RowProtocol(
        "compound",
        ("prompts",),
        ("image", "image_n1", "image_n2"),
        evaluate=evaluate,
        among_all=evaluate_among_all,
    ),
)
