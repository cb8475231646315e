"""Which of many hard negatives to take, so that their wording does not tell where the truth stands among them.

Negatives are one edit each from the truth, so by any measure of the wording (length, likelihood) they lie on both
sides of it: the truth comes first or last far less often than one time in K, and where edits make captions worse, far
more often. Here each row draws the rank that its truth shall have by each measure, evenly from 1 to K, and takes the
negatives that come nearest to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import TypeVar

import numpy as np

from generators.hard_negatives.blind_scorers import NgramModel, folds

POOL = 20
"""Of so many negatives the best choice is looked for: 15,504 choices of five."""
ORDER = 2

Measure = Callable[[Sequence[str]], Sequence[float]]
"""Scores captions by their wording."""
Item = TypeVar("Item")


def evenly_ranked(
    truth: str,
    pool: Sequence[Item],
    caption: Callable[[Item], str],
    measures: Sequence[Measure],
    count: int,
    rng: Random,
) -> tuple[Item, ...]:
    """``count`` of the first ``POOL`` items, in their order; none where there are fewer."""
    pool = pool[:POOL]
    if len(pool) < count:
        return ()
    choice_CK = _choices(len(pool), count)
    distance_C = np.zeros(len(choice_CK))
    for measure in measures:
        own, *others = np.round(measure([truth, *map(caption, pool)]), 9)
        above_P = (np.array(others) > own) + 0.5 * (np.array(others) == own)
        distance_C += np.abs(above_P[choice_CK].sum(axis=1) - rng.randint(0, count))
    nearest = np.flatnonzero(distance_C == distance_C.min())
    return tuple(pool[at] for at in choice_CK[nearest[rng.randrange(len(nearest))]])


@cache
def _choices(size: int, count: int) -> np.ndarray:
    return np.array(list(combinations(range(size), count)))


def characters(captions: Sequence[str]) -> list[float]:
    return [float(len(caption)) for caption in captions]


def likelihoods(captions: Sequence[str], images: Sequence[str]) -> Mapping[str, Measure]:
    """For each image the likelihood under a bigram model of the captions of other images."""
    fold_of = folds(images)
    models = {
        fold: NgramModel.of(
            [caption for caption, image in zip(captions, images, strict=True) if fold_of[image] != fold], ORDER
        )
        for fold in set(fold_of.values())
    }
    return {image: models[fold].score for image, fold in fold_of.items()}
