"""Text-only baselines that compare the captions of a retrieval set with each other.

An encoder reads one caption at a time and cannot use these cues, but a model that is trained on the set can, and they
show how the negatives were made: if every negative is an edit of the truth, the truth is the caption with the smallest
distances to the others (the medoid). ``score_learned`` is a classifier that is trained on the other folds of the set
itself ("Benchmark designers should train on the test set", arXiv:2511.04655).

``score_left_out`` reads what a set does not contain, and ``score_other_rows`` the other sets of the same image.

Shapes: N retrieval sets of K captions, with the true caption in column 0; M = N K texts, F features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from compeval.base.text_only.baselines import (
    DECIMALS,
    MAX_PAIRED_WORDS,
    RetrievalSets,
    count_ngrams,
    make_form_features,
    score_ngram_likelihood,
)
from compeval.base.text_only.ngram import FOLDS, TOKEN

TREES = 200
MIN_LEAF = 3
EXTRA_TREES = 60
MIN_EXTRA_LEAF = 5
TREE_WORDS = 150
TREE_OPTIONS: Mapping[str, Any] = {"class_weight": "balanced", "random_state": 0, "n_jobs": 1}


def score_medoid_of_characters(sets: RetrievalSets) -> np.ndarray:
    """Score by the summed edit distance of characters to the other captions, negated."""
    return -np.array(
        [_edit_distances(captions).sum(axis=1) for captions in sets.captions], dtype=np.float64
    )


def score_medoid_of_words(sets: RetrievalSets) -> np.ndarray:
    """Score by the summed edit distance of words to the other captions, negated."""
    return -np.array(
        [_distances(_tokenize(captions)).sum(axis=1) for captions in sets.captions],
        dtype=np.float64,
    )


def score_nearest_to_mean(
    sets: RetrievalSets, encode: Callable[[list[str]], np.ndarray] | None = None
) -> np.ndarray:
    """Score by the cosine similarity to the mean vector of the set.

    ``encode`` returns the vectors (M, D) of texts. By default, they are TF-IDF weights of words and word bigrams.
    """
    vector_NKF = (
        _to_dense_sets(sets)
        if encode is None
        else encode(sets.texts).reshape(len(sets), sets.size, -1)
    )
    scores: list[np.ndarray] = []
    for vector_KF in vector_NKF:
        unit_KF = vector_KF / np.maximum(np.linalg.norm(vector_KF, axis=1, keepdims=True), 1e-12)
        mean_F = unit_KF.mean(axis=0)
        scores.append(unit_KF @ mean_F / max(np.linalg.norm(mean_F), 1e-12))
    return np.array(scores)


def score_learned(sets: RetrievalSets) -> np.ndarray:
    """Score by a random forest over features of each caption relative to the others of its set."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(TREES, min_samples_leaf=MIN_LEAF, **TREE_OPTIONS)
    return score_by_classifier(sets, forest, make_relative_features)


