"""Make patterns as Skia paths in drawing units; they are large enough for the widest drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import skia

_WIDTH = 300
"""Width of the patterns: the width of the widest drawing plus the slant of a stripe."""
_SLANT = 75
"""Horizontal distance between the upper and lower end of a stripe."""


@lru_cache(maxsize=256)
def make_pattern_areas(pattern: str, period: float) -> dict[str, skia.Path]:
    """Return tone -> area. Stripes are dark (``shade``), spots are light (``tint``), and checks are both."""
    cells = {
        "plain": {},
        "striped": {"shade": _make_stripes(period)},
        "spotted": {"tint": _make_spots(period)},
        "checkered": {"tint": _make_checks(period, 0), "shade": _make_checks(period, 1)},
    }
    return {tone: _join(paths) for tone, paths in cells[pattern].items()}


def _join(paths: Iterable[skia.Path]) -> skia.Path:
    area = skia.Path()
    for path in paths:
        area.addPath(path)
    return area


def _make_stripes(period: float) -> Iterator[skia.Path]:
    width = 0.53 * period
    for index in range(int(_WIDTH / period)):
        left = index * period
        corners = ((left, 0), (left + width, 0), (left + width - _SLANT, 100), (left - _SLANT, 100))
        yield skia.Path.Polygon([skia.Point(*corner) for corner in corners], True)


def _make_spots(period: float) -> Iterator[skia.Path]:
    """Yield discs in a triangular grid."""
    row_height = 0.87 * period
    radius = 0.31 * period
    for row in range(int(100 / row_height) + 2):
        for column in range(int(_WIDTH / period)):
            x = (column + 0.5 * (row % 2)) * period
            y = (row + 0.5) * row_height
            yield skia.Path.Oval(skia.Rect.MakeLTRB(x - radius, y - radius, x + radius, y + radius))


def _make_checks(period: float, first: int) -> Iterator[skia.Path]:
    """Yield every second square of every second row, beginning with row and column ``first`` (0 or 1)."""
    side = 0.72 * period
    for row in range(first, int(100 / side) + 1, 2):
        for column in range(first, int(_WIDTH / side), 2):
            box = skia.Rect.MakeLTRB(
                column * side, row * side, (column + 1) * side, (row + 1) * side
            )
            yield skia.Path.RRect(box, 0, 0)
