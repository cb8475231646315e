"""Adversarial refinement: the largest part of a set on which readers without eyes are at chance.

Source: SugarCrepe (arXiv:2306.14610, section 4), which evens out the score gaps of two text models over pairs of
captions. Differs from it in the set size: of K captions the truth shall come first under each scorer as often as any
other, 1/K. Too seldom is a cue as well: it says where not to look. So rows on which scorers are right are dropped where
a cue helps them, and rows on which they are wrong where it misleads them; which, a linear program says.

Negatives are edits of the truth, and where these are in different places, even who guesses ranks the truth first less
often than 1/K. Guessers are therefore balanced along with the scorers. And what learns would adapt to the rows that are
left: it learns anew from those, and the program is solved again over all rows, for the scorers of every round.

Deterministic, whatever the order of the rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from generators.hard_negatives.blind_scorers import REFINING, Scorer, Sets, guessed, hits

LEAST = 0.5
"""This share of the rows stays, whatever scorers then get."""
ROUNDS = 3
FARTHEST, MEAN = 1000.0, 300.0
"""Prices of the scorers' largest and mean distance from chance, in shares of rows: first these shrink, then as many
rows stay as can. The mean counts as well, since a scorer that cannot reach chance would let all others stay as far."""
ROUNDING = 1e-6
"""What the solver's sum of rows may be off by."""


def refined(sets: Sets, seed: int, scorers: Mapping[str, Scorer] = REFINING) -> np.ndarray:
    """Which of the N sets to keep, as booleans."""
    keys = [f"{seed}:{image}:{captions[0]}" for image, captions in zip(sets.images, sets.captions, strict=True)]
    order_N = np.array([hashlib.sha256(key.encode()).hexdigest() for key in keys]).argsort(kind="stable")
    keep_N = np.zeros(len(sets), dtype=bool)
    keep_N[order_N[_balanced(sets.at(order_N), scorers)]] = True
    return keep_N


def _balanced(sets: Sets, scorers: Mapping[str, Scorer]) -> np.ndarray:
    """The places of the sets to keep, after rounds in each of which scorers learn from what the last one kept."""
    kept, hit_SN = np.arange(len(sets)), guessed(sets)
    for _ in range(ROUNDS):
        known = replace(sets, lesson_N=np.isin(np.arange(len(sets)), kept))
        hit_SN = np.vstack([hit_SN, *(hits(scorer(known)) for scorer in scorers.values())])
        kept = largest_at_chance(hit_SN, sets.chance)
    return kept


def largest_at_chance(hit_SN: np.ndarray, chance: float) -> np.ndarray:
    """The places of the most of N rows of which each of S scorers hits a share ``chance``.

    ``hit_SN`` is what the scorers get of each row. Where that cannot be, their distances from chance are as small as
    they can be with ``LEAST`` of the rows kept. Of the rows that the program keeps in part the nearest to whole stay.
    """
    scorers, rows = hit_SN.shape
    gain_SN, apart_SS, farthest_S1 = (hit_SN - chance) / rows, np.eye(scorers), np.ones((scorers, 1))
    found = linprog(
        [*np.full(rows, -1 / rows), *np.full(scorers, MEAN / scorers), FARTHEST],
        A_ub=np.block(
            [
                [gain_SN, -apart_SS, 0 * farthest_S1],
                [-gain_SN, -apart_SS, 0 * farthest_S1],
                [0 * gain_SN, apart_SS, -farthest_S1],
                [np.full((1, rows), -1 / rows), np.zeros((1, scorers + 1))],
            ]
        ),
        b_ub=[*np.zeros(3 * scorers), -LEAST],
        bounds=[*[(0.0, 1.0)] * rows, *[(0.0, None)] * (scorers + 1)],
        method="highs-ds",
    )
    assert found.status == 0, found.message
    share_N = found.x[:rows]
    return np.sort(np.argsort(-share_N.round(6), kind="stable")[: math.ceil(share_N.sum() - ROUNDING)])
