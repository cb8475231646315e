"""Text-only scorers, which try to pick the true caption of a retrieval set without the image.

Accuracy above chance is a cue in the text (SugarCrepe, arXiv:2306.14610, section 3). Each scorer reads one caption at a
time, as an encoder does. Trained scorers are cross-fitted over images, so no caption is scored by a model that was
trained on its image. ``REFINEMENT_SCORERS`` are those that refinement.py balances; ``HELD_OUT_SCORERS`` evaluate the
result (evaluators/validity/text_only.py).

Shapes: N retrieval sets of K captions, the true one in column 0; M = N K texts, F features. A tie is shared, so a
scorer that gives all captions one score is at chance, 1/K.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from generators.hard_negatives.ngram import FOLDS, TOKEN, NgramModel, assign_folds, tokenize

RANDOM_SCORERS = 48
DECIMALS = 9
"""Scores are rounded before they are compared: sums of the same terms differ by their order."""


@dataclass(frozen=True)
class RetrievalSets:
    """N lists of K captions, the true one first, and the image of each."""

    captions: Sequence[Sequence[str]]
    images: Sequence[str]
    trainable_N: np.ndarray | None = None
    """Boolean mask of the sets that scorers may be trained on; None for all."""

    def __len__(self) -> int:
        return len(self.captions)

    @property
    def size(self) -> int:
        return len(self.captions[0])

    @property
    def chance(self) -> float:
        return 1 / self.size

    @property
    def texts(self) -> list[str]:
        """All N x K captions, set by set."""
        return [text for captions in self.captions for text in captions]

    def at(self, rows: np.ndarray) -> RetrievalSets:
        """Return the sets at the indices ``rows``, in that order."""
        return RetrievalSets([self.captions[int(row)] for row in rows], [self.images[int(row)] for row in rows])

    def where(self, keep_N: np.ndarray) -> RetrievalSets:
        return self.at(np.flatnonzero(keep_N))

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and the test indices of each fold; nothing if all sets are of one image."""
        fold_of = assign_folds(self.images)
        fold_N = np.array([fold_of[image] for image in self.images])
        trainable_N = np.ones(len(self), dtype=bool) if self.trainable_N is None else self.trainable_N
        for fold in range(FOLDS):
            test_N = fold_N == fold
            train_N = trainable_N & ~test_N
            if test_N.any() and train_N.any():
                yield np.flatnonzero(train_N), np.flatnonzero(test_N)

    def texts_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the indices in ``texts`` of all captions of the sets at ``rows``."""
        return (rows[:, None] * self.size + np.arange(self.size)).ravel()


Scorer = Callable[[RetrievalSets], np.ndarray]
"""Returns scores (N, K) of all captions; a higher score is more likely true."""


def recall_at_1(score_NK: np.ndarray) -> np.ndarray:
    """Return the recall@1 of each set (N): 1 if only the truth has the highest score, 1/T if it is one of T."""
    rounded_NK = np.round(score_NK, DECIMALS)
    top_NK = rounded_NK == rounded_NK.max(axis=1, keepdims=True)
    return top_NK[:, 0] / top_NK.sum(axis=1)


def pairwise_accuracy(score_NK: np.ndarray) -> np.ndarray:
    """Return the share of its negatives that each truth beats (N), ties counted half; chance 1/2."""
    rounded_NK = np.round(score_NK, DECIMALS)
    truth_N1, other_NK = rounded_NK[:, :1], rounded_NK[:, 1:]
    return ((truth_N1 > other_NK) + 0.5 * (truth_N1 == other_NK)).mean(axis=1)


def measure(sets: RetrievalSets, function: Callable[[str], float], sign: int = 1) -> np.ndarray:
    return sign * np.array([[function(text) for text in captions] for captions in sets.captions], dtype=np.float64)


def word_count(text: str) -> int:
    return len(text.split())


def likelihood(sets: RetrievalSets, order: int) -> np.ndarray:
    """Score by an n-gram model of the true captions of other images."""
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        model = NgramModel.of([sets.captions[int(row)][0] for row in train], order)
        for row in test:
            score_NK[row] = model.score(sets.captions[int(row)])
    return score_NK


# scikit-learn is imported where it is used: it takes seconds to load, and datasets are built without it by default.


def counts(sets: RetrievalSets, **options: Any) -> sparse.csr_matrix:
    """Return the counts (M, F) of scikit-learn's CountVectorizer."""
    from sklearn.feature_extraction.text import CountVectorizer

    return sparse.csr_matrix(CountVectorizer(**options).fit_transform(sets.texts), dtype=np.float64)


def bag(sets: RetrievalSets, **options: Any) -> np.ndarray:
    """Score by a linear model of word or character n-grams."""
    return _linear(sets, counts(sets, **options))


def form(sets: RetrievalSets) -> np.ndarray:
    """Score by a linear model of length and structure; the only words are "a", "the", "and", "there", "not", "no"."""
    feature_MF = np.array([_form(text) for text in sets.texts], dtype=np.float64)
    scale_F = feature_MF.std(axis=0)
    return _linear(sets, sparse.csr_matrix(feature_MF / np.where(scale_F > 0, scale_F, 1)))


