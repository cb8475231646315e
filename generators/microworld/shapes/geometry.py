"""Outlines in design units: cached Skia paths from a small part of SVG's path language.

Design units: a shape's box is ``100 * aspect`` wide and 100 high, origin at the top left, y down.
The paths are shared between drawings; nobody may change them.
"""

from __future__ import annotations

import re
from functools import lru_cache

import skia

_TOKEN = re.compile(r"[MLQCZ]|-?\d*\.?\d+")
_ARGUMENTS = {"M": 2, "L": 2, "Q": 4, "C": 6, "Z": 0}


@lru_cache(maxsize=4096)
def path(text: str) -> skia.Path:
    """A path from absolute SVG commands ``M L Q C Z``; a repeated command letter must be written out."""
    result = skia.Path()
    verbs = {"M": result.moveTo, "L": result.lineTo, "Q": result.quadTo, "C": result.cubicTo, "Z": result.close}
    tokens = iter(_TOKEN.findall(text))
    for verb in tokens:
        verbs[verb](*(float(next(tokens)) for _ in range(_ARGUMENTS[verb])))
    return result


@lru_cache(maxsize=4096)
def oval(x: float, y: float, radius_x: float, radius_y: float | None = None) -> skia.Path:
    """An ellipse around (x, y); a circle without ``radius_y``."""
    radius_y = radius_x if radius_y is None else radius_y
    return skia.Path.Oval(skia.Rect.MakeLTRB(x - radius_x, y - radius_y, x + radius_x, y + radius_y))


@lru_cache(maxsize=4096)
def rectangle(left: float, top: float, right: float, bottom: float, radius: float = 0.0) -> skia.Path:
    """A rectangle by its edges, with rounded corners of ``radius``."""
    return skia.Path.RRect(skia.Rect.MakeLTRB(left, top, right, bottom), radius, radius)


def ring(x: float, y: float, outer: float, inner: float) -> skia.Path:
    """A round disc with a round hole."""
    result = skia.Path(oval(x, y, outer))
    result.addCircle(x, y, inner)
    result.setFillType(skia.PathFillType.kEvenOdd)
    return result
