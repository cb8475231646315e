"""Text-only baselines, which try to select the true caption of a retrieval set without the image.

Accuracy above chance shows a cue in the text (SugarCrepe, arXiv:2306.14610, section 3). Each baseline reads one caption
at a time, as an encoder does; relative_baselines.py has baselines that compare captions. Trained baselines are
cross-fitted over images: a model never scores a caption of an image on which it was trained. A new baseline is written
in judges.py; this module has the functions that the generation of CREPE needs (refinement.py), too.

Shapes: N retrieval sets of K captions, with the true caption in column 0; M = N K texts, F features. Tied captions
share the hit, so that a baseline that assigns the same score to all captions is at chance, 1/K.

scikit-learn and SciPy are imported where models are fitted, because they take seconds to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from compeval.base.text_only.ngram import FOLDS, TOKEN, NgramModel, assign_folds
from compeval.base.texts import words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RANDOM_BASELINES = 48
FUNCTION_WORDS = {
    "a", "an", "the", "and", "of", "to", "that", "which", "who", "there", "it", "is", "are", "with", "not", "no",
    ".", ",",
}  # fmt: skip
"""Words that ordered pairs leave out."""
MAX_ORDERED_WORDS = 64
"""Words of a caption whose pairs in order are listed: 2,016 pairs. Captions of images have fewer words."""
MAX_CHARACTERS = 5000
"""Characters of a text that baselines read: edit distances take time in proportion to their square."""
MAX_PAIRED_WORDS = 2000
"""Number of words whose pairs are counted, in a dense matrix."""
BLOCK_TEXTS = 6000
"""Number of texts whose word pairs are scored at a time, which takes 100 MB."""
DECIMALS = 9
"""Scores are rounded before they are compared, because the order of summation changes the last digits."""


@dataclass(frozen=True, eq=False)
class RetrievalSets:
    """N lists of K captions, with the true caption first, and the image of each list.

    Two objects are never equal: what is computed for one is cached by its identity (relative_baselines.py).
    """

    captions: Sequence[Sequence[str]]
    images: Sequence[str]
    trainable_N: np.ndarray | None = None
    """Boolean mask of the sets on which baselines may be trained. None means all sets."""

    @classmethod
    def of_any_texts(
        cls, captions: Iterable[Sequence[str]], images: Sequence[str]
    ) -> RetrievalSets:
        """Return the sets of texts of unknown length. Of long ones, the first ``MAX_CHARACTERS`` are read."""
        return cls([[text[:MAX_CHARACTERS] for text in texts] for texts in captions], images)

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

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each of the M ``texts``."""
        return [words(text) for text in self.texts]

    def take(self, rows: np.ndarray) -> RetrievalSets:
        """Return the sets at the indices ``rows``, in that order. Baselines may be trained on all of them."""
        return RetrievalSets(
            [self.captions[int(row)] for row in rows],
            [self.images[int(row)] for row in rows],
        )

    def select(self, keep_N: np.ndarray) -> RetrievalSets:
        return self.take(np.flatnonzero(keep_N))

    @cached_property
    def _folds(self) -> np.ndarray:
        """Fold of the image of each set (N)."""
        fold_of = assign_folds(self.images)
        return np.array([fold_of[image] for image in self.images])

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and test indices of each fold. If all sets have the same image, yield nothing."""
        fold_N = self._folds
        trainable_N = (
            np.ones(len(self), dtype=bool) if self.trainable_N is None else self.trainable_N
        )
        for fold in range(FOLDS):
            test_N = fold_N == fold
            train_N = trainable_N & ~test_N
            if test_N.any() and train_N.any():
                yield np.flatnonzero(train_N), np.flatnonzero(test_N)

    def text_indices(self, rows: np.ndarray) -> np.ndarray:
        """Return the indices in ``texts`` of the captions of the sets at ``rows`` (rows, K)."""
        return rows[:, None] * self.size + np.arange(self.size)


def split_pairs(sets: RetrievalSets) -> RetrievalSets:
    """Return the pairs (N (K - 1)) of each truth and one of its negatives, set by set."""
    pairs = [(truth, negative) for truth, *negatives in sets.captions for negative in negatives]
    return RetrievalSets(pairs, [image for image in sets.images for _ in range(sets.size - 1)])


def measure_on_pairs(sets: RetrievalSets, baseline: Baseline) -> np.ndarray:
    """Return the share of the pairs of each set (N) that a baseline orders correctly if it reads only the pair.

    A tie counts half. Baselines that compare the captions of a set, such as the medoid, are at chance on pairs.
    """
    return recall_at_1(baseline(split_pairs(sets))).reshape(len(sets), sets.size - 1).mean(axis=1)


Baseline = Callable[[RetrievalSets], np.ndarray]
"""Returns the scores (N, K) of all captions. A higher score is more likely true."""

Group = Literal["cue", "refining", "held_out", "unseen", "comparing"]
"""``cue``: reads one property. ``refining``: used by refinement.
``held_out``: of the same families with other sizes. ``unseen``: of other families. ``comparing``: compares the
captions of a set with each other."""


class Judge(NamedTuple):
    """A text-only baseline, and the uses for which it is selected (judges.py)."""

    score: Baseline
    group: Group
    label: str = ""
    """Name in tables. Default: the key, with spaces."""
    learns: bool = True
    """True if it is trained on other sets."""
    reads: Literal["caption", "set"] = "caption"
    """``set``: the score of a caption depends on the other captions of its set, or on other sets of its image."""
    audited: Literal["fast", "slow", "never"] = "never"
    """``fast``: part of `compeval audit` and `inspect`. ``slow``: takes more than a few seconds on a thousand rows, and
    is part of `inspect` only."""


def recall_at_1(score_NK: np.ndarray) -> np.ndarray:
    """Return the recall@1 of each set (N): 1 if only the truth has the highest score, 1/T if T captions share it."""
    rounded_NK = np.round(score_NK, DECIMALS)
    top_NK = rounded_NK == rounded_NK.max(axis=1, keepdims=True)
    return top_NK[:, 0] / top_NK.sum(axis=1)


def measure_pairwise_accuracy(score_NK: np.ndarray) -> np.ndarray:
    """Return the share of negatives with a lower score than the truth (N). Ties count half; chance is 1/2."""
    rounded_NK = np.round(score_NK, DECIMALS)
    truth_N1 = rounded_NK[:, :1]
    other_NK = rounded_NK[:, 1:]
    return ((truth_N1 > other_NK) + 0.5 * (truth_N1 == other_NK)).mean(axis=1)


def score_by_function(
    sets: RetrievalSets, function: Callable[[str], float], sign: int = 1
) -> np.ndarray:
    return sign * np.array(
        [[function(text) for text in captions] for captions in sets.captions], dtype=np.float64
    )


def count_words(text: str) -> int:
    return len(text.split())


def cross_fit(
    sets: RetrievalSets, feature_M: Any, fit: Callable[[np.ndarray], Callable[[Any], Any]]
) -> np.ndarray:
    """Return the scores (N, K) of models that are trained on the other folds.

    ``fit`` gets the indices of the training texts (T, K), with the true ones in column 0, and returns a function from
    some elements of ``feature_M`` (the texts or their features) to their scores. Sets that have nothing to be trained
    on score 0.
    """
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        train_TK = sets.text_indices(train)
        test_TK = sets.text_indices(test)
        score = fit(train_TK)
        scores = score(feature_M[test_TK.ravel()])
        score_NK[test] = np.asarray(scores).reshape(test_TK.shape)
    return score_NK


def score_ngram_likelihood(sets: RetrievalSets, order: int) -> np.ndarray:
    """Score by an n-gram model of the true captions of other images."""
    text_M = np.array(sets.texts, dtype=object)
    return cross_fit(
        sets, text_M, lambda index_TK: NgramModel.of(text_M[index_TK[:, 0]].tolist(), order).score
    )


def count_ngrams(sets: RetrievalSets, **options: Any) -> csr_matrix:
    """Return the counts (M, F) of scikit-learn's CountVectorizer; one column of zeros if no text has an n-gram."""
    return _count_ngrams(tuple(sets.texts), tuple(sorted(options.items())))