def score_extra_trees(sets: RetrievalSets, with_words: bool = False) -> np.ndarray:
    """Score by extremely randomised trees over the same features, which take less time.

    ``with_words`` adds the words of a caption.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    trees = ExtraTreesClassifier(EXTRA_TREES, min_samples_leaf=MIN_EXTRA_LEAF, **TREE_OPTIONS)
    return score_by_classifier(
        sets, trees, make_all_features if with_words else make_relative_features
    )


def score_by_classifier(
    sets: RetrievalSets, classifier: Any, make_features: Callable[[RetrievalSets], np.ndarray]
) -> np.ndarray:
    """Return the probabilities (N, K) that captions are true, by one of scikit-learn's classifiers.

    ``make_features`` returns the features (M, F) of sets. For each fold, it gets sets of which those of the fold are
    not trainable. Otherwise the features of other folds, such as the likelihood under all other true captions, would
    tell the classifier which captions of the fold are true.
    """
    score_NK = np.zeros((len(sets), sets.size))
    for train, test, known in _hold_out_folds(sets):
        feature_MF = make_features(known)
        index_M = sets.text_indices(train).ravel()
        classifier.fit(feature_MF[index_M], index_M % sets.size == 0)
        probability_M = classifier.predict_proba(feature_MF[sets.text_indices(test).ravel()])[:, 1]
        score_NK[test] = probability_M.reshape(-1, sets.size)
    return score_NK


@lru_cache(maxsize=1)
def _hold_out_folds(sets: RetrievalSets) -> list[tuple[np.ndarray, np.ndarray, RetrievalSets]]:
    """Return for each fold the training and test indices, and the sets of which only the former are trainable.

    Each baseline gets the same objects, so that the features of a fold are computed once.
    """
    rows = np.arange(len(sets))
    return [
        (train, test, replace(sets, trainable_N=np.isin(rows, train)))
        for train, test in sets.splits()
    ]


@lru_cache(maxsize=FOLDS)  # several classifiers read the features of the same sets
def make_relative_features(sets: RetrievalSets) -> np.ndarray:
    """Return the features (M, F): for each value of a caption, the value, its difference from the mean of the set, and
    its rank in the set (the share of captions with a smaller value, ties counting half).

    They do not depend on the order of the captions, not even in the last digits, from which trees would learn the
    column of the true caption. Therefore values are rounded, and sorted before they are summed.
    """
    distance_NKF = _make_distance_values(tuple(map(tuple, sets.captions)), tuple(sets.images))
    value_NKF = np.concatenate([_make_values(sets), distance_NKF], axis=2).round(DECIMALS)
    difference_NKF = value_NKF - np.sort(value_NKF, axis=1).mean(axis=1, keepdims=True)
    above_NKKF = np.sign((value_NKF[:, :, None] - value_NKF[:, None]).round(DECIMALS))
    rank_NKF = (above_NKKF.mean(axis=2) + 1) / 2
    return np.concatenate([value_NKF, difference_NKF, rank_NKF], axis=2).reshape(
        len(sets) * sets.size, -1
    )


def make_all_features(sets: RetrievalSets) -> np.ndarray:
    """Return the relative features and those of words (M, F)."""
    return np.hstack([make_relative_features(sets), make_word_features(sets)])


def make_word_features(sets: RetrievalSets) -> np.ndarray:
    """Return the counts of the ``TREE_WORDS`` most frequent words in each caption, minus the mean of the set (M, F)."""
    count_MV = count_ngrams(sets, token_pattern=TOKEN.pattern)
    frequent = np.argsort(-np.asarray(count_MV.sum(axis=0)).ravel(), kind="stable")[:TREE_WORDS]
    count_NKF = count_MV[:, frequent].toarray().astype(np.float32).reshape(len(sets), sets.size, -1)
    return (count_NKF - count_NKF.mean(axis=1, keepdims=True)).reshape(len(sets) * sets.size, -1)


def _make_values(sets: RetrievalSets) -> np.ndarray:
    """Return values of each caption alone (N, K, F): length and structure, and the likelihood of n-gram models."""
    form_NKF = np.array([make_form_features(text) for text in sets.texts]).reshape(
        len(sets), sets.size, -1
    )
    likelihood_NKF = np.stack([score_ngram_likelihood(sets, order) for order in (1, 2, 3)], axis=2)
    return np.concatenate([form_NKF, likelihood_NKF], axis=2)


@lru_cache(maxsize=1)  # the rounds of refinement use the same sets
def _make_distance_values(
    captions_N: tuple[tuple[str, ...], ...], images: tuple[str, ...]
) -> np.ndarray:
    """Return values of each caption among the others (N, K, F): distances and the positions of the differences."""
    rows = []
    sets = RetrievalSets(captions_N, images)
    for captions, cosine_K in zip(sets.captions, score_nearest_to_mean(sets), strict=True):
        tokens = _tokenize(captions)
        bags = [sorted(words) for words in tokens]  # their distances ignore the order
        distances = (_edit_distances(captions), _distances(tokens), _distances(bags))
        summaries = [summary for distance_KK in distances for summary in _summarise(distance_KK)]
        rows.append(np.stack([*summaries, cosine_K, _positions(tokens)], axis=1))
    return np.array(rows)


def _summarise(distance_KK: np.ndarray) -> Sequence[np.ndarray]:
    """Return the mean, smallest and largest distance of each caption to the others, and their deviation (K each)."""
    others = np.array(
        [np.delete(row, index) for index, row in enumerate(distance_KK)], dtype=np.float64
    )
    return others.mean(axis=1), others.min(axis=1), others.max(axis=1), others.std(axis=1)


def _edit_distances(captions: Sequence[str]) -> np.ndarray:
    return _distances([text.lower() for text in captions])


def _tokenize(captions: Sequence[str]) -> list[list[str]]:
    return [TOKEN.findall(text.lower()) for text in captions]


def _distances(sequences: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return the edit distance of each pair of sequences (K, K)."""
    return np.array(
        [[Levenshtein.distance(first, second) for second in sequences] for first in sequences]
    )


