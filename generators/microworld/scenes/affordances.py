"""Tables of the micro-world: which nouns occur together, how large objects are, and what can be done with them.

They are derived from nouns.csv and from the drawings. The nouns of a scene belong to one theme, such as a kitchen.
Themes are small, so that a corpus of a few thousand captions contains most of the (noun, relation, noun) triples that
are not held out.
"""

from __future__ import annotations

from collections.abc import Mapping

from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.pictures import RENDERINGS
from compeval.generators.microworld.world import ALL_NOUNS, NOUN_TABLE


def _with_role(role: str) -> tuple[str, ...]:
    return tuple(noun for noun in ALL_NOUNS if role in NOUN_TABLE[noun].roles)


THEMES: Mapping[str, tuple[str, ...]] = {
    theme: tuple(noun for noun in ALL_NOUNS if theme in NOUN_TABLE[noun].themes)
    for theme in dict.fromkeys(theme for noun in ALL_NOUNS for theme in NOUN_TABLE[noun].themes)
}
"""Theme -> nouns. Every noun is in one to three themes."""
TYPICAL_SIDE = {noun: NOUN_TABLE[noun].side for noun in ALL_NOUNS}
"""Noun -> geometric mean of the width and height of a medium-sized object, in pixels of a scene of 640 x 480 pixels.
The pose or state of an object changes its box, but not its scale."""

SIZE_FACTOR = {"small": 0.62, "medium": 1.0, "large": 1.5}
"""Size -> factor by which the typical side is multiplied."""
SIZE_JITTER = 0.05
"""Maximum relative deviation of an object's side from its size. With this jitter, adjacent sizes still differ by a
factor of at least 1.35."""

HANGING = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].hangs)
"""Nouns whose objects are always in the air. Birds are not listed, because only some birds are in the air."""
CARRIERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].top)
"""Nouns whose objects can carry other objects on top."""
CONTAINERS = tuple(
    noun
    for noun in ALL_NOUNS
    if any(
        DRAWINGS[name].inside
        for rendering in RENDERINGS[noun].pictures
        for name in rendering.values()
    )
)
"""Nouns whose objects can contain another object in one of their states."""
WEARERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].head)
"""Nouns whose objects can wear a hat."""
RIDDEN = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].saddle)
"""Nouns whose objects a person can ride."""
AGENTS = tuple(noun for noun in ALL_NOUNS if "holding" in RENDERINGS[noun].poses)
"""Nouns whose objects have hands: they hold, eat, pull, push and ride."""
POURING = tuple(noun for noun in ALL_NOUNS if "pouring" in RENDERINGS[noun].poses)
"""Nouns whose objects can be poured out."""
PORTABLE = tuple(noun for noun in _with_role("portable") if noun not in HANGING)
"""Nouns whose objects can be on a carrier or in a container, if the carrier or container is large enough."""
WORN, HELD, FOOD, PULLED, PUSHED, FILLED = map(
    _with_role, ("worn", "held", "food", "pulled", "pushed", "filled")
)


def list_actions(agent: str, target: str) -> tuple[str, ...]:
    """Return the actions that an object of the first noun can do to one of the second, such as ("riding",)."""
    patients = {
        "holding": HELD,
        "eating": FOOD,
        "pulling": PULLED,
        "pushing": PUSHED,
        "riding": RIDDEN,
    }
    actions = tuple(
        action for action, nouns in patients.items() if agent in AGENTS and target in nouns
    )
    return (*actions, *(("pouring into",) if agent in POURING and target in FILLED else ()))


def share_theme(first: str, second: str) -> bool:
    """Return True if a theme contains both nouns."""
    return any(first in nouns and second in nouns for nouns in THEMES.values())


def list_nouns(themes: str) -> tuple[str, ...]:
    """Return the nouns of the themes (names separated by commas), or all nouns if ``themes`` is empty.

    Raises ValueError if a theme is unknown.
    """
    if not themes:
        return ALL_NOUNS
    names = themes.split(",")
    if unknown := sorted(set(names) - set(THEMES)):
        raise ValueError(
            f"--themes: unknown theme {', '.join(unknown)}. Known themes: {', '.join(THEMES)}."
        )
    return tuple(noun for noun in ALL_NOUNS if any(noun in THEMES[name] for name in names))