def _form(text: str) -> list[float]:
    tokens = TOKEN.findall(text.lower())
    negations = [place for place, token in enumerate(tokens) if token in ("not", "no")]
    groups = (("a", "an"), ("the",), ("and",), ("there",), (".",), (",",))
    return [
        len(text),
        len(tokens),
        len(set(tokens)),
        *(sum(token in group for token in tokens) for group in groups),
        len(negations),
        negations[0] / len(tokens) if negations else -1,
    ]


def _linear(sets: RetrievalSets, feature_MF: sparse.csr_matrix) -> np.ndarray:
    """Score by logistic regression on the differences between truths and their own negatives."""
    from sklearn.linear_model import LogisticRegression

    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        truth = np.repeat(train * sets.size, sets.size - 1)
        others = sets.texts_of(train).reshape(-1, sets.size)[:, 1:].ravel()
        truth, others = (np.resize(places, max(2, len(places))) for places in (truth, others))  # one pair counts twice
        sign_P = np.where(np.arange(len(truth)) % 2 == 0, 1.0, -1.0)  # two classes, the second one mirrored
        difference_PF = sparse.diags_array(sign_P) @ (feature_MF[truth] - feature_MF[others])
        model = LogisticRegression(fit_intercept=False, solver="liblinear", random_state=0)
        weight_F = model.fit(difference_PF, sign_P).coef_[0]
        score_NK[test] = (feature_MF[sets.texts_of(test)] @ weight_F).reshape(-1, sets.size)
    return score_NK


def bayes(sets: RetrievalSets, **options: Any) -> np.ndarray:
    """Score by the log-odds of multinomial naive Bayes over word n-grams."""
    from sklearn.naive_bayes import MultinomialNB

    feature_MF = counts(sets, **options)
    score_NK = np.zeros((len(sets), sets.size))
    is_true_M = np.arange(len(sets) * sets.size) % sets.size == 0
    for train, test in sets.splits():
        rows = sets.texts_of(train)
        model = MultinomialNB().fit(feature_MF[rows], is_true_M[rows])
        log_NF = np.asarray(model.feature_log_prob_)
        score_NK[test] = (feature_MF[sets.texts_of(test)] @ (log_NF[1] - log_NF[0])).reshape(-1, sets.size)
    return score_NK


def random_recall(sets: RetrievalSets) -> np.ndarray:
    """Return the recall@1 of each set (2, N) by scorers without knowledge, averaged over ``RANDOM_SCORERS``.

    Each sums random weights of words (a word before a full stop is a word of its own): all positive, so that longer
    captions win, or all negative. The result is below 1/K if the negatives are edits of the truth in different
    positions, because the truth must win a random comparison at each of them.
    """
    feature_MF = counts(sets, token_pattern=r"\S+")
    weight_FG = np.random.default_rng(0).random((feature_MF.indices.max() + 1, RANDOM_SCORERS))
    score_NKG = (feature_MF @ weight_FG).reshape(len(sets), sets.size, RANDOM_SCORERS)
    return np.array(
        [np.mean([recall_at_1(sign * score_NKG[..., g]) for g in range(RANDOM_SCORERS)], axis=0) for sign in (1, -1)]
    )


def most_alike(sets: RetrievalSets) -> np.ndarray:
    """Score by the bigram overlap with the other captions of the set: the only scorer that compares captions.

    If each negative is one edit away from the truth, and two from the others, the truth is the medoid of the set. An
    encoder, which reads one caption at a time, cannot use that.
    """
    return np.array([_overlaps(captions) for captions in sets.captions])


def _overlaps(captions: Sequence[str]) -> list[float]:
    bags = [Counter(pairwise(tokenize(text, 2))) for text in captions]
    return [sum((bag & other).total() / max((bag | other).total(), 1) for other in bags) for bag in bags]


words = partial(bag, token_pattern=TOKEN.pattern)
characters = partial(bag, analyzer="char_wb")
words_bayes = partial(bayes, token_pattern=TOKEN.pattern)

REFINEMENT_SCORERS: Mapping[str, Scorer] = {
    "longest": partial(measure, function=len),
    "shortest": partial(measure, function=len, sign=-1),
    "bigram_model": partial(likelihood, order=2),
    "words": words,
    "bigrams": partial(words, ngram_range=(2, 2)),
    "naive_bayes_of_words": words_bayes,
    "character_bigrams": partial(characters, ngram_range=(2, 2)),
    "character_four_grams": partial(characters, ngram_range=(4, 4)),
    "character_five_grams": partial(characters, ngram_range=(5, 5)),
}
"""Of each family, members on both sides of the held-out one: being at chance under one does not imply it for others."""
HELD_OUT_SCORERS: Mapping[str, Scorer] = {
    "wordiest": partial(measure, function=word_count),
    "tersest": partial(measure, function=word_count, sign=-1),
    "trigram_model": partial(likelihood, order=3),
    "character_trigrams": partial(characters, ngram_range=(3, 3)),
    "naive_bayes": partial(words_bayes, ngram_range=(1, 2)),
    "form": form,
}
