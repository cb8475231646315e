"""Adversarial refinement: selects the largest part of a dataset on which text-only baselines are at chance.

Source: SugarCrepe (arXiv:2306.14610, section 4), which balances the score gaps of two text models over pairs of
captions. Difference from the paper: retrieval sets of K captions, in which each baseline should rank the truth first
with frequency 1/K. A lower frequency is a cue as well, because it shows which caption to avoid. A linear program
selects the rows to drop: rows with the ranks that are too frequent.

A baseline that ranks the truth first as often as chance may rank it second more often, and a model that is trained on
the set learns to choose the second. Therefore the truth should have each rank with frequency 1/K.

Negatives are edits of the truth. If the edits are in different positions, even random baselines rank the truth first
less often than 1/K; therefore the program balances random baselines as well. Trained baselines would adapt to the
remaining rows. Therefore they are retrained on these rows, and the program is solved again over all rows and the
baselines of all rounds.

A row may reveal the truth of another row of its image: if "a red ball" is in all captions of one, it is true in the
other. ``select_unrelated_rows`` keeps rows of an image that share no word that differs between the captions of one.

The result is deterministic. It does not depend on the order of the rows, except of rows of one image that have the same
captions and differ in the true one.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from compeval.base.text_only.baselines import (
    DECIMALS,
    Baseline,
    Judge,
    RetrievalSets,
    measure_random_recall,
    score_by_function,
    score_characters,
    score_cooccurrence,
    score_ngram_likelihood,
    score_ordered_pairs,
    score_word_pairs_naive_bayes,
    score_words,
    score_words_naive_bayes,
)
from compeval.base.text_only.ngram import TOKEN
from compeval.base.text_only.relative_baselines import (
    score_extra_trees,
    score_left_out,
    score_other_rows,
)

REFINING_JUDGES: Mapping[str, Judge] = {
    "longest": Judge(
        partial(score_by_function, function=len), "refining", "most characters", learns=False
    ),
    "shortest": Judge(
        partial(score_by_function, function=len, sign=-1),
        "refining",
        "fewest characters",
        learns=False,
    ),
    "bigram_model": Judge(partial(score_ngram_likelihood, order=2), "refining"),
    "four_gram_model": Judge(partial(score_ngram_likelihood, order=4), "refining"),
    "words": Judge(score_words, "refining", "linear model of words"),
    "bigrams": Judge(
        partial(score_words, ngram_range=(2, 2)), "refining", "linear model of bigrams"
    ),
    "naive_bayes_of_words": Judge(score_words_naive_bayes, "refining", "naive Bayes of words"),
    "naive_bayes_of_word_pairs": Judge(
        score_word_pairs_naive_bayes, "refining", "naive Bayes of word pairs"
    ),
    "character_bigrams": Judge(partial(score_characters, ngram_range=(2, 2)), "refining"),
    "character_four_grams": Judge(partial(score_characters, ngram_range=(4, 4)), "refining"),
    "character_five_grams": Judge(partial(score_characters, ngram_range=(5, 5)), "refining"),
    "cooccurrence": Judge(score_cooccurrence, "refining", "co-occurrence of words", audited="fast"),
    "ordered_pairs": Judge(score_ordered_pairs, "refining", "linear model of ordered pairs"),
    "extra_trees": Judge(score_extra_trees, "refining", "extremely randomised trees", reads="set"),
    "extra_trees_with_words": Judge(
        partial(score_extra_trees, with_words=True),
        "refining",
        "extremely randomised trees with words",
        reads="set",
    ),
    "words_left_out": Judge(partial(score_left_out, prior=5.0), "refining", reads="set"),
    "words_of_other_rows": Judge(partial(score_other_rows, order=1), "refining", reads="set"),
}
"""Baselines of each family with smaller and larger n-grams than the held-out baseline of that family.

Both are needed, because being at chance for one n-gram size does not imply being at chance for another. Their order
may decide which of equally good rows are kept. A new one changes all balanced sets.
"""
REFINEMENT_BASELINES: Mapping[str, Baseline] = {
    name: judge.score for name, judge in REFINING_JUDGES.items()
}
MIN_KEPT = 0.5
"""Minimum share that is kept of the rows from which the linear program selects."""
ROUNDS = 3
MAX_PRICE = 1000.0
MEAN_PRICE = 300.0
"""Prices of the largest and of the mean distance of the baselines from chance, relative to one row.

Both are high, so that distances are minimised first. The mean has a price too, because otherwise one baseline that
cannot reach chance would allow all others to stay equally far from it.
"""
TOLERANCE = 1e-6
"""Numerical error of the solver's number of rows."""
MAX_ITERATIONS = 20
"""Iterations of a solver per variable. The programs that were counted end after less than two."""


def select_rows_at_chance(
    sets: RetrievalSets,
    seed: int,
    baselines: Mapping[str, Baseline] = REFINEMENT_BASELINES,
    drop_related: bool = False,
) -> np.ndarray:
    """Return a boolean mask of the N retrieval sets to keep.

    With ``drop_related``, rows that reveal the truth of another row of their image are dropped first.
    """
    if not len(sets):
        return np.zeros(0, dtype=bool)
    order_N = np.array(
        [_hash_row(seed, *row) for row in zip(sets.images, sets.captions, strict=True)]
    ).argsort(kind="stable")
    if drop_related:
        order_N = order_N[select_unrelated_rows(sets.take(order_N))]
    kept = _select_in_rounds(sets.take(order_N), baselines)
    keep_N = np.zeros(len(sets), dtype=bool)
    keep_N[order_N[kept]] = True
    return keep_N


