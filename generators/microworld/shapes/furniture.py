"""Table, chair and bench."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import path, rectangle
from generators.microworld.shapes.shape import Shape


def _table(brush: Brush) -> None:
    for left, right, foot in ((30, 39, 84), (121, 130, 84)):
        brush.coat(rectangle(left, 30, right, foot, 1.5), "upright", 0.30)
    brush.coat(path("M12 42 L148 42 L148 56 L12 56 Z"), "flat", 0.16)
    for x, slant in ((8, 2), (140, -2)):
        brush.coat(
            path(f"M{x} 42 L{x + 12} 42 L{x + 11 + slant / 2} 98.8 L{x + 1 + slant / 2} 98.8 Z"), "upright", 0.05
        )
    brush.coat(path("M26 1.2 L134 1.2 L158.8 34 L1.2 34 Z"), "flat")
    brush.coat(path("M1.2 34 L158.8 34 L158.8 43 L1.2 43 Z"), "flat", 0.12)
    brush.shine(path("M34 6 L84 6 L66 29 L18 29 Z"), 0.16)


def _chair(brush: Brush) -> None:
    brush.coat(rectangle(14, 50, 20, 88, 1.5), "upright", 0.30)
    brush.coat(rectangle(46, 50, 52, 88, 1.5), "upright", 0.30)
    brush.coat(rectangle(8.5, 1.2, 15.5, 58, 3), "upright")
    brush.coat(rectangle(50.5, 1.2, 57.5, 58, 3), "upright")
    brush.coat(rectangle(13, 5, 53, 21, 3), "flat")
    brush.coat(rectangle(13, 27, 53, 40, 3), "flat")
    brush.coat(path("M11 50 L55 50 L64.8 64 L1.2 64 Z"), "flat")
    brush.coat(rectangle(1.2, 63, 64.8, 72, 2), "flat", 0.12)
    brush.coat(rectangle(3, 71, 11, 98.8, 1.5), "upright")
    brush.coat(rectangle(55, 71, 63, 98.8, 1.5), "upright")


def _bench(brush: Brush) -> None:
    for x in (14, 166):
        brush.part(rectangle(x - 4, 8, x + 4, 90, 2), "#55575d", "upright")
    for y in (1.2, 20):
        brush.coat(rectangle(5, y, 175, y + 15, 3), "flat")
    brush.coat(path("M16 46 L164 46 L178.8 62 L1.2 62 Z"), "flat")
    brush.coat(rectangle(1.2, 61, 178.8, 72, 2), "flat", 0.14)
    brush.mark(path("M9 54 L171 54"), 1.6, 0.6)
    for x in (12, 168):
        brush.part(path(f"M{x - 5} 72 L{x + 5} 72 L{x + 6} 98.8 L{x - 6} 98.8 Z"), "#55575d", "upright")


SHAPES = {
    "table": Shape(1.60, _table, top=(0.10, 0.90, 0.24), pitch=24),
    "chair": Shape(0.66, _chair, top=(0.12, 0.88, 0.60), pitch=20),
    "bench": Shape(1.80, _bench, top=(0.08, 0.92, 0.57), pitch=24),
}
