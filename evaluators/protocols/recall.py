"""Retrieval among all rows of a fold, image to text and text to image.

Source: CREPE (arXiv:2212.07796), appendix B.2 (raw pairs, K folds); Yuksekgonul et al. 2023 (arXiv:2210.01936), section
2.3 (images with several captions: the best of them counts). Differs in the tie rule; a tie of true answers is none.

Shapes: Q queries, J items of a fold, D dimensions, P partners (the true texts of an image, the images of a text). Items
that are true for a query, but are not the one looked for, neither win nor lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from evaluators.protocols.base import Answers, Directions, Sample, SetProtocol
from evaluators.protocols.ranking import Ranks, answers, cosine, ranks

MAX_FOLDS = 20
_QUERIES_A_BLOCK, _ITEMS_A_BLOCK = 4096, 1024


Features = Callable[[np.ndarray], np.ndarray]
"""Unit features (n, D) of n positions in a fold; asked for in blocks, since a whole fold may not fit in memory."""


class Side(NamedTuple):
    """Images or texts of a fold."""

    feature: Features
    id_J: np.ndarray
    """int, equal where the pixels or the words are."""
    partner_JP: np.ndarray
    """Ids of what belongs to it on the other side; -1 for none."""


def folds(rows: int, fold_size: int, seed: int) -> Iterator[np.ndarray]:
    """The K folds of appendix B.2, each ``fold_size`` row numbers in increasing order.

    K = min(20, floor(rows / fold_size)). Taken in order from one seeded permutation.
    """
    order = np.random.default_rng(seed).permutation(rows)
    for fold in range(min(MAX_FOLDS, rows // fold_size)):
        yield np.sort(order[fold * fold_size : (fold + 1) * fold_size])


def retrieve(query: Side, item: Side, true_QT: np.ndarray) -> Ranks:
    """Rank of the best of each query's true items (positions, -1 for none) among the items that are wrong for it.

    Works in blocks, so a fold of 200,000 needs no matrix of that size.
    """
    count = len(query.id_J)
    found = Ranks(np.ones(count, np.int32), np.zeros(count, bool), np.zeros(count, np.int32))
    for top in range(0, count, _QUERIES_A_BLOCK):
        rows = slice(top, top + _QUERIES_A_BLOCK)
        feature_QD = query.feature(np.arange(count)[rows]).astype(np.float64)
        truth_Q = _truth(feature_QD, item, true_QT[rows])
        for left in range(0, len(item.id_J), _ITEMS_A_BLOCK):
            columns = slice(left, left + _ITEMS_A_BLOCK)
            item_JD = item.feature(np.arange(len(item.id_J))[columns]).astype(np.float64)
            score_QJ = (feature_QD @ item_JD.T).astype(np.float32)
            block = ranks(truth_Q, score_QJ, _wrong(query, item, rows, columns))
            found.rank_N[rows] += block.rank_N - 1
            found.tie_N[rows] |= block.tie_N
            found.wrong_N[rows] += block.wrong_N
    return found


def _truth(feature_QD: np.ndarray, item: Side, true_QT: np.ndarray) -> np.ndarray:
    """Score of the best of each query's true items."""
    item_QTD = item.feature(np.maximum(true_QT, 0).ravel()).reshape(*true_QT.shape, -1)
    return np.where(true_QT >= 0, cosine(feature_QD, item_QTD), -np.inf).max(axis=1)


def _wrong(query: Side, item: Side, rows: slice, columns: slice) -> np.ndarray:
    """Whether neither is among the other's partners (bool, Q x J)."""
    wrong_QJ = np.ones((len(query.id_J[rows]), len(item.id_J[columns])), dtype=bool)
    for partner_Q in query.partner_JP[rows].T:
        wrong_QJ &= partner_Q[:, None] != item.id_J[None, columns]
    for partner_J in item.partner_JP[columns].T:
        wrong_QJ &= query.id_J[rows, None] != partner_J[None]
    return wrong_QJ


def both_ways(crop_M: np.ndarray, text_MT: np.ndarray, image: Features, text: Features) -> dict[str, Ranks]:
    """i2t: a query for each of M rows; t2i: one for each of J texts (``text_MT`` where it is not -1, row by row)."""
    row_J, _ = there = np.nonzero(text_MT >= 0)
    images = Side(image, crop_M, text_MT)
    texts = Side(text, text_MT[there], crop_M[row_J, None])
    place_MT = np.full(text_MT.shape, -1)
    place_MT[there] = np.arange(len(row_J))
    return {"i2t": retrieve(images, texts, place_MT), "t2i": retrieve(texts, images, row_J[:, None])}


def _fold(sample: Sample, member_N: np.ndarray) -> dict[str, Ranks]:
    """Both directions of the fold that some rows make."""
    crop_M, text_MT = sample.crop_NI[member_N, 0], sample.text_NT[member_N]
    text_J = text_MT[text_MT >= 0]
    return both_ways(
        crop_M,
        text_MT,
        lambda position: sample.image(crop_M[position]),
        lambda position: sample.text(text_J[position]),
    )


def judge(sample: Sample) -> Directions:
    """Both directions, fold by fold; the queries of t2i are the texts of the rows, in their order."""
    text_row_J, _ = np.nonzero(sample.text_NT >= 0)
    found = {"i2t": _empty(len(sample.text_NT)), "t2i": _empty(len(text_row_J))}
    for fold in np.unique(sample.fold_N):
        member_N = sample.fold_N == fold
        ways = _fold(sample, member_N)
        for direction, chosen_Q in (("i2t", member_N), ("t2i", member_N[text_row_J])):
            for whole, part in zip(found[direction], ways[direction], strict=True):
                whole[chosen_Q] = part
    truths_N = (sample.text_NT >= 0).sum(axis=1)
    return {"i2t": answers(found["i2t"], truths_N), "t2i": answers(found["t2i"], row_Q=text_row_J)}


def _empty(count: int) -> Ranks:
    return Ranks(np.zeros(count, np.int32), np.zeros(count, bool), np.zeros(count, np.int32))


def fold_deviations(found: Answers, fold_N: np.ndarray) -> dict[str, float]:
    """Population standard deviation of each metric over the folds (0 for a single one, as in Table 15)."""
    fold_Q = fold_N[found.rows(len(fold_N))]
    by_fold = [found.summary(fold_Q == fold) for fold in np.unique(fold_Q)]
    return {name: float(np.std([fold[name] for fold in by_fold])) for name in by_fold[0]}


PROTOCOLS = (SetProtocol("recall", ("caption",), answers=judge), SetProtocol("recall", ("captions",), answers=judge))
