"""Adversarial refinement: the largest part of a set on which readers without eyes are at chance.

Source: SugarCrepe (arXiv:2306.14610, section 4), which evens out the score gaps of two text models over pairs of
captions. Differs from it in the set size: of K captions the truth shall come first under each scorer as often as any
other, 1/K. That is a linear program: rows that the same scorers get right form a cell, and of each cell a share stays.

Rows on which scorers are right are dropped where a cue helps them, rows on which they are wrong where it misleads them.
Deterministic: of a cell, the rows with the smallest hashes stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
from scipy.optimize import linprog

from generators.blind_scorers import REFINING, Scorer, Sets, hits

LEAST = 0.5
"""This share of the rows stays, whatever scorers then get."""
PRICE = 1000.0
"""Of a unit of advantage, in shares of rows: first the advantage shrinks, then as many rows stay as can."""
ROUNDING = 1e-6
"""What the solver's shares may be off by, in rows."""


def refined(sets: Sets, seed: int, scorers: Mapping[str, Scorer] = REFINING) -> np.ndarray:
    """Which of the N sets to keep, as booleans."""
    hit_SN = np.array([hits(scorer(sets)) for scorer in scorers.values()])
    cell_SC, cell_N = np.unique(np.round(hit_SN, 6), axis=1, return_inverse=True)
    size_C = np.bincount(cell_N.ravel())
    quota_C = np.ceil(shares(cell_SC, size_C, sets.chance) * size_C - ROUNDING).astype(int)
    keys = [f"{seed}:{image}:{captions[0]}" for image, captions in zip(sets.images, sets.captions, strict=True)]
    order_N = np.array([hashlib.sha256(key.encode()).hexdigest() for key in keys]).argsort(kind="stable")
    keep_N = np.zeros(len(sets), dtype=bool)
    for cell, quota in enumerate(quota_C):
        keep_N[order_N[cell_N.ravel()[order_N] == cell][:quota]] = True
    return keep_N


def shares(hit_SC: np.ndarray, size_C: np.ndarray, chance: float) -> np.ndarray:
    """The share of each of C cells to keep, so that each of S scorers hits in a share ``chance`` of what is kept.

    ``hit_SC`` is what the scorers get of a row of each cell, ``size_C`` the rows of the cells. Where that cannot be,
    the largest distance from chance is as small as it can be with ``LEAST`` of the rows kept.
    """
    scorers, cells = hit_SC.shape
    weight_C = size_C / size_C.sum()
    gain_SC = (hit_SC - chance) * weight_C
    apart_S1 = -np.ones((scorers, 1))
    found = linprog(
        [*-weight_C, PRICE],
        A_ub=np.vstack([np.hstack([gain_SC, apart_S1]), np.hstack([-gain_SC, apart_S1]), [*-weight_C, 0.0]]),
        b_ub=[*np.zeros(2 * scorers), -LEAST],
        bounds=[*[(0.0, 1.0)] * cells, (0.0, None)],
        method="highs",
    )
    assert found.status == 0, found.message
    return found.x[:-1]
