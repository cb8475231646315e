"""Which nouns occur together, how large each is, and what each can stand on, be in or wear.

Nouns occur together by theme, as in photographs. Themes are small, so that a corpus of a few thousand captions states
most of the (noun, relation, noun) triples that it does not hold out.
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
"""Multiples of the typical side."""
SIZE_JITTER = 0.05
"""The largest relative deviation from a size class; neighbouring classes stay at least 1.35 times apart."""

HANGING = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].hangs)
"""Always hang in the air. A bird sometimes does."""
CARRIERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].top)
CONTAINERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].inside)
WEARERS = tuple(noun for noun in ALL_NOUNS if DRAWINGS[noun].head)
PORTABLE = tuple(
    noun
    for cluster in ("vessel", "container", "fruit", "clothing", "animal", "device", "plaything")
    for noun in NOUNS[cluster]
    if noun not in HANGING
)
"""Can stand on a carrier or be in a container that is large enough."""


def list_themes_of(noun: str) -> tuple[str, ...]:
    return tuple(theme for theme, nouns in THEMES.items() if noun in nouns)


def share_theme(first: str, second: str) -> bool:
    return any(first in nouns and second in nouns for nouns in THEMES.values())
