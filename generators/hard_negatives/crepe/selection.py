"""Selection of k hard negatives of a caption from many candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from random import Random

import numpy as np

from compeval.base.text_only.language_models import EntailmentModel, split_batches
from compeval.generators.hard_negatives.hard_negative import HardNegative

READ_AHEAD = 32
"""Negatives that are compared with their caption at once. Each one is generated only when it is needed."""
POOL = 20
"""Number of candidates among which ``select_rank_balanced`` searches: 15,504 choices of five."""

Measure = Callable[[Sequence[str]], Sequence[float]]
"""A text-only score of each caption."""


def select_most_plausible(
    candidates: Sequence[HardNegative],
    k: int,
    scores: Mapping[str, float],
    rejected: frozenset[str] = frozenset(),
) -> tuple[HardNegative, ...]:
    """Return the k most plausible candidates, or () if there are fewer.

    ``scores`` has the plausibility of each candidate's caption. If scores are equal, the earlier candidate wins. No
    atom and no new word is used in more than half of the negatives (rounded up), as long as other candidates exist.
    The last choices of HN-Comp, whose candidates all edit the same atoms, and replacements of rejected negatives have
    no limit.
    """
    if len(candidates) < k:
        return ()
    ranked = sorted(candidates, key=lambda candidate: -scores[candidate.caption])
    chosen = _select_diverse(ranked, k)
    return replace_rejected(chosen, ranked, rejected) if len(chosen) == k else ()


def _select_diverse(ranked: Sequence[HardNegative], k: int) -> list[HardNegative]:
    """Return at most k candidates. An atom that occurs twice in a caption counts twice."""
    chosen: list[int] = []
    used = Counter[tuple[str, ...]]()
    for limit in (math.ceil(k / 2), k):
        for index, candidate in enumerate(ranked):
            parts = [("atom", foil.type, foil.original) for foil in candidate.foils]
            parts += [("word", foil.type, foil.replacement) for foil in candidate.foils]
            if (
                len(chosen) < k
                and index not in chosen
                and all(used[part] < limit for part in parts)
            ):
                chosen.append(index)
                used.update(parts)
    return [ranked[index] for index in sorted(chosen)]


def select_rank_balanced(
    truth: str, pool: Sequence[HardNegative], measures: Sequence[Measure], k: int, rng: Random
) -> tuple[HardNegative, ...]:
    """Return k of the first ``POOL`` candidates such that the truth has a uniformly random rank; the order is kept.

    Negatives are edits of the truth. By any text-only measure (length, likelihood), the truth therefore tends to be in
    the middle of its retrieval set, or at the top if edits make captions worse. For each measure, a rank of the truth
    is drawn uniformly. The k candidates that come nearest to all drawn ranks are chosen. Returns () if there are fewer
    than k candidates.
    """
    pool = pool[:POOL]
    if len(pool) < k:
        return ()
    choice_CK = _choices(len(pool), k)
    distance_C = np.zeros(len(choice_CK))
    for measure in measures:
        truth_score, *pool_scores = np.round(
            measure([truth, *(negative.caption for negative in pool)]), 9
        )
        above_P = (np.array(pool_scores) > truth_score) + 0.5 * (
            np.array(pool_scores) == truth_score
        )
        distance_C += np.abs(above_P[choice_CK].sum(axis=1) - rng.randint(0, k))
    nearest = np.flatnonzero(distance_C == distance_C.min())
    return tuple(pool[index] for index in choice_CK[nearest[rng.randrange(len(nearest))]])


@cache
def _choices(size: int, k: int) -> np.ndarray:
    return np.array(list(combinations(range(size), k)))


def measure_length(captions: Sequence[str]) -> list[float]:
    """Return the number of characters of each caption, as a measure."""
    return [float(len(caption)) for caption in captions]


def replace_rejected(
    chosen: Sequence[HardNegative], ranked: Iterable[HardNegative], rejected: frozenset[str]
) -> tuple[HardNegative, ...]:
    """Return the chosen negatives, with each rejected one replaced by the next unused negative of ``ranked``.

    Returns () if there are too few.
    """
    unusable = {negative.caption for negative in chosen} | rejected
    replacements = (negative for negative in ranked if negative.caption not in unusable)
    replaced = [
        next(replacements, None) if negative.caption in rejected else negative
        for negative in chosen
    ]
    return tuple(negative for negative in replaced if negative) if None not in replaced else ()


def drop_entailed(
    caption: str, negatives: Iterable[HardNegative], model: EntailmentModel | None
) -> Iterator[HardNegative]:
    """Yield the negatives that the caption does not entail. Without a model, yield all negatives."""
    if model is None:
        yield from negatives
        return
    for batch in split_batches(negatives, READ_AHEAD):
        entailed = model.predict_entailment(caption, [negative.caption for negative in batch])
        yield from (
            negative
            for negative, is_entailed in zip(batch, entailed, strict=True)
            if not is_entailed
        )
