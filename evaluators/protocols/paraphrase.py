"""Prefer two true captions of an image to a wrong one, and recognise the wrong one among the three texts alone.

Source: Dumpala et al. 2024 (SugarCrepe++, arXiv:2406.11171): the image-to-text task (ITT), and the text-only task
(TOT), in which each true caption has to be more similar to the other one than to the wrong one. In Kamath et al. 2024
(arXiv:2409.17958), the accuracy is called augmented, and brittleness is the share of rows in which the score of the
wrong caption is between those of the true ones. Difference from the papers: with several wrong
captions, the one with the highest score counts.

Shapes: N rows, 1 image, T texts: two true captions, then K wrong ones. A tie counts as a loss. Chance of both tasks:
2 / ((K + 1) (K + 2)), which is 1/3 for K = 1; of one caption alone, 1 / (K + 1); of brittleness, K times that of both.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import (
    Directions,
    QueryMetrics,
    RowProtocol,
    Sample,
    check_finite,
    count_hits,
)
from compeval.evaluators.protocols.ranking import cosine

TRUTHS = 2


def evaluate(score_NIT: np.ndarray) -> Directions:
    """Compute the accuracy of both true captions (ITT) and of each alone, and the brittleness."""
    truth_N2 = score_NIT[:, 0, :TRUTHS]
    wrong_NK = score_NIT[:, 0, TRUTHS:]
    wrong_N1 = wrong_NK.max(axis=1, keepdims=True)
    metrics = _compare(truth_N2, np.repeat(wrong_N1, TRUTHS, axis=1), wrong_NK.shape[1])
    hit_N2 = truth_N2 > wrong_N1
    alone = 1 / (wrong_NK.shape[1] + 1)
    is_brittle_N = hit_N2.any(axis=1) & (truth_N2 < wrong_N1).any(axis=1)
    values = {
        "caption_accuracy": hit_N2[:, 0],
        "paraphrase_accuracy": hit_N2[:, 1],
        "brittleness": is_brittle_N,
    }
    chance = {"caption_accuracy": alone, "paraphrase_accuracy": alone}
    chance["brittleness"] = wrong_NK.shape[1] * metrics.chance["accuracy"]
    return {
        "": metrics.add(
            {name: value_N.astype(np.float64) for name, value_N in values.items()}, chance
        )
    }


def evaluate_texts(sample: Sample) -> Directions:
    """Compute the accuracy of the text-only task (TOT) from text features."""
    text_NTD = sample.text(sample.text_NT.ravel()).reshape(*sample.text_NT.shape, -1)
    caption_ND = text_NTD[:, 0]
    paraphrase_ND = text_NTD[:, 1]
    wrong_NKD = text_NTD[:, TRUTHS:]
    same_N1 = cosine(caption_ND, paraphrase_ND[:, None])
    wrong_N2 = np.stack(
        [cosine(truth_ND, wrong_NKD).max(axis=1) for truth_ND in (caption_ND, paraphrase_ND)],
        axis=1,
    )
    return {"text": _compare(np.repeat(same_N1, TRUTHS, axis=1), wrong_N2, wrong_NKD.shape[1])}


def _compare(truth_N2: np.ndarray, wrong_N2: np.ndarray, wrong: int) -> QueryMetrics:
    """Return the accuracy: both scores of the truth are higher than those of the best of ``wrong`` wrong captions."""
    check_finite(truth_N2, wrong_N2)
    hit_N = np.all(truth_N2 > wrong_N2, axis=1)
    tie_N = np.any(truth_N2 == wrong_N2, axis=1)
    return count_hits(hit_N, 2 / ((wrong + 1) * (wrong + 2)), tie_N)


PROTOCOLS = (
    RowProtocol(
        "paraphrase",
        ("caption", "paraphrase", "hard_negatives"),
        evaluate=evaluate,
        of_texts=evaluate_texts,
    ),
)
