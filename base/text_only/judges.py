"""The text-only baselines that judge a set. To add one, write its function and its line in ``JUDGES``.

Refinement selects rows with baselines of its own (refinement.py), which judge, too. It imports nothing of this module,
so that a new judge makes no generated dataset stale. A set on which the baselines of refinement are at chance may still
have cues that other models find. The judges that it never uses are of other families: boosted trees, a conditional
logit (McFadden 1974), the contrast of two n-gram models, nearest neighbours.

All that learn are cross-fitted over images. transfer.py trains them on other sets. Shapes are those of baselines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    count_ngrams,
    count_words,
    cross_fit,
    list_ordered_pairs,
    score_by_function,
    score_characters,
    score_form,
    score_naive_bayes,
    score_ngram_likelihood,
    score_words_naive_bayes,
)
from compeval.base.text_only.cues import CUES
from compeval.base.text_only.ngram import TOKEN, NgramModel
from compeval.base.text_only.refinement import REFINEMENT_BASELINES
from compeval.base.text_only.relative_baselines import (
    make_all_features,
    score_by_classifier,
    score_learned,
    score_left_out,
    score_medoid_of_characters,
    score_medoid_of_words,
    score_nearest_to_mean,
    score_other_rows,
)

BOOSTING_STEPS, MAX_LEAVES = 60, 15
RIDGE = 1.0
"""Weight of the squared norm of the logit's weights."""
NGRAM_ORDER = 2


def score_boosting(sets: RetrievalSets) -> np.ndarray:
    """Score by gradient-boosted trees over the words of a caption and its features relative to the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    trees = HistGradientBoostingClassifier(
        max_iter=BOOSTING_STEPS, max_leaf_nodes=MAX_LEAVES, class_weight="balanced", random_state=0
    )
    with threadpool_limits(
        1, user_api="openmp"
    ):  # threads that wait for each other on a busy machine take minutes
        return score_by_classifier(sets, trees, make_all_features)


def score_conditional_logit(sets: RetrievalSets) -> np.ndarray:
    """Score by weights of words and word bigrams that maximise the softmax probability of the truth in its set."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    feature_MF: Any = count_ngrams(
        sets, token_pattern=TOKEN.pattern, ngram_range=(1, 2), binary=True
    )

    def fit(index_TK: np.ndarray) -> Callable[[Any], np.ndarray]:
        train_MF: Any = feature_MF[index_TK.ravel()]

        def measure_loss(weight_F: np.ndarray) -> tuple[float, np.ndarray]:
            log_TK = log_softmax((train_MF @ weight_F).reshape(index_TK.shape), axis=1)
            error_TK = np.exp(log_TK)
            error_TK[:, 0] -= 1
            loss = -log_TK[:, 0].sum() + RIDGE / 2 * weight_F @ weight_F
            return loss, train_MF.T @ error_TK.ravel() + RIDGE * weight_F

        start_F = np.zeros(feature_MF.shape[1])
        weight_F = minimize(
            measure_loss, start_F, jac=True, method="L-BFGS-B", options={"maxiter": 100}
        ).x
        return lambda test_MF: test_MF @ weight_F

    return cross_fit(sets, feature_MF, fit)