def _positions(tokens: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the mean relative position of the first word in which each caption differs from each other one (K)."""
    shares = [
        [_count_equal(first, second) / max(len(first), 1) for second in tokens] for first in tokens
    ]
    return np.array([np.mean(row) for row in shares])


def _count_equal(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of words before the first difference."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    )


def _to_dense_sets(sets: RetrievalSets) -> list[np.ndarray]:
    """Return the TF-IDF vectors of each set (K, words of the set).

    The document frequencies are those of other images: the captions of one image share facts, so a word that is
    frequent in its other sets is probably true. If all sets are of one image, they are those of these sets.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    count_MF = count_ngrams(sets, token_pattern=TOKEN.pattern, ngram_range=(1, 2))
    every_row = np.arange(len(sets))
    vectors = [np.zeros((sets.size, 1))] * len(sets)  # of sets without other images to learn from
    for train, test in list(sets.splits()) or [(every_row, every_row)]:
        transformer = TfidfTransformer().fit(count_MF[sets.text_indices(train).ravel()])
        for row in test:
            weight_KF: Any = transformer.transform(
                count_MF[sets.text_indices(np.array([row])).ravel()]
            )
            vectors[int(row)] = weight_KF[:, np.unique(weight_KF.indices)].toarray()
    return vectors


def score_left_out(sets: RetrievalSets, prior: float = 1.0) -> np.ndarray:
    """Score by what the set leaves out: how often each word of a caption was true when the same words were absent.

    If foils are selected by the true word, the members of its family that no caption has reveal which of the others is
    true. The family of a word is the words that differ between the captions of some set together with it.
    ``prior`` is added to all counts.
    """
    has_MV = count_ngrams(
        sets, token_pattern=TOKEN.pattern, binary=True, max_features=MAX_PAIRED_WORDS
    )
    has_NKV = has_MV.toarray().astype(np.float32).reshape(len(sets), sets.size, -1)
    differs_NV = has_NKV.max(axis=1) - has_NKV.min(axis=1)
    own_NKV = has_NKV * differs_NV[:, None]
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        differs_TV = differs_NV[train]
        true_TV = own_NKV[train, 0]
        false_TV = own_NKV[train, 1:].mean(axis=1)
        absent_TV = 1 - differs_TV
        absent_QV = 1 - differs_NV[test]
        weight_VV = np.log((true_TV.T @ absent_TV + prior) / (false_TV.T @ absent_TV + prior))
        weight_VV *= differs_TV.T @ differs_TV > 0
        score_NK[test] = np.einsum("nkv,nv->nk", own_NKV[test], absent_QV @ weight_VV.T)
    return score_NK


def score_other_rows(sets: RetrievalSets, order: int = 3) -> np.ndarray:
    """Score by how often the other sets of the image have the n-grams that not all captions of this set have.

    Captions of one image share facts, so that one set may state what is true in another. N-grams have at most ``order``
    words. Only sets that may be trained on count as other ones.
    """
    from scipy.sparse import csr_matrix

    has_MF = count_ngrams(sets, token_pattern=TOKEN.pattern, ngram_range=(1, order), binary=True)
    rows = np.arange(len(sets))
    row_M = np.repeat(rows, sets.size)
    count_NF = csr_matrix(
        csr_matrix((np.ones(len(row_M)), (row_M, np.arange(len(row_M))))) @ has_MF
    )
    image_N = np.unique(np.asarray(sets.images), return_inverse=True)[1]
    known_N = np.ones(len(sets)) if sets.trainable_N is None else sets.trainable_N.astype(float)
    known_NF = count_NF.multiply(known_N[:, None]).tocsr()
    image_CF = csr_matrix((np.ones(len(rows)), (image_N, rows))) @ known_NF
    differs_NF = count_NF.copy()
    differs_NF.data = (count_NF.data < sets.size).astype(float)
    other_NF = (image_CF[image_N] - known_NF).multiply(differs_NF).tocsr()
    return np.asarray(has_MF.multiply(other_NF[row_M]).sum(axis=1)).reshape(len(sets), sets.size)
