"""Readers without eyes: text-only scorers that try to pick the true caption of a retrieval set.

What they get beyond chance is a cue in the words, not a fact in the picture (SugarCrepe, arXiv:2306.14610, section 3).
Each scores a caption by itself, as an encoder does; what learns, learns from other images (cross-fitting, so no caption
is scored by a model that saw its image). ``REFINING`` are what generators/hard_negatives/refinement.py balances,
``HELD_OUT`` what the result is judged by (evaluators/validity/text_only.py).

Shapes: N retrieval sets of K captions, the true one in column 0. Ties share the hit, so a scorer that sees no
difference is at chance, 1/K.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

FOLDS = 5
TOKEN = re.compile(r"\w+|[^\w\s]")
PRIOR = 10.0
"""So many sightings of a context is what the next lower order weighs."""
GUESSERS = 48
"""Scorers with random weights, whose mean stands for one that knows nothing."""
DECIMALS = 9
"""Scores that agree in so many are tied: sums of the same terms differ by their order."""


def folds(images: Iterable[str]) -> dict[str, int]:
    """The fold of each image; they are dealt out in the order of their hashes."""
    ordered = sorted(set(images), key=lambda image: hashlib.sha256(image.encode()).digest())
    return {image: place % FOLDS for place, image in enumerate(ordered)}


@dataclass(frozen=True)
class Sets:
    """Retrieval sets: N lists of K captions, the true one first, and the image of each."""

    captions: Sequence[Sequence[str]]
    images: Sequence[str]
    lesson_N: np.ndarray | None = None
    """Which of the sets may be learned from, as booleans; None for all."""

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

    def at(self, rows: np.ndarray) -> Sets:
        """Some of the sets, in the order of ``rows``."""
        return Sets([self.captions[int(row)] for row in rows], [self.images[int(row)] for row in rows])

    def where(self, keep_N: np.ndarray) -> Sets:
        return self.at(np.flatnonzero(keep_N))

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to learn from and rows to score, fold by fold; none where all are of one image."""
        fold_of = folds(self.images)
        fold_N = np.array([fold_of[image] for image in self.images])
        lesson_N = np.ones(len(self), dtype=bool) if self.lesson_N is None else self.lesson_N
        for fold in range(FOLDS):
            held_N = fold_N == fold
            learn_N = lesson_N & ~held_N
            if held_N.any() and learn_N.any():
                yield np.flatnonzero(learn_N), np.flatnonzero(held_N)


Scorer = Callable[[Sets], np.ndarray]
"""Scores (N, K) of all captions; the higher, the more it sounds true."""


def hits(score_NK: np.ndarray) -> np.ndarray:
    """Recall@1 of each set (N): 1 where the truth alone is on top, a share of it where it ties."""
    rounded_NK = np.round(score_NK, DECIMALS)
    top_NK = rounded_NK == rounded_NK.max(axis=1, keepdims=True)
    return top_NK[:, 0] / top_NK.sum(axis=1)


def duels(score_NK: np.ndarray) -> np.ndarray:
    """Share of its negatives that each truth beats (N), ties counted half; chance 1/2."""
    rounded_NK = np.round(score_NK, DECIMALS)
    truth_N1, other_NK = rounded_NK[:, :1], rounded_NK[:, 1:]
    return ((truth_N1 > other_NK) + 0.5 * (truth_N1 == other_NK)).mean(axis=1)


# Length


def longest(sets: Sets) -> np.ndarray:
    """By characters."""
    return _by_text(sets, len)


def shortest(sets: Sets) -> np.ndarray:
    return -longest(sets)


def wordiest(sets: Sets) -> np.ndarray:
    """By words."""
    return _by_text(sets, lambda text: len(text.split()))


def tersest(sets: Sets) -> np.ndarray:
    return -wordiest(sets)


def _by_text(sets: Sets, measure: Callable[[str], float]) -> np.ndarray:
    return np.array([[measure(text) for text in captions] for captions in sets.captions], dtype=np.float64)


# Likelihood under a language model of the true captions of other images


def bigram_model(sets: Sets) -> np.ndarray:
    return _likelihood(sets, 2)


def trigram_model(sets: Sets) -> np.ndarray:
    return _likelihood(sets, 3)


def _likelihood(sets: Sets, order: int) -> np.ndarray:
    score_NK = np.zeros((len(sets), sets.size))
    for learn, held in sets.splits():
        model = NgramModel.of([sets.captions[int(row)][0] for row in learn], order)
        for row in held:
            score_NK[row] = model.score(sets.captions[int(row)])
    return score_NK


