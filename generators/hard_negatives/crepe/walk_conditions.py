"""Conditions on the walks of CREPE productivity.

Most short walks do not have five false swaps: of random walks only, HN-Swap would have 9 rows with four atoms in the
micro-world, and has 27 in the authors' files. Therefore some walks are repeated until their hard negatives exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from compeval.base.schemas.scene_graph import SceneGraph
from compeval.generators.captioner.captioned_walks import WalkCondition
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.hard_negatives.crepe.swap import Edit, make_orbits, make_swaps

PER_TYPE = 5
"""Hard negatives of each type per caption (CREPE, section 4.2)."""


def has_false_swaps(graph: SceneGraph, facts: ImageFacts) -> bool:
    """Return True if enough swaps of a subgraph are false of its image."""
    return _has_false(make_swaps(graph), facts)


def has_false_orbit(graph: SceneGraph, facts: ImageFacts) -> bool:
    """Return True if all other orders of some three objects are false of their image."""
    return any(_has_false(orbit, facts) for orbit in make_orbits(graph, Random(0)))


def _has_false(swaps: Iterable[Edit], facts: ImageFacts) -> bool:
    edited_graphs = [edited for edited, _ in swaps]
    missing = PER_TYPE
    spare = len(edited_graphs) - PER_TYPE
    try:
        for edited in edited_graphs:
            if missing == 0 or spare < 0:
                break
            is_false = facts.is_false(edited)
            missing = missing - is_false
            spare = spare - (not is_false)
    except SearchLimitError:
        return False
    return missing == 0


FALSE_SWAPS = WalkCondition(
    "swaps", "fewer than 5 false swaps", has_false_swaps, effort=3, surplus=2
)
FALSE_ORDERS = WalkCondition(
    "orders",
    "no three objects of which all other orders are false",
    has_false_orbit,
    effort=2,
    surplus=2,
)
