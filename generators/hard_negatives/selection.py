"""Choosing the k hard negatives of a caption among many candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations
from random import Random

import numpy as np

from generators.hard_negatives.corpus_statistics import Ranker
from generators.hard_negatives.hard_negative import HardNegative

POOL = 20
"""Candidates among which ``rank_balanced`` searches: 15,504 choices of five."""

Measure = Callable[[Sequence[str]], Sequence[float]]
"""A text-only score of each caption."""


def most_plausible(
    candidates: Sequence[HardNegative], k: int, ranker: Ranker, rejected: frozenset[str] = frozenset()
) -> tuple[HardNegative, ...]:
    """Return the k most plausible candidates, () if there are fewer; ties go to the earlier candidate.

    No atom and no new word has a part in more than half of them (rounded up) as long as other candidates exist.
    """
    if len(candidates) < k:
        return ()
    scores = ranker.score([candidate.caption for candidate in candidates])
    ranked = [candidates[at] for at in sorted(range(len(candidates)), key=lambda at: (-scores[at], at))]
    chosen = _diverse(ranked, k)
    return replace_rejected(chosen, ranked, rejected) if len(chosen) == k else ()


def _diverse(ranked: Sequence[HardNegative], k: int) -> list[HardNegative]:
    """At most k; an atom that a caption has twice counts twice."""
    chosen: list[int] = []
    used = Counter[tuple[str, ...]]()
    for limit in (math.ceil(k / 2), k):
        for at, candidate in enumerate(ranked):
            parts = [("atom", foil.type, foil.original) for foil in candidate.foils]
            parts += [("word", foil.type, foil.replacement) for foil in candidate.foils]
            if len(chosen) < k and at not in chosen and all(used[part] < limit for part in parts):
                chosen.append(at)
                used.update(parts)
    return [ranked[at] for at in sorted(chosen)]


def rank_balanced(
    truth: str, pool: Sequence[HardNegative], measures: Sequence[Measure], k: int, rng: Random
) -> tuple[HardNegative, ...]:
    """Return k of the first ``POOL`` candidates, in their order, such that the truth has a uniformly random rank.

    Negatives are edits of the truth, so by any text-only measure (length, likelihood) the truth tends to the middle of
    its retrieval set, or to the top if edits make captions worse. For each measure a rank of the truth is drawn
    uniformly, and the k candidates that come nearest to all ranks are chosen. () if there are fewer than k.
    """
    pool = pool[:POOL]
    if len(pool) < k:
        return ()
    choice_CK = _choices(len(pool), k)
    distance_C = np.zeros(len(choice_CK))
    for measure in measures:
        own, *others = np.round(measure([truth, *(negative.caption for negative in pool)]), 9)
        above_P = (np.array(others) > own) + 0.5 * (np.array(others) == own)
        distance_C += np.abs(above_P[choice_CK].sum(axis=1) - rng.randint(0, k))
    nearest = np.flatnonzero(distance_C == distance_C.min())
    return tuple(pool[at] for at in choice_CK[nearest[rng.randrange(len(nearest))]])


@cache
def _choices(size: int, k: int) -> np.ndarray:
    return np.array(list(combinations(range(size), k)))


def length(captions: Sequence[str]) -> list[float]:
    """The measure of length: number of characters."""
    return [float(len(caption)) for caption in captions]


def replace_rejected(
    chosen: Sequence[HardNegative], ranked: Iterable[HardNegative], rejected: frozenset[str]
) -> tuple[HardNegative, ...]:
    """Replace each rejected negative, in place, by the next of ``ranked`` that is unused; () if there are too few."""
    unusable = {negative.caption for negative in chosen} | rejected
    spare = (negative for negative in ranked if negative.caption not in unusable)
    kept = [next(spare, None) if negative.caption in rejected else negative for negative in chosen]
    return tuple(negative for negative in kept if negative) if None not in kept else ()
