"""Retrieval among all rows of a fold, from image to text (i2t) and from text to image (t2i).

Source: CREPE (arXiv:2212.07796), appendix B.2 (raw pairs, K folds); Yuksekgonul et al. 2023 (arXiv:2210.01936), section
2.3 (if an image has several captions, the best one is ranked). Difference from the papers: the tie rule (ranking.py).
An item is wrong for a query unless some row of the fold contains both. Ties between true items do not count as ties.
``recall@k_by_index`` counts as the authors do: only the items of the query's own row are true, so another row's copy of
its text or image is wrong (count_by_index).
Models that read image and text together re-rank the best candidates (reranking.py).

Shapes: M rows of a fold, Q queries, J items, D dimensions, T true items per query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compeval.evaluators.protocols.base import Directions, QueryMetrics, Sample, SetProtocol
from compeval.evaluators.protocols.ranking import (
    BY_INDEX,
    CUTOFFS,
    Ranks,
    compute_chance,
    compute_missed,
    compute_ranks,
    cosine,
    to_metrics,
)
from compeval.evaluators.protocols.reranking import ReRanked, ReRanking, rerank, select_best

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_FOLDS = 20
QUERIES_PER_BLOCK = 4096
ITEMS_PER_BLOCK = 1024

Features = Callable[[np.ndarray], np.ndarray]
"""Function that returns the unit-length features (n, D) of n items of a fold, by index. It is called with blocks of
indices, because the features of a whole fold may not fit into memory."""


class Side(NamedTuple):
    """The images or the texts of a fold."""

    feature: Features
    id_J: np.ndarray
    """int from 0; equal images or texts have equal ids."""


def make_folds(num_rows: int, fold_size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the row numbers of the K = min(20, floor(num_rows / fold_size)) folds of appendix B.2.

    Folds are consecutive parts of a seeded permutation. Row numbers are sorted within a fold.
    """
    order = np.random.default_rng(seed).permutation(num_rows)
    for fold in range(min(MAX_FOLDS, num_rows // fold_size)):
        yield np.sort(order[fold * fold_size : (fold + 1) * fold_size])


class RetrievalResult(NamedTuple):
    """The results of N queries: their Ranks, and the best wrong item of each."""

    rank_N: np.ndarray
    tie_N: np.ndarray
    wrong_N: np.ndarray
    best_wrong_N: np.ndarray
    """int32: index of the wrong item with the highest score. Of equal scores, the first."""
    copies_N: np.ndarray
    """int32: number of items that are true only because another row contains them and the query."""
    higher_copies_N: np.ndarray
    """int32: number of these items that score higher than the query's best own item."""
    tied_copies_N: np.ndarray
    """int32: number of these items with the same score as the query's best own item."""
    best_own_N: np.ndarray
    """int32: number of the query's own items with the best score, at least 1."""

    @classmethod
    def make_empty(cls, count: int) -> RetrievalResult:
        dtypes = (bool if name == "tie_N" else np.int32 for name in cls._fields)
        return cls(*(np.zeros(count, dtype) for dtype in dtypes))

    @property
    def ranks(self) -> Ranks:
        return Ranks(self.rank_N, self.tie_N, self.wrong_N)


def retrieve(
    query: Side,
    item: Side,
    true_QT: np.ndarray,
    true_pairs: csr_array,
    reranked: ReRanked | None = None,
) -> RetrievalResult:
    """Return the rank of each query's best true item among its wrong items, and the best wrong item.

    ``true_QT``: indices of the true items, padded with -1. ``true_pairs``: bool matrix of query ids and item ids.
    ``reranked``: scores that replace the cosines. Scores are computed in blocks, so large folds fit into memory.
    """
    result = RetrievalResult.make_empty(len(query.id_J))
    query_indices = np.arange(len(query.id_J))
    item_indices = np.arange(len(item.id_J))
    for query_start in range(0, len(query_indices), QUERIES_PER_BLOCK):
        rows = slice(query_start, query_start + QUERIES_PER_BLOCK)
        feature_QD = query.feature(query_indices[rows]).astype(np.float64)
        numbers = None if reranked is None else reranked.number[query.id_J[rows]]
        truth_Q = _compute_truth_score(feature_QD, item, true_QT[rows], reranked, numbers)
        true_of_queries = true_pairs[query.id_J[rows]]
        highest_Q = np.full(len(feature_QD), -np.inf)
        for item_start in range(0, len(item_indices), ITEMS_PER_BLOCK):
            columns = slice(item_start, item_start + ITEMS_PER_BLOCK)
            item_JD = item.feature(item_indices[columns]).astype(np.float64)
            score_QJ = (feature_QD @ item_JD.T).astype(np.float32)
            if reranked is not None and numbers is not None:
                score_QJ = reranked.apply(numbers[:, item.id_J[columns]].toarray(), score_QJ)
            wrong_QJ = ~true_of_queries[:, item.id_J[columns]].toarray()
            block = compute_ranks(truth_Q, score_QJ, wrong_QJ)
            result.rank_N[rows] += block.rank_N - 1
            result.tie_N[rows] |= block.tie_N
            result.wrong_N[rows] += block.wrong_N
            _count_copies(result, rows, ~wrong_QJ, true_QT[rows] - item_start, score_QJ, truth_Q)
            score_QJ[~wrong_QJ] = -np.inf
            block_best_Q = score_QJ.argmax(axis=1)
            block_highest_Q = score_QJ[np.arange(len(score_QJ)), block_best_Q]
            is_higher_Q = block_highest_Q > highest_Q
            result.best_wrong_N[rows][is_higher_Q] = item_start + block_best_Q[is_higher_Q]
            np.maximum(highest_Q, block_highest_Q, out=highest_Q)
    return result._replace(rank_N=result.rank_N + 1, best_own_N=np.maximum(result.best_own_N, 1))


def _count_copies(
    result: RetrievalResult,
    rows: slice,
    is_true_QJ: np.ndarray,
    own_QT: np.ndarray,
    score_QJ: np.ndarray,
    truth_Q: np.ndarray,
) -> None:
    """Add the true items of a block to the counts of own items and of copies in other rows.

    ``own_QT``: positions of the own items in the block; those of other blocks are negative or too large.
    """
    query_P, item_P = np.nonzero(is_true_QJ)
    is_own_P = (own_QT[query_P] == item_P[:, None]).any(axis=1)
    score_P = score_QJ[query_P, item_P]
    truth_P = truth_Q[query_P]
    for counts, selected_P in (
        (result.copies_N, ~is_own_P),
        (result.higher_copies_N, ~is_own_P & (score_P > truth_P)),
        (result.tied_copies_N, ~is_own_P & (score_P == truth_P)),
        (result.best_own_N, is_own_P & (score_P == truth_P)),
    ):
        counts[rows] += np.bincount(query_P[selected_P], minlength=len(truth_Q)).astype(np.int32)


def _compute_truth_score(
    feature_QD: np.ndarray,
    item: Side,
    true_QT: np.ndarray,
    reranked: ReRanked | None,
    numbers: csr_array | None,
) -> np.ndarray:
    item_QTD = item.feature(np.maximum(true_QT, 0).ravel()).reshape(*true_QT.shape, -1)
    score_QT = cosine(feature_QD, item_QTD)
    if reranked is not None and numbers is not None:
        number_QT = numbers[np.arange(len(true_QT))[:, None], item.id_J[true_QT]].toarray()
        score_QT = reranked.apply(number_QT, score_QT)
    return np.where(true_QT >= 0, score_QT, -np.inf).max(axis=1)


def _select_pairs(query: Side, item: Side, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the query ids and the item ids of each query's ``count`` items with the highest cosines."""
    query_Q, item_J = (np.unique(side.id_J, return_index=True)[1] for side in (query, item))
    item_JD = item.feature(item_J).astype(np.float64)
    best = [
        select_best(
            (query.feature(query_Q[start : start + ITEMS_PER_BLOCK]) @ item_JD.T).astype(
                np.float32
            ),
            count,
        )
        for start in range(0, len(query_Q), ITEMS_PER_BLOCK)
    ]
    item_P = np.concatenate(best)
    return np.repeat(np.arange(len(query_Q)), item_P.shape[1]), item_P.ravel()


def _pair(image_J: np.ndarray, text_J: np.ndarray) -> csr_array:
    """Return the bool matrix of the ids of images and texts that occur in one row."""
    # Takes half a second, which the list of tasks need not wait for.
    from scipy.sparse import (
        coo_array,
    )

    return coo_array((np.ones(len(text_J), dtype=bool), (image_J, text_J))).tocsr()


def is_measurable(crop_M: np.ndarray, text_MT: np.ndarray) -> bool:
    """Return True if each image and each text of a fold has a wrong candidate."""
    row_J, _ = is_text = np.nonzero(text_MT >= 0)
    image_ids, image_M = np.unique(crop_M, return_inverse=True)
    text_ids, text_J = np.unique(text_MT[is_text], return_inverse=True)
    true_pairs = _pair(image_M[row_J], text_J)
    truths_of_images = np.diff(true_pairs.indptr)
    truths_of_texts = np.bincount(true_pairs.indices, minlength=len(text_ids))
    return bool(
        (truths_of_images < len(text_ids)).all() and (truths_of_texts < len(image_ids)).all()
    )


def retrieve_both_directions(
    crop_M: np.ndarray,
    text_MT: np.ndarray,
    image: Features,
    text: Features,
    reranking: ReRanking | None = None,
) -> dict[str, RetrievalResult]:
    """Retrieve in both directions: "i2t" has one query per row, "t2i" one query per text, in row order.

    ``crop_M`` and ``text_MT`` (padded with -1) are ids, equal for equal images or texts.
    """
    row_J, _ = is_text = np.nonzero(text_MT >= 0)
    images = Side(image, np.unique(crop_M, return_inverse=True)[1])
    texts = Side(text, np.unique(text_MT[is_text], return_inverse=True)[1])
    true_pairs = _pair(images.id_J[row_J], texts.id_J)
    index_MT = np.full(text_MT.shape, -1)
    index_MT[is_text] = np.arange(len(row_J))
    i2t = t2i = None
    if reranking is not None:
        best_images = _select_pairs(images, texts, reranking.num_candidates)
        text_P, image_P = _select_pairs(texts, images, reranking.num_candidates)
        i2t, t2i = rerank(
            best_images,
            (image_P, text_P),
            np.unique(crop_M),
            np.unique(text_MT[is_text]),
            reranking.score,
        )
    return {
        "i2t": retrieve(images, texts, index_MT, true_pairs, i2t),
        "t2i": retrieve(texts, images, row_J[:, None], true_pairs.T.tocsr(), t2i),
    }


def evaluate(sample: Sample) -> Directions:
    """Retrieve in both directions within each fold. The queries of "t2i" are the texts in row order.

    The column ``wrong`` is the best wrong item: for "i2t" a text, by its number in row order, for "t2i" a row.
    """
    text_row_J, _ = np.nonzero(sample.text_NT >= 0)
    results = {
        "i2t": RetrievalResult.make_empty(len(sample.text_NT)),
        "t2i": RetrievalResult.make_empty(len(text_row_J)),
    }
    for fold in np.unique(sample.fold_N):
        member_N = sample.fold_N == fold
        crop_M = sample.crop_NI[member_N, 0]
        text_MT = sample.text_NT[member_N]
        features = (
            _index_within_fold(sample.image, crop_M),
            _index_within_fold(sample.text, text_MT[text_MT >= 0]),
        )
        of_fold = retrieve_both_directions(crop_M, text_MT, *features, sample.reranking)
        member_J = member_N[text_row_J]
        for direction, query_Q, item_J in (
            ("i2t", member_N, member_J),
            ("t2i", member_J, member_N),
        ):
            for all_values, fold_values in zip(results[direction], of_fold[direction], strict=True):
                all_values[query_Q] = fold_values
            results[direction].best_wrong_N[query_Q] = np.flatnonzero(item_J)[
                of_fold[direction].best_wrong_N
            ]
    truths_N = (sample.text_NT >= 0).sum(axis=1)
    queries: dict[str, tuple[np.ndarray | int, np.ndarray | None]] = {
        "i2t": (truths_N, None),
        "t2i": (1, text_row_J),
    }
    directions: Directions = {}
    for direction, (truths_Q, row_Q) in queries.items():
        result = results[direction]
        metrics = to_metrics(result.ranks, truths_Q, row_Q)
        metrics = replace(metrics, columns={**metrics.columns, "wrong": result.best_wrong_N})
        directions[direction] = count_by_index(metrics, result, truths_Q)
    return directions


def count_by_index(
    metrics: QueryMetrics, result: RetrievalResult, truths_Q: np.ndarray | int
) -> QueryMetrics:
    """Add ``recall@k_by_index`` for each ``recall@k``: an item is wrong unless the query's own row contains it.

    Source: the authors' scripts for CREPE's Tables 15 and 16 and ARO's Tables 3 and 4. Their sort decides between equal
    items of different rows, in no defined order. The value is the expectation over random orders: of a text that m rows
    contain, each copy is first with the probability 1/m. A tie with another item is a loss, as in ``recall@k``.
    """
    before_Q = result.rank_N - 1 + result.higher_copies_N
    cutoffs = [k for k in CUTOFFS if f"recall@{k}" in metrics.values]
    chance = compute_chance(result.wrong_N + result.copies_N, truths_Q)
    return metrics.add(
        {
            f"recall@{k}{BY_INDEX}": 1
            - compute_missed(result.tied_copies_N, result.best_own_N, k - before_Q)
            for k in cutoffs
        },
        {f"recall@{k}{BY_INDEX}": chance[f"recall@{k}"] for k in cutoffs},
    )


def _index_within_fold(feature: Features, index_J: np.ndarray) -> Features:
    """Return a function that takes indices within a fold; ``index_J`` are the indices in the sample."""
    return lambda index: feature(index_J[index])


def compute_fold_std(metrics: QueryMetrics, fold_N: np.ndarray) -> dict[str, float]:
    """Return the population standard deviation of each metric over the folds (0 for one fold, as in Table 15)."""
    fold_Q = fold_N[metrics.get_rows(len(fold_N))]
    by_fold = [metrics.summarise(fold_Q == fold) for fold in np.unique(fold_Q)]
    return {name: float(np.std([fold[name] for fold in by_fold])) for name in by_fold[0]}


PROTOCOLS = tuple(
    SetProtocol("recall", (column,), evaluate=evaluate) for column in ("caption", "captions")
)
