"""Text-only baselines that refinement never uses, to evaluate the rows that refinement.py selects.

A set on which the baselines of refinement are at chance may still have cues that other models find. These are of other
families: boosted trees, a conditional logit (McFadden 1974), the contrast of two n-gram models, nearest neighbours.
All are cross-fitted over images. Shapes are those of baselines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compeval.base.text_only.baselines import Baseline, RetrievalSets, count_ngrams, cross_fit
from compeval.base.text_only.ngram import TOKEN, NgramModel
from compeval.base.text_only.relative_baselines import make_all_features, score_by_classifier

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


UNSEEN_BASELINES: Mapping[str, Baseline] = {
    "boosting": score_boosting,
    "conditional_logit": score_conditional_logit,
    "ngram_contrast": score_ngram_contrast,
    "nearest_neighbour": score_nearest_neighbour,
}
