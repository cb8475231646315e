"""Sample the objects of a scene: nouns of one theme with colours, patterns and sizes.

The frequencies of nouns and colours are uniform in test scenes and Zipf-like in training scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.pictures import RENDERINGS
from compeval.generators.microworld.scene import DrawnObject
from compeval.generators.microworld.scenes.affordances import (
    AGENTS,
    RIDDEN,
    THEMES,
    TYPICAL_SIDE,
    WEARERS,
    WORN,
    list_actions,
)
from compeval.generators.microworld.scenes.held_out import HeldOut
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, NOUN_TABLE, PATTERNS, SIZES

SIZE_WEIGHTS = {"small": 2.0, "medium": 4.0, "large": 5.0}
CROWD = 5
"""Scenes with at least this many objects have smaller objects."""
CROWD_SIZE_WEIGHTS = {"small": 5.0, "medium": 4.0, "large": 2.0}
"""Weights of the sizes in these scenes."""
PATTERN_WEIGHTS = {"plain": 6.0, "striped": 1.5, "spotted": 1.5, "checkered": 1.5}
TWIN = 0.2
"""Probability that a scene of at least three objects has two of one noun."""
TWIN_COLOR = 0.5
"""Probability that two objects of one noun have the same colour."""
TWIN_SIZE = 0.6
"""Probability that two objects of one noun are small and large, so that captions can name their sizes."""
HAT = 0.6
"""Probability that the scene has a hat if the first sampled object can wear it and the theme has one."""
PARTNER = 0.6
"""Probability that the second object is one that the first can act on, or that can act on the first."""
Weights = Mapping[str, float]
"""Relative frequencies of nouns and attributes; the default is 1."""

Appearance = tuple[str, str, str]
"""Noun, colour, pattern."""


@cache
def make_zipf_weights(seed: int, corpus: str) -> dict[str, float]:
    """Return Zipf-like frequencies of nouns and colours, from 1 to about 1/2; each corpus has a different ranking."""
    rng = Random(f"{seed}:{corpus}:weights")
    return {
        name: (1 + rank / (0.1 * len(names))) ** -0.3
        for names in (ALL_NOUNS, tuple(COLORS))
        for rank, name in enumerate(rng.sample(names, len(names)))
    }


def sample_objects(
    rng: Random, count: int, forbidden: HeldOut, weights: Weights, *, unseen: bool = False
) -> list[DrawnObject]:
    """Return objects of one theme without size and position; ``unseen``: in renderings that training never shows.

    Objects that carry, hold or ride others come first, and among them the largest.
    """
    first = _sample(rng, [noun for noun in ALL_NOUNS if not forbidden.forbids(noun)], weights)
    pools = [
        [noun for noun in THEMES[theme] if noun != first and not forbidden.forbids(noun)]
        for theme in NOUN_TABLE[first].themes
    ]
    pool = rng.choice(
        [nouns for nouns in pools if len(nouns) >= count - 1] or [max(pools, key=len)]
    )
    nouns = [first]
    hats = [noun for noun in pool if noun in WORN]
    partners = [noun for noun in pool if list_actions(first, noun) or list_actions(noun, first)]
    if count > 1 and first in WEARERS and hats and rng.random() < HAT:
        pool.remove(hats[0])
        nouns.append(hats[0])
    elif count > 1 and partners and rng.random() < PARTNER:
        nouns.append(rng.choice(partners))
        pool.remove(nouns[-1])
    while len(nouns) < count:
        nouns.append(_sample(rng, pool, weights))
        pool.remove(nouns[-1])
    appearances = [_sample_appearance(rng, noun, forbidden, weights) for noun in nouns]
    if count > 2 and rng.random() < TWIN:
        appearances[-1] = _make_twin(
            rng, appearances[0], _sample_appearance(rng, nouns[0], forbidden, weights), forbidden
        )
    appearances.sort(key=lambda appearance: _rank(appearance[0]))
    return [
        _make_object(rng, str(index), appearance, forbidden, unseen=unseen)
        for index, appearance in enumerate(appearances)
    ]


def _rank(noun: str) -> tuple[int, float]:
    """Return the sort key of objects: what is ridden, then people, then the others, the largest first."""
    return (0 if noun in RIDDEN else 1 if noun in AGENTS else 2, -TYPICAL_SIDE[noun])


def _make_object(
    rng: Random, name: str, appearance: Appearance, forbidden: HeldOut, *, unseen: bool
) -> DrawnObject:
    noun, color, pattern = appearance
    renderings = RENDERINGS[noun]
    states = [state for state in renderings.states if not forbidden.forbids(noun, state)]
    state = rng.choice(states) if states else ""
    drawing = renderings.pictures[rng.choice(renderings.numbers(unseen=unseen))][state]
    return DrawnObject(
        name, noun, color, pattern, "medium", Box(0, 0, 0, 0), 0.0, state, drawing, unseen=unseen
    )


def resample_sizes(
    rng: Random, objects: Sequence[DrawnObject], forbidden: HeldOut
) -> list[DrawnObject]:
    """Return the objects in random sizes; two objects of one noun are often small and large."""
    weights = CROWD_SIZE_WEIGHTS if len(objects) >= CROWD else SIZE_WEIGHTS
    sized = [
        replace(item, size=_sample_attribute(rng, item.noun, SIZES, weights, forbidden))
        for item in objects
    ]
    for first, second in combinations(range(len(sized)), 2):
        noun = sized[first].noun
        if sized[second].noun == noun and not any(
            forbidden.forbids(noun, size) for size in ("small", "large")
        ):
            sizes = ["small", "large"] if rng.random() < TWIN_SIZE else ["medium", "medium"]
            for index, size in zip((first, second), rng.sample(sizes, 2), strict=True):
                sized[index] = replace(sized[index], size=size)
    return sized


def _sample_appearance(rng: Random, noun: str, forbidden: HeldOut, weights: Weights) -> Appearance:
    color = _sample_attribute(rng, noun, tuple(COLORS), weights, forbidden)
    return noun, color, _sample_attribute(rng, noun, PATTERNS, PATTERN_WEIGHTS, forbidden)


def _sample_attribute(
    rng: Random, noun: str, names: Sequence[str], weights: Weights, forbidden: HeldOut
) -> str:
    """Return a random attribute of ``names`` that the noun may have."""
    return _sample(rng, [name for name in names if not forbidden.forbids(noun, name)], weights)


def _make_twin(
    rng: Random, appearance: Appearance, other: Appearance, forbidden: HeldOut
) -> Appearance:
    """Return a second object of the same noun that differs from the first in colour or pattern."""
    noun, color, pattern = other
    if rng.random() < TWIN_COLOR:
        color = appearance[1]
    if (color, pattern) == appearance[1:]:
        pattern = rng.choice(
            [name for name in PATTERNS if name != pattern and not forbidden.forbids(noun, name)]
        )
    return noun, color, pattern


def _sample(rng: Random, names: Sequence[str], weights: Weights) -> str:
    return rng.choices(names, [weights.get(name, 1.0) for name in names])[0]
