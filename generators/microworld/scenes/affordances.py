"""Tables of the micro-world: which nouns occur together, how large objects are, and which objects carry other objects.

The nouns of a scene belong to one theme, such as a kitchen. Themes are small, so that a corpus of a few thousand
captions contains most of the (noun, relation, noun) triples that are not held out.
"""

from __future__ import annotations

from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.world import ALL_NOUNS, NOUNS

THEMES: dict[str, tuple[str, ...]] = {
    "kitchen": ("table", "cup", "bowl", "bottle", "apple", "lemon", "cat"),
    "study": ("chair", "lamp", "clock", "vase", "key", "hat", "cat"),
    "garden": ("bench", "tree", "flower", "mushroom", "basket", "bird", "hat"),
    "street": ("car", "bus", "house", "tower", "tree", "umbrella", "bird"),
    "playroom": ("table", "drum", "box", "ball", "bell", "balloon", "kite"),
    "shore": ("boat", "tent", "bucket", "fish", "ball", "kite", "hat"),
    "hall": ("bench", "box", "boot", "shirt", "umbrella", "key", "bell"),
    "market": ("truck", "basket", "bucket", "vase", "banana", "pear", "cactus"),
}
"""Theme -> nouns. Every noun is in one to three themes and shares a theme with 6 to 18 other nouns."""

TYPICAL_SIDE = {
    noun: side
    for cluster, side in {
        "vessel": 155,
        "container": 175,
        "fruit": 130,
        "vehicle": 190,
        "furniture": 205,
        "building": 205,
        "plant": 150,
        "clothing": 145,
        "animal": 180,
        "device": 145,
        "plaything": 150,
    }.items()
    for noun in NOUNS[cluster]
} | {"tower": 180, "tree": 205, "umbrella": 160, "hat": 105}
"""Noun -> geometric mean of the width and height of a medium-sized object, in pixels of a scene of 640 x 480 pixels."""

SIZE_FACTOR = {"small": 0.62, "medium": 1.0, "large": 1.5}
"""Size -> factor by which the typical side is multiplied."""
SIZE_JITTER = 0.05
"""Maximum relative deviation of an object's side from its size. With this jitter, adjacent sizes still differ by a
factor of at least 1.35."""

HANGING = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].hangs)
"""Nouns whose objects are always in the air. Birds are not listed, because only some birds are in the air."""
CARRIERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].top)
"""Nouns whose objects can carry other objects on top."""
CONTAINERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].inside)
"""Nouns whose objects can contain another object."""
WEARERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].head)
"""Nouns whose objects can wear a hat."""
PORTABLE = tuple(
    noun
    for cluster in ("vessel", "container", "fruit", "clothing", "animal", "device", "plaything")
    for noun in NOUNS[cluster]
    if noun not in HANGING
)
"""Nouns whose objects can be on a carrier or in a container, if the carrier or container is large enough."""


def list_themes_of(noun: str) -> tuple[str, ...]:
    return tuple(theme for theme, nouns in THEMES.items() if noun in nouns)


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
        raise ValueError(f"--themes: unknown theme {', '.join(unknown)}. Known themes: {', '.join(THEMES)}.")
    return tuple(noun for noun in ALL_NOUNS if any(noun in THEMES[name] for name in names))