def _hash_row(seed: int, image: str, captions: Sequence[str]) -> str:
    """Return a hash that does not depend on which caption is true.

    Of two rows of an image that do not fit each other, the one with the smaller hash is kept. If the true caption were
    hashed, the kept rows would be those whose true captions have small hashes.
    """
    return hashlib.sha256("\0".join((str(seed), image, *sorted(captions))).encode()).hexdigest()


def select_unrelated_rows(sets: RetrievalSets) -> np.ndarray:
    """Return the indices of rows that do not reveal each other's truth: those that fit the earlier ones of their image.

    Two rows fit if no caption of one has a word that differs between the captions of the other. A row whose captions
    have the same words in another order fits no other one.
    """
    kept_by_image = defaultdict[str, list[tuple[set[str], set[str]]]](list)
    kept: list[int] = []
    for row, (captions, image) in enumerate(zip(sets.captions, sets.images, strict=True)):
        words = [set(TOKEN.findall(caption.lower())) for caption in captions]
        read = set.union(*words)
        differing = set.union(*words) - set.intersection(*words)
        others = kept_by_image[image]
        if all(
            differing and those and not differing & there and not those & read
            for those, there in others
        ):
            others.append((differing, read))
            kept.append(row)
    return np.array(kept, dtype=int)


def _select_in_rounds(sets: RetrievalSets, baselines: Mapping[str, Baseline]) -> np.ndarray:
    """Return the indices of the sets to keep after all rounds. Each round retrains the baselines on the sets kept."""
    kept = np.arange(len(sets))
    share_SN = measure_random_recall(sets)
    for _ in range(ROUNDS):
        trainable = replace(sets, trainable_N=np.isin(np.arange(len(sets)), kept))
        # The shares of the ranks add up to 1, so that the last one follows from the others.
        shares = [compute_rank_shares(baseline(trainable))[:-1] for baseline in baselines.values()]
        share_SN = np.vstack([share_SN, *shares])
        kept = select_most_rows(share_SN, sets.chance)
    return kept


def compute_rank_shares(score_NK: np.ndarray) -> np.ndarray:
    """Return the probability that the truth has each rank, best first (K, N). The order of tied captions is random."""
    rounded_NK = np.round(score_NK, DECIMALS)
    better_N = (rounded_NK > rounded_NK[:, :1]).sum(axis=1)
    tied_N = (rounded_NK == rounded_NK[:, :1]).sum(axis=1)
    rank_K1 = np.arange(score_NK.shape[1])[:, None]
    return ((better_N <= rank_K1) & (rank_K1 < better_N + tied_N)) / tied_N


def _solve(prices: Sequence[float], **program: Any) -> np.ndarray:
    """Return the solution of a linear program by dual simplex or, if it does not end, by the interior-point method.

    HiGHS's dual simplex may visit the same bases again and again (github.com/ERGO-Code/HiGHS, issues 1534 and 3289).
    """
    from scipy.optimize import linprog

    options = {"maxiter": MAX_ITERATIONS * len(prices)}
    for method in ("highs-ds", "highs-ipm"):
        result = linprog(prices, **program, method=method, options=options)
        if result.status == 0:
            return result.x
    raise ValueError(f"The rows at chance cannot be selected: {result.message}")


def select_most_rows(share_SN: np.ndarray, chance: float) -> np.ndarray:
    """Return the indices of as many rows as possible on which the mean of each of S values is ``chance``.

    A value in ``share_SN`` is the probability that a baseline gives the truth of a row a rank: S counts baselines,
    ranks and rounds. If chance cannot be reached, the distances from chance are minimised while at least ``MIN_KEPT``
    of the rows are kept. The program may keep a fraction of a row; the rows with the largest fractions are kept.
    """
    values, rows = share_SN.shape

    # The variables: the share of each row that is kept (N), the distance of each value from chance (S), and the largest
    # distance. Distances are per row of all N, not of those that are kept, so that the program is linear.
    prices = [
        *np.full(rows, -1 / rows),
        *np.full(values, MEAN_PRICE / values),
        MAX_PRICE,
    ]
    bounds = [*[(0.0, 1.0)] * rows, *[(0.0, None)] * (values + 1)]

    # Each line of the constraints is a sum of variables, with a limit above it.
    gain_SN = (share_SN - chance) / rows
    one_SS = np.eye(values)
    one_S1 = np.ones((values, 1))
    constraints = np.block(
        [
            [gain_SN, -one_SS, 0 * one_S1],  # a value is not above chance by more than its distance
            [-gain_SN, -one_SS, 0 * one_S1],  # nor below it
            [0 * gain_SN, one_SS, -one_S1],  # no distance is larger than the largest
            [np.full((1, rows), -1 / rows), np.zeros((1, values + 1))],  # rows that are kept
        ]
    )
    limits = [*np.zeros(3 * values), -MIN_KEPT]

    solution = _solve(prices, A_ub=constraints, b_ub=limits, bounds=bounds)
    share_N = solution[:rows]
    num_kept = math.ceil(share_N.sum() - TOLERANCE)
    return np.sort(np.argsort(-share_N.round(6), kind="stable")[:num_kept])