@lru_cache(maxsize=12)  # the rounds of refinement count the same n-grams
def _count_ngrams(texts: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> csr_matrix:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(**dict(options))
    if not any(map(vectorizer.build_analyzer(), texts)):
        return csr_matrix((len(texts), 1))
    return csr_matrix(vectorizer.fit_transform(texts), dtype=np.float64)


def score_linear(sets: RetrievalSets, **options: Any) -> np.ndarray:
    """Score by a linear model of word or character n-grams."""
    return _fit_linear(sets, count_ngrams(sets, **options))


def score_form(sets: RetrievalSets) -> np.ndarray:
    """Score by a linear model of length and structure.

    The only words that it reads are "a", "the", "and", "there", "not" and "no".
    """
    from scipy.sparse import csr_matrix

    feature_MF = np.array([make_form_features(text) for text in sets.texts], dtype=np.float64)
    scale_F = feature_MF.std(axis=0)
    return _fit_linear(sets, csr_matrix(feature_MF / np.where(scale_F > 0, scale_F, 1)))


def make_form_features(text: str) -> list[float]:
    tokens = TOKEN.findall(text.lower())
    negations = [position for position, token in enumerate(tokens) if token in ("not", "no")]
    groups = (("a", "an"), ("the",), ("and",), ("there",), (".",), (",",))
    return [
        len(text),
        len(tokens),
        len(set(tokens)),
        *(sum(token in group for token in tokens) for group in groups),
        len(negations),
        negations[0] / len(tokens) if negations else -1,
    ]


def _fit_linear(sets: RetrievalSets, feature_MF: csr_matrix) -> np.ndarray:
    """Score by logistic regression on the differences between the features of truths and of their negatives."""
    from scipy.sparse import diags_array
    from sklearn.linear_model import LogisticRegression

    def fit(index_TK: np.ndarray) -> Callable[[csr_matrix], np.ndarray]:
        pair_P2 = np.stack(
            [np.repeat(index_TK[:, 0], sets.size - 1), index_TK[:, 1:].ravel()], axis=1
        )
        pair_P2 = np.resize(pair_P2, (max(2, len(pair_P2)), 2))  # repeat a single pair
        # Mirror every second pair, to get two classes.
        sign_P = np.where(np.arange(len(pair_P2)) % 2 == 0, 1.0, -1.0)
        difference_PF = diags_array(sign_P) @ (
            feature_MF[pair_P2[:, 0]] - feature_MF[pair_P2[:, 1]]
        )
        model = LogisticRegression(fit_intercept=False, solver="liblinear", random_state=0)
        weight_F = model.fit(difference_PF, sign_P).coef_[0]
        return lambda test_MF: test_MF @ weight_F

    return cross_fit(sets, feature_MF, fit)


def score_naive_bayes(sets: RetrievalSets, **options: Any) -> np.ndarray:
    """Score by the log-odds of multinomial naive Bayes over word n-grams."""
    from sklearn.naive_bayes import MultinomialNB

    feature_MF = count_ngrams(sets, **options)

    def fit(index_TK: np.ndarray) -> Callable[[csr_matrix], np.ndarray]:
        index_M = index_TK.ravel()
        log_NF = np.asarray(
            MultinomialNB().fit(feature_MF[index_M], index_M % sets.size == 0).feature_log_prob_
        )
        return lambda test_MF: test_MF @ (log_NF[1] - log_NF[0])

    return cross_fit(sets, feature_MF, fit)


def score_cooccurrence(sets: RetrievalSets) -> np.ndarray:
    """Score by the pointwise mutual information of all pairs of words in the true captions of other images.

    Finds captions whose words fit each other: a carrot next to a horse, not a cactus. Source: Church and Hanks (1990).
    """

    def weigh(count_VV: np.ndarray, _: np.ndarray, captions: int) -> np.ndarray:
        words_V = np.diag(count_VV)
        pmi_VV = np.log((count_VV + 0.5) / (np.outer(words_V, words_V) / captions + 0.5))
        np.fill_diagonal(pmi_VV, 0)
        return pmi_VV

    return _score_word_pairs(sets, weigh)


def list_ordered_pairs(text: str) -> list[str]:
    """Return all pairs of words of a caption in their order, at any distance, without ``FUNCTION_WORDS``.

    Of a longer caption, the pairs of its first ``MAX_ORDERED_WORDS`` words, since their number is quadratic.
    """
    words = [token for token in TOKEN.findall(text.lower()) if token not in FUNCTION_WORDS]
    return [f"{first} {second}" for first, second in combinations(words[:MAX_ORDERED_WORDS], 2)]


def score_word_pairs_naive_bayes(sets: RetrievalSets) -> np.ndarray:
    """Score by the log-odds of naive Bayes over pairs of words, at any distance."""

    def weigh(true_VV: np.ndarray, false_VV: np.ndarray, _: int) -> np.ndarray:
        return np.log((true_VV + 1) / (true_VV + 1).sum()) - np.log(
            (false_VV + 1) / (false_VV + 1).sum()
        )

    return _score_word_pairs(sets, weigh)


def _score_word_pairs(
    sets: RetrievalSets, weigh: Callable[[np.ndarray, np.ndarray, int], np.ndarray]
) -> np.ndarray:
    """Score by the sum of the weights of all pairs of the ``MAX_PAIRED_WORDS`` most frequent words.

    ``weigh`` gets the numbers of true captions and of negatives with both words (V, V), and of true captions.
    """
    has_word_MV = count_ngrams(
        sets, token_pattern=TOKEN.pattern, binary=True, max_features=MAX_PAIRED_WORDS
    )

    def fit(index_TK: np.ndarray) -> Callable[[Any], np.ndarray]:
        parts = has_word_MV[index_TK[:, 0]], has_word_MV[index_TK[:, 1:].ravel()]
        true_VV, false_VV = ((part.T @ part).toarray() for part in parts)
        weight_VV = weigh(true_VV, false_VV, len(index_TK))

        def score(test_MV: Any) -> np.ndarray:
            blocks = (
                test_MV[start : start + BLOCK_TEXTS]
                for start in range(0, test_MV.shape[0], BLOCK_TEXTS)
            )
            return np.concatenate(
                [block.multiply(block @ weight_VV).sum(axis=1) for block in blocks]
            )

        return score

    return cross_fit(sets, has_word_MV, fit)


def measure_random_recall(sets: RetrievalSets) -> np.ndarray:
    """Return the mean recall@1 of each set (2, N) over ``RANDOM_BASELINES`` baselines with random weights.

    Each baseline sums random weights of words; a word before a full stop counts as a different word. In the first row
    all weights are positive, so that longer captions win; in the second row all are negative. If the negatives are
    edits of the truth in different positions, the result is below 1/K, because the truth must win a random comparison
    at each position.
    """
    feature_MF = count_ngrams(sets, token_pattern=r"\S+")
    weight_FG = np.random.default_rng(0).random((feature_MF.indices.max() + 1, RANDOM_BASELINES))
    score_NKG = (feature_MF @ weight_FG).reshape(len(sets), sets.size, RANDOM_BASELINES)
    return np.array(
        [
            np.mean(
                [recall_at_1(sign * score_NKG[..., g]) for g in range(RANDOM_BASELINES)], axis=0
            )
            for sign in (1, -1)
        ]
    )


score_words = partial(score_linear, token_pattern=TOKEN.pattern)
score_characters = partial(score_linear, analyzer="char_wb")
score_words_naive_bayes = partial(score_naive_bayes, token_pattern=TOKEN.pattern)
score_ordered_pairs = partial(score_linear, analyzer=list_ordered_pairs)
"""Finds which word comes first: swaps have the same words in another order."""
