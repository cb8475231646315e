"""Re-rank the best candidates of each query by a model that reads image and text together.

Source: the code of BLIP, by which ARO's authors evaluated it (Yuksekgonul et al. 2023, Tables 3 and 4): the candidates
with the highest cosine (``k_test``, 128) are ranked by the logit of a match plus the cosine, all others below them.
Difference from it: the others keep the order of their cosines, where the authors' scores are all -100; no Recall@k with
k up to 128 depends on it.

Shapes: Q queries, J items, P pairs of an image and a text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BELOW = 100.0
"""Candidates that are not re-ranked have their cosine less this score (the authors: -100)."""


class ReRanking(NamedTuple):
    """Re-ranking of the best candidates of each query by a model."""

    num_candidates: int
    """Number of candidates per query."""
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Function that returns the scores (P,) float64, given the indices of P crops and P texts of the sample."""


class ReRanked(NamedTuple):
    """The scores of the re-ranked candidates of one direction."""

    number: csr_array
    """Query id, item id -> 1 + index of the score; 0 for a candidate that is not re-ranked."""
    score_P: np.ndarray

    def apply(self, number_QJ: np.ndarray, cosine_QJ: np.ndarray) -> np.ndarray:
        """Return the final scores (Q, J) in float64, given the entries of ``number``."""
        return np.where(
            number_QJ > 0, self.score_P[number_QJ - 1], cosine_QJ.astype(np.float64) - BELOW
        )


def select_best(cosine_QJ: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the ``count`` highest cosines of each query; of equal ones, the first."""
    return np.argsort(-cosine_QJ, axis=1, kind="stable")[:, :count]


def rerank(
    best_images: tuple[np.ndarray, np.ndarray],
    best_texts: tuple[np.ndarray, np.ndarray],
    crop_I: np.ndarray,
    text_T: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> tuple[ReRanked, ReRanked]:
    """Score the selected pairs once, and return them for image-to-text and for text-to-image retrieval.

    ``best_images``: image ids and text ids of the pairs that image-to-text retrieval re-ranks; ``best_texts``: the same
    for text-to-image. ``crop_I``, ``text_T``: indices in the sample of the distinct images and texts.
    """
    # Not at the top: processes that prepare images import this module.
    from scipy.sparse import (
        coo_array,
    )

    shape = (len(crop_I), len(text_T))
    i2t_P, t2i_P = (np.ravel_multi_index(pair, shape) for pair in (best_images, best_texts))
    pair_P = np.union1d(i2t_P, t2i_P)
    image_P, text_P = np.unravel_index(pair_P, shape)
    score_P = score(crop_I[image_P], text_T[text_P])

    def place(selected: np.ndarray) -> csr_array:
        position = np.searchsorted(pair_P, selected)
        return coo_array((position + 1, (image_P[position], text_P[position])), shape).tocsr()

    return ReRanked(place(i2t_P), score_P), ReRanked(place(t2i_P).T.tocsr(), score_P)
