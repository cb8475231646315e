"""Retrieval among all rows of a fold, image to text and text to image.

Source: CREPE (arXiv:2212.07796), appendix B.2 (raw pairs, K folds); Yuksekgonul et al. 2023 (arXiv:2210.01936), section
2.3 (images with several captions: the best of them counts). Differs in the tie rule; a tie between true items is none.

Shapes: Q queries, J items of a fold, D dimensions, P partners (the true texts of an image, the images of a text). Of a
query's true items only the ranked one competes with the wrong items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from evaluators.protocols.base import Directions, QueryMetrics, Sample, SetProtocol
from evaluators.protocols.ranking import Ranks, cosine, ranks, to_metrics

MAX_FOLDS = 20
QUERIES_PER_BLOCK, ITEMS_PER_BLOCK = 4096, 1024

Features = Callable[[np.ndarray], np.ndarray]
"""Unit-length features (n, D) of n positions in a fold, requested in blocks: a whole fold may not fit in memory."""


class Side(NamedTuple):
    """The images or the texts of a fold."""

    feature: Features
    id_J: np.ndarray
    """int, equal for equal pixels or words."""
    partner_JP: np.ndarray
    """Ids of the true items on the other side; -1 where there are fewer."""


def folds(rows: int, fold_size: int, seed: int) -> Iterator[np.ndarray]:
    """The K = min(20, floor(rows / fold_size)) folds of appendix B.2, as increasing row numbers.

    Consecutive parts of one seeded permutation.
    """
    order = np.random.default_rng(seed).permutation(rows)
    for fold in range(min(MAX_FOLDS, rows // fold_size)):
        yield np.sort(order[fold * fold_size : (fold + 1) * fold_size])


def _no_ranks(count: int) -> Ranks:
    return Ranks(np.zeros(count, np.int32), np.zeros(count, bool), np.zeros(count, np.int32))


def retrieve(query: Side, item: Side, true_QT: np.ndarray) -> Ranks:
    """Rank of the best of each query's true items (positions, -1: none) among the items that are wrong for it.

    Works in blocks: a fold of 200,000 needs no matrix of that size.
    """
    found = _no_ranks(len(query.id_J))
    query_positions, item_positions = np.arange(len(query.id_J)), np.arange(len(item.id_J))
    for query_start in range(0, len(query_positions), QUERIES_PER_BLOCK):
        rows = slice(query_start, query_start + QUERIES_PER_BLOCK)
        feature_QD = query.feature(query_positions[rows]).astype(np.float64)
        truth_Q = _best_true_score(feature_QD, item, true_QT[rows])
        for item_start in range(0, len(item_positions), ITEMS_PER_BLOCK):
            columns = slice(item_start, item_start + ITEMS_PER_BLOCK)
            item_JD = item.feature(item_positions[columns]).astype(np.float64)
            score_QJ = (feature_QD @ item_JD.T).astype(np.float32)
            block = ranks(truth_Q, score_QJ, _wrong(query, item, rows, columns))
            found.rank_N[rows] += block.rank_N - 1
            found.tie_N[rows] |= block.tie_N
            found.wrong_N[rows] += block.wrong_N
    return found._replace(rank_N=found.rank_N + 1)


def _best_true_score(feature_QD: np.ndarray, item: Side, true_QT: np.ndarray) -> np.ndarray:
    item_QTD = item.feature(np.maximum(true_QT, 0).ravel()).reshape(*true_QT.shape, -1)
    return np.where(true_QT >= 0, cosine(feature_QD, item_QTD), -np.inf).max(axis=1)


def _wrong(query: Side, item: Side, rows: slice, columns: slice) -> np.ndarray:
    """True (Q, J) where neither is among the other's partners."""
    wrong_QJ = np.ones((len(query.id_J[rows]), len(item.id_J[columns])), dtype=bool)
    for partner_Q in query.partner_JP[rows].T:
        wrong_QJ &= partner_Q[:, None] != item.id_J[None, columns]
    for partner_J in item.partner_JP[columns].T:
        wrong_QJ &= query.id_J[rows, None] != partner_J[None]
    return wrong_QJ


def both_directions(crop_M: np.ndarray, text_MT: np.ndarray, image: Features, text: Features) -> dict[str, Ranks]:
    """i2t: one query per row; t2i: one per text (``text_MT`` where it is not -1, row by row)."""
    row_J, _ = is_text = np.nonzero(text_MT >= 0)
    images = Side(image, crop_M, text_MT)
    texts = Side(text, text_MT[is_text], crop_M[row_J, None])
    position_MT = np.full(text_MT.shape, -1)
    position_MT[is_text] = np.arange(len(row_J))
    return {"i2t": retrieve(images, texts, position_MT), "t2i": retrieve(texts, images, row_J[:, None])}


def evaluate(sample: Sample) -> Directions:
    """Both directions, fold by fold; the queries of t2i are the texts of the rows, in row order."""
    text_row_J, _ = np.nonzero(sample.text_NT >= 0)
    found = {"i2t": _no_ranks(len(sample.text_NT)), "t2i": _no_ranks(len(text_row_J))}
    for fold in np.unique(sample.fold_N):
        member_N = sample.fold_N == fold
        crop_M, text_MT = sample.crop_NI[member_N, 0], sample.text_NT[member_N]
        image_features, text_features = _lookup(sample.image, crop_M), _lookup(sample.text, text_MT[text_MT >= 0])
        of_fold = both_directions(crop_M, text_MT, image_features, text_features)
        for direction, selected_Q in (("i2t", member_N), ("t2i", member_N[text_row_J])):
            for whole, part in zip(found[direction], of_fold[direction], strict=True):
                whole[selected_Q] = part
    truths_N = (sample.text_NT >= 0).sum(axis=1)
    return {"i2t": to_metrics(found["i2t"], truths_N), "t2i": to_metrics(found["t2i"], row_Q=text_row_J)}


def _lookup(feature: Features, position_J: np.ndarray) -> Features:
    """The features of a fold, by position in the fold."""
    return lambda position: feature(position_J[position])


def fold_std(metrics: QueryMetrics, fold_N: np.ndarray) -> dict[str, float]:
    """Population standard deviation of each metric over the folds (0 for a single one, as in Table 15)."""
    fold_Q = fold_N[metrics.rows(len(fold_N))]
    by_fold = [metrics.summary(fold_Q == fold) for fold in np.unique(fold_Q)]
    return {name: float(np.std([fold[name] for fold in by_fold])) for name in by_fold[0]}


PROTOCOLS = tuple(SetProtocol("recall", (column,), evaluate=evaluate) for column in ("caption", "captions"))
