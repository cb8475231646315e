"""Who is in a scene, and how each looks: nouns of one theme with colours, patterns and sizes.

Frequencies are flat for test scenes and Zipf-like (``skewed_weights``) for training scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from generators.microworld.scene import Thing
from generators.microworld.scenes.affordances import THEMES, TYPICAL_SIDE, WEARERS, themes_of
from generators.microworld.scenes.held_out import ALL_NOUNS, LeftOut
from generators.microworld.world import COLORS, PATTERNS, SIZES
from generators.schemas.scene_graph import Box

SIZE_WEIGHTS = {"small": 2.0, "medium": 4.0, "large": 5.0}
CROWD, CROWD_SIZE_WEIGHTS = 5, {"small": 5.0, "medium": 4.0, "large": 2.0}
"""From so many things on they are smaller."""
PATTERN_WEIGHTS = {"plain": 6.0, "striped": 1.5, "spotted": 1.5, "checkered": 1.5}
TWIN, TWIN_COLOR = 0.15, 0.5
"""The chance that a scene of three things or more has two of one noun, and that these two share their colour."""
DRESSED = 0.6
"""The chance that an animal that is drawn first brings a hat."""
Weights = Mapping[str, float]
"""Relative frequencies of nouns and attributes; what is not in it counts 1."""

Look = tuple[str, str, str]
"""Noun, colour, pattern."""


def skewed_weights(seed: int, corpus: str) -> dict[str, float]:
    """Zipf-like frequencies of nouns and of attributes, in an order of the corpus' own; 1 down to about 1/2."""
    rng = Random(f"{seed}:{corpus}:weights")
    return {
        name: (1 + rank / (0.1 * len(names))) ** -0.3
        for names in (ALL_NOUNS, tuple(COLORS))
        for rank, name in enumerate(rng.sample(names, len(names)))
    }


def cast_of(rng: Random, n_things: int, forbidden: LeftOut | None, weights: Weights) -> list[Thing]:
    """Things of one theme, neither sized nor placed yet; big nouns first, so that they can carry the others."""
    first = _weighted(rng, [noun for noun in ALL_NOUNS if not (forbidden and forbidden.forbids(noun))], weights)
    pool = [
        noun
        for noun in THEMES[rng.choice(themes_of(first))]
        if noun != first and not (forbidden and forbidden.forbids(noun))
    ]
    nouns = [first]
    if n_things > 1 and first in WEARERS and "hat" in pool and rng.random() < DRESSED:
        pool.remove("hat")
        nouns.append("hat")
    while len(nouns) < n_things:
        nouns.append(_weighted(rng, pool, weights))
        pool.remove(nouns[-1])
    looks = [_look(rng, noun, forbidden, weights) for noun in nouns]
    if n_things > 2 and rng.random() < TWIN:
        looks[-1] = _twin(rng, looks[0], _look(rng, nouns[0], forbidden, weights), forbidden)
    looks.sort(key=lambda look: -TYPICAL_SIDE[look[0]])
    return [Thing(str(index), *look, "medium", Box(0, 0, 0, 0), 0.0) for index, look in enumerate(looks)]


def resized(rng: Random, cast: Sequence[Thing], forbidden: LeftOut | None) -> list[Thing]:
    """The same things with other sizes."""
    weights = CROWD_SIZE_WEIGHTS if len(cast) >= CROWD else SIZE_WEIGHTS
    return [replace(thing, size=_choose(rng, thing.noun, SIZES, weights, forbidden)) for thing in cast]


def _look(rng: Random, noun: str, forbidden: LeftOut | None, weights: Weights) -> Look:
    color = _choose(rng, noun, tuple(COLORS), weights, forbidden)
    return noun, color, _choose(rng, noun, PATTERNS, PATTERN_WEIGHTS, forbidden)


def _choose(rng: Random, noun: str, names: Sequence[str], weights: Weights, forbidden: LeftOut | None) -> str:
    """An attribute that a noun may have."""
    return _weighted(rng, [name for name in names if not (forbidden and forbidden.forbids(noun, name))], weights)


def _twin(rng: Random, look: Look, other: Look, forbidden: LeftOut | None) -> Look:
    """A second thing of the same noun that a caption can tell from the first by colour or pattern."""
    noun, color, pattern = other
    if rng.random() < TWIN_COLOR:
        color = look[1]
    if (color, pattern) == look[1:]:
        patterns = [name for name in PATTERNS if name != pattern and not (forbidden and forbidden.forbids(noun, name))]
        pattern = rng.choice(patterns)
    return noun, color, pattern


def _weighted(rng: Random, names: Sequence[str], weights: Weights) -> str:
    return rng.choices(names, [weights.get(name, 1.0) for name in names])[0]