@dataclass(frozen=True)
class NgramModel:
    """Word n-grams; each order is smoothed by the next lower one (Jelinek and Mercer 1980), single words evenly."""

    order: int
    grams: Mapping[tuple[str, ...], int]
    contexts: Mapping[tuple[str, ...], int]
    """How often something follows them."""
    words: int
    _known: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Logarithms that were worked out: the captions of a set share most of their n-grams."""

    @classmethod
    def of(cls, texts: Sequence[str], order: int) -> NgramModel:
        grams, contexts = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        words = set[str]()
        for text in texts:
            tokens = _tokens(text, order)
            words.update(tokens)
            for end in range(order, len(tokens) + 1):
                for length in range(1, order + 1):
                    gram = tokens[end - length : end]
                    grams[gram] += 1
                    contexts[gram[:-1]] += 1
        return cls(order, grams, contexts, len(words) + 1)

    def score(self, texts: Sequence[str]) -> list[float]:
        """Mean log-probability of a word."""
        return [self._score(_tokens(text, self.order)) for text in texts]

    def _score(self, tokens: tuple[str, ...]) -> float:
        grams = [tokens[end - self.order : end] for end in range(self.order, len(tokens) + 1)]
        return math.fsum(map(self._logarithm, grams)) / len(grams)

    def _logarithm(self, gram: tuple[str, ...]) -> float:
        if gram not in self._known:
            self._known[gram] = math.log(self._probability(gram))
        return self._known[gram]

    def _probability(self, gram: tuple[str, ...]) -> float:
        """Of an n-gram's last word after the others; an order's weight grows with how often its context was seen."""
        found = 1 / self.words
        for start in reversed(range(self.order)):
            seen = self.contexts.get(gram[start:-1], 0)
            share = self.grams.get(gram[start:], 0) / max(seen, 1)
            found = (seen * share + PRIOR * found) / (seen + PRIOR)
        return found


def _tokens(text: str, order: int) -> tuple[str, ...]:
    return (*["<s>"] * (order - 1), *TOKEN.findall(text.lower()), "</s>")


# Classifiers that learn from other images which captions are true. scikit-learn is imported where it is used: the sets
# are built without it unless they are refined, and it takes seconds to load.


def words(sets: Sets) -> np.ndarray:
    """A bag of words."""
    return _ranked(sets, _counted(sets, token_pattern=TOKEN.pattern))


def bigrams(sets: Sets) -> np.ndarray:
    """A bag of pairs of neighbours."""
    return _ranked(sets, _counted(sets, token_pattern=TOKEN.pattern, ngram_range=(2, 2)))


def character_bigrams(sets: Sets) -> np.ndarray:
    return _ranked(sets, _counted(sets, analyzer="char_wb", ngram_range=(2, 2)))


def character_trigrams(sets: Sets) -> np.ndarray:
    return _ranked(sets, _counted(sets, analyzer="char_wb", ngram_range=(3, 3)))


def character_four_grams(sets: Sets) -> np.ndarray:
    return _ranked(sets, _counted(sets, analyzer="char_wb", ngram_range=(4, 4)))


def character_five_grams(sets: Sets) -> np.ndarray:
    return _ranked(sets, _counted(sets, analyzer="char_wb", ngram_range=(5, 5)))


def form(sets: Sets) -> np.ndarray:
    """How long a caption is and how it is put together; no word but "a", "the", "and", "not" and "no"."""
    feature_MF = np.array([_form(text) for text in sets.texts], dtype=np.float64)
    scale_F = feature_MF.std(axis=0)
    return _ranked(sets, sparse.csr_matrix(feature_MF / np.where(scale_F > 0, scale_F, 1)))


def _form(text: str) -> list[float]:
    tokens = TOKEN.findall(text.lower())
    denials = [place for place, token in enumerate(tokens) if token in ("not", "no")]
    kinds = (("a", "an"), ("the",), ("and",), ("there",), (".",), (",",))
    return [
        len(text),
        len(tokens),
        len(set(tokens)),
        *(sum(token in kind for token in tokens) for kind in kinds),
        len(denials),
        denials[0] / len(tokens) if denials else -1,
    ]


def naive_bayes_of_words(sets: Sets) -> np.ndarray:
    """Words, each for itself."""
    return _odds(sets, _counted(sets, token_pattern=TOKEN.pattern))


def naive_bayes(sets: Sets) -> np.ndarray:
    """Words and pairs of neighbours, each for itself."""
    return _odds(sets, _counted(sets, token_pattern=TOKEN.pattern, ngram_range=(1, 2)))


def _odds(sets: Sets, feature_MF: sparse.csr_matrix) -> np.ndarray:
    """Scores of multinomial naive Bayes: how much likelier a truth has the features than a negative."""
    from sklearn.naive_bayes import MultinomialNB

    score_NK = np.zeros((len(sets), sets.size))
    is_true_M = np.arange(len(sets) * sets.size) % sets.size == 0
    for learn, held in sets.splits():
        rows = _texts_of(learn, sets.size)
        model = MultinomialNB().fit(feature_MF[rows], is_true_M[rows])
        log_NF = np.asarray(model.feature_log_prob_)
        score_NK[held] = (feature_MF[_texts_of(held, sets.size)] @ (log_NF[1] - log_NF[0])).reshape(-1, sets.size)
    return score_NK


def _counted(sets: Sets, **options: Any) -> sparse.csr_matrix:
    """The counts of scikit-learn's CountVectorizer."""
    from sklearn.feature_extraction.text import CountVectorizer

    return sparse.csr_matrix(CountVectorizer(**options).fit_transform(sets.texts), dtype=np.float64)