def score_ngram_contrast(sets: RetrievalSets) -> np.ndarray:
    """Score by the likelihood under true captions of other images minus that under their negatives."""
    text_M = np.array(sets.texts, dtype=object)

    def fit(index_TK: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        models = [
            NgramModel.of(text_M[index.ravel()].tolist(), NGRAM_ORDER)
            for index in (index_TK[:, 0], index_TK[:, 1:])
        ]

        def score(texts: np.ndarray) -> np.ndarray:
            truth_M, negative_M = (np.array(model.score(texts.tolist())) for model in models)
            return truth_M - negative_M

        return score

    return cross_fit(sets, text_M, fit)


def score_nearest_neighbour(sets: RetrievalSets) -> np.ndarray:
    """Score by the cosine similarity to the nearest true caption of other images minus that to the nearest negative."""
    from sklearn.preprocessing import normalize

    unit_MF: Any = normalize(count_ngrams(sets, token_pattern=TOKEN.pattern, ngram_range=(1, 2)))

    def fit(index_TK: np.ndarray) -> Callable[[Any], np.ndarray]:
        truth_TF, negative_QF = unit_MF[index_TK[:, 0]], unit_MF[index_TK[:, 1:].ravel()]

        def score(test_MF: Any) -> np.ndarray:
            nearest = (
                (test_MF @ part.T).max(axis=1).toarray().ravel() for part in (truth_TF, negative_QF)
            )
            return np.subtract(*nearest)

        return score

    return cross_fit(sets, unit_MF, fit)


Group = Literal["cue", "refining", "held_out", "unseen", "comparing"]
"""``cue``: reads one property. ``refining``: used by refinement. ``held_out``: of the same families with other sizes.
``unseen``: of other families. ``comparing``: compares the captions of a set with each other."""


class Judge(NamedTuple):
    """A text-only baseline that judges sets."""

    score: Baseline
    group: Group
    is_slow: bool = False
    """Takes more than a few seconds on a thousand rows, so that `compeval audit` leaves it out."""


def _make_cue(value: Callable[[str], float]) -> Judge:
    return Judge(partial(score_by_function, function=value, sign=-1), "cue")


JUDGES: Mapping[str, Judge] = {
    **{name: _make_cue(value) for name, value in CUES.items()},
    **{name: Judge(baseline, "refining") for name, baseline in REFINEMENT_BASELINES.items()},
    "wordiest": Judge(partial(score_by_function, function=count_words), "held_out"),
    "tersest": Judge(partial(score_by_function, function=count_words, sign=-1), "held_out"),
    "trigram_model": Judge(partial(score_ngram_likelihood, order=3), "held_out"),
    "character_trigrams": Judge(
        partial(score_characters, ngram_range=(3, 3)), "held_out", is_slow=True
    ),
    "naive_bayes": Judge(partial(score_words_naive_bayes, ngram_range=(1, 2)), "held_out"),
    "naive_bayes_of_ordered_pairs": Judge(
        partial(score_naive_bayes, analyzer=list_ordered_pairs), "held_out"
    ),
    "form": Judge(score_form, "held_out"),
    "medoid_of_characters": Judge(score_medoid_of_characters, "comparing"),
    "medoid_of_words": Judge(score_medoid_of_words, "comparing"),
    "nearest_to_mean": Judge(score_nearest_to_mean, "comparing", is_slow=True),
    "learned": Judge(score_learned, "comparing", is_slow=True),
    "left_out": Judge(score_left_out, "comparing"),
    "other_rows": Judge(score_other_rows, "comparing"),
    "boosting": Judge(score_boosting, "unseen", is_slow=True),
    "conditional_logit": Judge(score_conditional_logit, "unseen"),
    "ngram_contrast": Judge(score_ngram_contrast, "unseen"),
    "nearest_neighbour": Judge(score_nearest_neighbour, "unseen"),
}
LENGTHS = frozenset({"longest", "shortest", "wordiest", "tersest"})
"""Judges that learn nothing."""
TREES = frozenset({"extra_trees", "extra_trees_with_words", "learned", "boosting"})
"""Judges that take minutes on thousands of sets."""


def select_judges(*groups: Group) -> dict[str, Baseline]:
    """Return the judges of some groups by name."""
    return {name: judge.score for name, judge in JUDGES.items() if judge.group in groups}


def select_audited(*, with_slow: bool = True) -> dict[str, Baseline]:
    """Return the judges of `compeval inspect`, and without the slow ones those of `compeval audit`.

    The lengths are among the cues. Of the judges of refinement, the one that reads which words go together is added.
    """
    return {
        name: judge.score
        for name, judge in JUDGES.items()
        if name == "cooccurrence" or judge.group in ("cue", "held_out", "comparing")
        if name not in LENGTHS and (with_slow or not judge.is_slow)
    }


def select_untrained() -> dict[str, Baseline]:
    """Return the judges that learn nothing and read one caption at a time."""
    return {
        name: judge.score
        for name, judge in JUDGES.items()
        if judge.group == "cue" or name in ("longest", "shortest")
    }


def select_transferable() -> dict[str, Baseline]:
    """Return the judges that read one caption at a time and can be trained on thousands of other sets in seconds."""
    return {
        name: judge.score
        for name, judge in JUDGES.items()
        if judge.group in ("refining", "held_out", "unseen")
        if name not in LENGTHS | TREES and name not in ("words_left_out", "words_of_other_rows")
    }
