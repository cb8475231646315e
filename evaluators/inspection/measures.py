"""Measure text-only baselines on a set, and test how its true captions differ from its negatives.

Shapes: N rows of K candidates, with the true caption in column 0; V words; C images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

from compeval.base.text_only.baselines import (
    RetrievalSets,
    count_words,
    recall_at_1,
    score_by_function,
    score_ngram_likelihood,
)
from compeval.base.text_only.judges import select_audited
from compeval.base.text_only.ngram import TOKEN
from compeval.evaluators.inspection.rows import SetRows
from compeval.evaluators.metrics.statistics import correct_by_holm
from compeval.evaluators.validity.best_baselines import beats_chance
from compeval.evaluators.validity.text_only import describe_scores

MIN_IMAGES = 10
"""Fewest images with a difference for which a test is computed, and fewest rows of which a baseline is judged."""
MAX_WORDS = 15
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Contrast:
    """A mean over the true captions against that over their negatives, and the p-value of the difference."""

    name: str
    truth: float
    negatives: float
    p: float | None
    """p-value, for words Holm-corrected over all words; None if fewer than ``MIN_IMAGES`` images have a difference."""


@dataclass(frozen=True)
class SetReport:
    """The measures of a set that the page shows. Shares are fractions of 1."""

    name: str
    rows: int
    images: int
    candidates: Mapping[int, int]
    sampled: int
    """Number of rows, with the most frequent number of candidates, that baselines and contrasts are measured on."""
    chance: float
    rules: Mapping[str, Mapping[str, Any]]
    """Text-only baseline -> ``recall@1``, ``interval``, ``pairwise_accuracy``."""
    contrasts: list[Contrast]
    words: list[Contrast]
    """Words that are significantly more or less frequent in true captions, most significant first."""
    duplicates: Mapping[str, int]
    flaws: list[str]
    hits: Mapping[str, list[float]] = field(default_factory=dict, repr=False)
    """Text-only baseline -> its Recall@1 on each sampled row."""
    predictability: list[float] = field(default_factory=list, repr=False)
    """The share of the baselines that select the true caption, of each sampled row (evaluators/inspection/rows.py)."""

    @property
    def best_baseline(self) -> str:
        return max(self.rules, key=lambda name: self.rules[name]["recall@1"])

    @property
    def best_recall(self) -> float:
        return self.rules[self.best_baseline]["recall@1"]

    @property
    def above_chance(self) -> list[str]:
        """The baselines more than ``CUE_MARGIN`` above chance, with their whole interval above it, the best first.

        None on a few rows: of five captions, the interval of one right answer is above chance.
        """
        if self.sampled < MIN_IMAGES:
            return []
        ranked = sorted(self.rules.items(), key=lambda item: -item[1]["recall@1"])
        return [
            key
            for key, scores in ranked
            if beats_chance(scores["recall@1"], scores["interval"], self.chance)
        ]


def measure_set(name: str, rows: SetRows) -> SetReport:
    sets = RetrievalSets.of_any_texts(
        [[row.caption, *row.hard_negatives] for row in rows.sample],
        [r.image_id for r in rows.sample],
    )
    values = {
        "words": score_by_function(sets, count_words),
        "characters": score_by_function(sets, len),
        "log-probability of a word (trigrams of other true captions)": score_ngram_likelihood(
            sets, 3
        ),
    }
    scores = {key: baseline(sets) for key, baseline in select_audited().items()}
    return SetReport(
        name=name,
        rows=rows.audit.rows,
        images=rows.images,
        candidates=rows.candidates,
        sampled=len(sets),
        chance=sets.chance,
        rules={key: describe_scores(score_NK, sets.images) for key, score_NK in scores.items()},
        contrasts=[contrast(name, value_NK, sets.images) for name, value_NK in values.items()],
        words=contrast_words(sets)[:MAX_WORDS],
        duplicates=rows.duplicates,
        flaws=rows.audit.flaws_found,
        hits={key: recall_at_1(score_NK).tolist() for key, score_NK in scores.items()},
        predictability=compute_predictability(scores.values()).tolist(),
    )


def compute_predictability(scores: Iterable[np.ndarray]) -> np.ndarray:
    """Return the text-only predictability s(x) of each row (N): the mean Recall@1 of text-only baselines on it.

    ``scores`` (N, K) are cross-fitted over images. Source: "Benchmark designers should train on the test set"
    (arXiv:2511.04655, TsT), which has the mean confidence of models of the texts of a question. Tied captions share the
    hit.
    """
    return np.mean([recall_at_1(score_NK) for score_NK in scores], axis=0)


def contrast(name: str, value_NK: np.ndarray, images: Sequence[str]) -> Contrast:
    """Compare a value of the true caption with the mean over its candidates.

    Under the null hypothesis, the true caption is a random one of the K candidates. The differences are summed by
    image, so that rows of an image may depend on each other; their sum over images is compared with a normal
    distribution.
    """
    difference_N = value_NK[:, 0] - value_NK.mean(axis=1)
    p_values = _test(sparse.csr_matrix(difference_N[:, None]), images)
    p = float(p_values[0])
    truth = float(value_NK[:, 0].mean())
    negatives = float(value_NK[:, 1:].mean())
    return Contrast(name, truth, negatives, None if np.isnan(p) else p)


def contrast_words(sets: RetrievalSets) -> list[Contrast]:
    """Return the words with significantly different shares of true captions and of negatives, by p-value."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(token_pattern=TOKEN.pattern, binary=True)
    has_word_MV = sparse.csr_matrix(vectorizer.fit_transform(sets.texts), dtype=np.float64)
    row_M = np.repeat(np.arange(len(sets)), sets.size)
    sum_NM = sparse.csr_matrix((np.ones(len(row_M)), (row_M, np.arange(len(row_M)))))
    truth_NV = has_word_MV[:: sets.size]
    total_NV = sum_NM @ has_word_MV
    p_V = _test(sparse.csr_matrix(truth_NV - total_NV / sets.size), sets.images)
    tested = np.flatnonzero(~np.isnan(p_V))
    if not len(tested):
        return []
    corrected = correct_by_holm(p_V[tested].tolist())
    truth_V = np.asarray(truth_NV.sum(axis=0)).ravel() / len(sets)
    negatives_V = np.asarray((total_NV - truth_NV).sum(axis=0)).ravel() / (
        len(sets) * (sets.size - 1)
    )
    words = vectorizer.get_feature_names_out()
    contrasts = [
        Contrast(str(words[word]), float(truth_V[word]), float(negatives_V[word]), p)
        for word, p in zip(tested, corrected, strict=True)
        if p < SIGNIFICANCE
    ]
    return sorted(contrasts, key=lambda word: (word.p, word.name))


def _test(difference_NV: sparse.csr_matrix, images: Sequence[str]) -> np.ndarray:
    """Return two-sided p-values (V) that differences have mean 0, NaN for too few images with a difference."""
    image_N = np.unique(np.asarray(images), return_inverse=True)[1]
    by_image_CN = sparse.csr_matrix((np.ones(len(image_N)), (image_N, np.arange(len(image_N)))))
    sum_CV = sparse.csr_matrix(by_image_CN @ difference_NV)
    sum_CV.data[np.abs(sum_CV.data) < 1e-9] = 0
    sum_CV.eliminate_zeros()
    total_V = np.asarray(sum_CV.sum(axis=0)).ravel()
    square_V = np.asarray(sum_CV.power(2).sum(axis=0)).ravel()
    enough_V = sum_CV.getnnz(axis=0) >= MIN_IMAGES
    z_V = np.divide(total_V, np.sqrt(square_V), out=np.full(len(total_V), np.nan), where=enough_V)
    return 2 * norm.sf(np.abs(z_V))
