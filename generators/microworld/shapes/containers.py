"""Box and basket."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape


def _box_back(brush: Brush) -> None:
    brush.coat(path("M29 22 L91 22 L98 1.2 L22 1.2 Z"), "flat", 0.10)
    brush.hollow(path("M15 42 L29 22 L91 22 L105 42 Z"))
    brush.coat(path("M15 42 L29 22 L14 14 L1.2 33 Z"), "flat")
    brush.coat(path("M105 42 L91 22 L106 14 L118.8 33 Z"), "flat", 0.14)


def _box(brush: Brush) -> None:
    brush.coat(path("M15 42 L105 42 L105 98.8 L15 98.8 Z"), "flat")
    brush.coat(path("M15 42 L105 42 L111 59 L9 59 Z"), "flat", 0.06)
    brush.mark(path("M60 60.5 L60 98"), 1.6, 0.6)


def _basket_back(brush: Brush) -> None:
    brush.bar(path("M13 46 C13 -9 107 -9 107 46"), 9)
    brush.hollow(oval(60, 43, 58.8, 11))


def _basket(brush: Brush) -> None:
    brush.coat(path("M5 48 C5 65 115 65 115 48 L105 90 Q103 98.8 94 98.8 L26 98.8 Q17 98.8 15 90 Z"), "upright")
    for y in (70, 81, 92):
        left, right = 0.24 * y - 6, 126 - 0.24 * y
        brush.mark(path(f"M{left} {y - 4} C{left + 20} {y + 4} {right - 20} {y + 4} {right} {y - 4}"), 1.4, 0.4)
    for x in (24, 42, 60, 78, 96):
        brush.mark(path(f"M{x} 62 L{60 + (x - 60) * 0.84} 98"), 1.4, 0.4)
    brush.coat(path("M1.2 43 C1.2 58 118.8 58 118.8 43 L118.8 51 C118.8 67 1.2 67 1.2 51 Z"), "upright")
    for x in range(10, 110, 11):
        y = 58.5 - (x - 58) ** 2 / 330
        brush.mark(path(f"M{x - 2} {y - 3.5} L{x + 5} {y + 3.5}"), 1.6, 0.5)
    brush.glint(path("M3 47 C10 57.5 110 57.5 117 47"), 1.8, 0.35)


SHAPES = {
    "box": Shape(1.20, _box, _box_back, inside=(0.14, 0.43, 0.86, 0.96)),
    "basket": Shape(1.20, _basket, _basket_back, inside=(0.16, 0.60, 0.86, 0.95), pitch=22),
}
