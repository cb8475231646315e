"""Colours in Skia's format (0xAARRGGBB), and the tones of a named colour.

All tones are mixtures of the named colour with white or black. No tone is similar to another of the eight colours, so
an object with red stripes is still called red.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from compeval.generators.microworld.world import WORLD

WHITE = 0xFFFFFFFF
BLACK = 0xFF000000


@dataclass(frozen=True, slots=True)
class Tones:
    """The tones of one named colour."""

    base: int
    tint: int
    shade: int
    outline: int
    mark: int
    """Details such as seams, slats and mouths."""
    hollow: int
    """The inside of a vessel."""


def parse_color(code: str) -> int:
    """Return the opaque colour of ``#rrggbb``."""
    return 0xFF000000 | int(code[1:], 16)


def add_opacity(color: int, opacity: float) -> int:
    """Return ``color`` with an opacity of 0 to 1."""
    return (color & 0xFFFFFF) | round(opacity * 255) << 24


def mix(color: int, second_color: int, share: float) -> int:
    """Return an opaque mixture of two colours; ``share`` (0 to 1) is the share of the second colour."""
    channels = (
        round((color >> shift & 255) * (1 - share) + (second_color >> shift & 255) * share) << shift
        for shift in (16, 8, 0)
    )
    return 0xFF000000 | sum(channels)


@lru_cache
def choose_tones(color: str) -> Tones:
    tones = WORLD["colors"][color]
    base = parse_color(tones["base"])
    tint = parse_color(tones["tint"])
    shade = parse_color(tones["shade"])
    is_black = color == "black"
    return Tones(
        base=base,
        tint=tint,
        shade=shade,
        outline=mix(base, BLACK, 0.46),
        mark=mix(base, WHITE, 0.42) if is_black else mix(base, BLACK, 0.42),
        hollow=mix(base, WHITE, 0.12) if is_black else mix(base, BLACK, 0.38),
    )