def _ranked(sets: Sets, feature_MF: sparse.csr_matrix) -> np.ndarray:
    """Scores of the linear model that best tells truths from their own negatives (logistic loss on differences)."""
    from sklearn.linear_model import LogisticRegression

    score_NK = np.zeros((len(sets), sets.size))
    for learn, held in sets.splits():
        truth = np.repeat(learn * sets.size, sets.size - 1)
        others = _texts_of(learn, sets.size).reshape(-1, sets.size)[:, 1:].ravel()
        truth, others = (np.resize(places, max(2, len(places))) for places in (truth, others))  # a lone pair twice
        sign_P = np.where(np.arange(len(truth)) % 2 == 0, 1.0, -1.0)  # two classes, of which one mirrors the other
        difference_PF = sparse.diags_array(sign_P) @ (feature_MF[truth] - feature_MF[others])
        model = LogisticRegression(fit_intercept=False, solver="liblinear", random_state=0)
        weight_F = model.fit(difference_PF, sign_P).coef_[0]
        score_NK[held] = (feature_MF[_texts_of(held, sets.size)] @ weight_F).reshape(-1, sets.size)
    return score_NK


def _texts_of(rows: np.ndarray, size: int) -> np.ndarray:
    """The places of all captions of some sets."""
    return (rows[:, None] * size + np.arange(size)).ravel()


# Guesses


def guessed(sets: Sets) -> np.ndarray:
    """Recall@1 of each set (2, N) by those who know nothing, averaged over ``GUESSERS``.

    Each adds up random weights of a caption's words (a word before a full stop is another one), all positive, so that
    more words are better, or all negative. They are below 1/K where the negatives are edits of the truth in different
    places, since it must win a guess at each of them.
    """
    feature_MF = _counted(sets, token_pattern=r"\S+")
    weight_FG = np.random.default_rng(0).random((feature_MF.indices.max() + 1, GUESSERS))
    score_NKG = (feature_MF @ weight_FG).reshape(len(sets), sets.size, GUESSERS)
    return np.array(
        [np.mean([hits(sign * score_NKG[..., guesser]) for guesser in range(GUESSERS)], axis=0) for sign in (1, -1)]
    )


# The set as a whole


def most_alike(sets: Sets) -> np.ndarray:
    """How much a caption has in common with the others of its set. No cue of the text: the only scorer that compares.

    Negatives that are one edit each away from the truth, and two from each other, give the truth away to it, whatever
    their words. An encoder, which reads each caption by itself, cannot use that.
    """
    return np.array([_overlaps(captions) for captions in sets.captions])


def _overlaps(captions: Sequence[str]) -> list[float]:
    bags = [Counter(pairwise(_tokens(text, 2))) for text in captions]
    return [sum((bag & other).total() / max((bag | other).total(), 1) for other in bags) for bag in bags]


REFINING: Mapping[str, Scorer] = {
    scorer.__name__: scorer
    for scorer in (
        longest,
        shortest,
        bigram_model,
        words,
        bigrams,
        naive_bayes_of_words,
        character_bigrams,
        character_four_grams,
        character_five_grams,
    )
}
"""Of each family some on both sides of what is held out, since rows on which one scorer is at chance by much effort are
not those on which its neighbours are."""
HELD_OUT: Mapping[str, Scorer] = {
    scorer.__name__: scorer for scorer in (wordiest, tersest, trigram_model, character_trigrams, naive_bayes, form)
}
