"""Which nouns occur together, how large objects are, and which objects can stand on, be in or wear others.

The objects of a scene belong to one theme, such as a kitchen. Themes are small, so that a corpus of a few thousand
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
"""Every noun is in one to three themes and occurs together with 6 to 18 others."""

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
"""The geometric mean of width and height of a medium-sized object, in pixels of a 640 x 480 scene."""

SIZE_FACTOR = {"small": 0.62, "medium": 1.0, "large": 1.5}
"""Size -> factor for the typical side."""
SIZE_JITTER = 0.05
"""Maximum relative deviation from a size; neighbouring sizes differ by a factor of at least 1.35."""

HANGING = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].hangs)
"""Nouns that always hang in the air. A bird sometimes hangs in the air."""
CARRIERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].top)
CONTAINERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].inside)
WEARERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].head)
PORTABLE = tuple(
    noun
    for cluster in ("vessel", "container", "fruit", "clothing", "animal", "device", "plaything")
    for noun in NOUNS[cluster]
    if noun not in HANGING
)
"""Nouns that can stand on a carrier or be in a container if it is large enough."""


def list_themes_of(noun: str) -> tuple[str, ...]:
    return tuple(theme for theme, nouns in THEMES.items() if noun in nouns)


def share_theme(first: str, second: str) -> bool:
    return any(first in nouns and second in nouns for nouns in THEMES.values())


def list_nouns(themes: str) -> tuple[str, ...]:
    """Return the nouns of the comma-separated themes; all nouns if ``themes`` is empty.

    Raises ValueError if a theme is unknown.
    """
    if not themes:
        return ALL_NOUNS
    names = themes.split(",")
    if unknown := sorted(set(names) - set(THEMES)):
        raise ValueError(f"--themes: unknown {', '.join(unknown)}; known: {', '.join(THEMES)}.")
    return tuple(noun for noun in ALL_NOUNS if any(noun in THEMES[name] for name in names))
