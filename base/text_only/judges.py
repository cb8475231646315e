"""The text-only baselines that judge a set.

To add one, write its function here, with the decorator ``judge``, and its test in tests/base/text_only/test_judges.py:

    @judge("held_out", label="most capitals", learns=False, audited="fast")
    def score_capitals(sets: RetrievalSets) -> np.ndarray:
        return score_by_function(sets, lambda text: sum(map(str.isupper, text)))

``JUDGES`` is the only registry: the stages ``text_only`` and ``text_only_aro``, `compeval audit`, `inspect`, `balance`
and the report select from it by what a judge declares. Refinement selects rows with baselines of its own
(refinement.py), which judge, too. It imports nothing of this module, so that a new judge makes no dataset stale.

A set on which the baselines of refinement are at chance may still have cues that other models find. The judges
``unseen`` are of families that it never uses: boosted trees, a conditional logit (McFadden 1974), the contrast of two
n-gram models, nearest neighbours.

All that learn are cross-fitted over images. transfer.py trains them on other sets. Shapes are those of baselines.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from compeval.base.text_only.baselines import (
    Baseline,
    Group,
    Judge,
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
from compeval.base.text_only.cues import CUES, score_cue
from compeval.base.text_only.ngram import TOKEN, NgramModel
from compeval.base.text_only.refinement import REFINING_JUDGES
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

BOOSTING_STEPS = 60
MAX_LEAVES = 15
RIDGE = 1.0
"""Weight of the squared norm of the logit's weights."""
NGRAM_ORDER = 2


JUDGES: dict[str, Judge] = {
    **{
        name: Judge(partial(score_cue, cue=cue), "cue", learns=False, audited="fast")
        for name, cue in CUES.items()
    },
    **REFINING_JUDGES,
    "wordiest": Judge(
        partial(score_by_function, function=count_words), "held_out", "most words", learns=False
    ),
    "tersest": Judge(
        partial(score_by_function, function=count_words, sign=-1),
        "held_out",
        "fewest words",
        learns=False,
    ),
    "trigram_model": Judge(partial(score_ngram_likelihood, order=3), "held_out", audited="fast"),
    "character_trigrams": Judge(
        partial(score_characters, ngram_range=(3, 3)), "held_out", audited="slow"
    ),
    "naive_bayes": Judge(
        partial(score_words_naive_bayes, ngram_range=(1, 2)),
        "held_out",
        "naive Bayes",
        audited="fast",
    ),
    "naive_bayes_of_ordered_pairs": Judge(
        partial(score_naive_bayes, analyzer=list_ordered_pairs),
        "held_out",
        "naive Bayes of ordered pairs",
        audited="fast",
    ),
    "form": Judge(score_form, "held_out", "length and structure", audited="fast"),
    "medoid_of_characters": Judge(
        score_medoid_of_characters,
        "comparing",
        "medoid, characters",
        learns=False,
        reads="set",
        audited="fast",
    ),
    "medoid_of_words": Judge(
        score_medoid_of_words,
        "comparing",
        "medoid, words",
        learns=False,
        reads="set",
        audited="fast",
    ),
    "nearest_to_mean": Judge(
        score_nearest_to_mean, "comparing", learns=False, reads="set", audited="slow"
    ),
    "learned": Judge(score_learned, "comparing", "random forest", reads="set", audited="slow"),
    "left_out": Judge(score_left_out, "comparing", reads="set", audited="fast"),
    "other_rows": Judge(score_other_rows, "comparing", reads="set", audited="fast"),
}
"""Judge by key, in the order of all results. Judges of this module with a function of their own follow."""


def judge(
    group: Group,
    *,
    label: str = "",
    learns: bool = True,
    reads: Literal["caption", "set"] = "caption",
    audited: Literal["fast", "slow", "never"] = "never",
) -> Callable[[Baseline], Baseline]:
    """Add a function to ``JUDGES``; its key is its name without ``score_``. The arguments are those of Judge."""

    def add(score: Baseline) -> Baseline:
        name = score.__name__.removeprefix("score_")  # pyright: ignore[reportFunctionMemberAccess]
        assert name not in JUDGES, name
        JUDGES[name] = Judge(score, group, label, learns, reads, audited)
        return score

    return add


@judge("unseen", reads="set")
def score_boosting(sets: RetrievalSets) -> np.ndarray:
    """Score by gradient-boosted trees over the words of a caption and its features relative to the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    trees = HistGradientBoostingClassifier(
        max_iter=BOOSTING_STEPS, max_leaf_nodes=MAX_LEAVES, class_weight="balanced", random_state=0
    )
    # Threads that wait for each other on a busy machine take minutes.
    with threadpool_limits(1, user_api="openmp"):
        return score_by_classifier(sets, trees, make_all_features)


@judge("unseen")
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


@judge("unseen")
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


@judge("unseen")
def score_nearest_neighbour(sets: RetrievalSets) -> np.ndarray:
    """Score by the cosine similarity to the nearest true caption of other images minus that to the nearest negative."""
    from sklearn.preprocessing import normalize

    unit_MF: Any = normalize(count_ngrams(sets, token_pattern=TOKEN.pattern, ngram_range=(1, 2)))

    def fit(index_TK: np.ndarray) -> Callable[[Any], np.ndarray]:
        truth_TF = unit_MF[index_TK[:, 0]]
        negative_QF = unit_MF[index_TK[:, 1:].ravel()]

        def score(test_MF: Any) -> np.ndarray:
            nearest = (
                (test_MF @ part.T).max(axis=1).toarray().ravel() for part in (truth_TF, negative_QF)
            )
            return np.subtract(*nearest)

        return score

    return cross_fit(sets, unit_MF, fit)


def select_judges(*groups: Group) -> dict[str, Baseline]:
    """Return the judges of some groups by name."""
    return {name: judge.score for name, judge in JUDGES.items() if judge.group in groups}


def select_audited(*, with_slow: bool = True) -> dict[str, Baseline]:
    """Return the judges of `compeval inspect`, and without the slow ones those of `compeval audit`."""
    speeds = ("fast", "slow") if with_slow else ("fast",)
    return {name: judge.score for name, judge in JUDGES.items() if judge.audited in speeds}


def select_untrained() -> dict[str, Baseline]:
    """Return the judges that learn nothing and read one caption at a time, without those that are held out."""
    return {
        name: judge.score
        for name, judge in JUDGES.items()
        if not judge.learns and judge.reads == "caption" and judge.group in ("cue", "refining")
    }


def select_transferable() -> dict[str, Baseline]:
    """Return the judges that learn and read one caption at a time, so that other sets can train them."""
    return {
        name: judge.score
        for name, judge in JUDGES.items()
        if judge.learns and judge.reads == "caption"
    }


def name_judge(key: str) -> str:
    """Return the name of a text-only baseline in tables. Keys that are no judges are language models."""
    label = JUDGES[key].label if key in JUDGES else ""
    return label or key.replace("_", " ")
