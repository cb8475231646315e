"""House, tent and tower."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import path, rectangle
from generators.microworld.shapes.shape import Shape

_CREAM = "#f0e8d6"
_WOOD = "#77593f"


def _house(brush: Brush) -> None:
    brush.trim(rectangle(76, 8, 90, 40, 1), "upright", 0.20)
    brush.coat(path("M12 44 L55 12 L98 44 L98 98.8 L12 98.8 Z"), "flat")
    brush.trim(path("M55 1.2 L108.8 42 L101 52 L55 17 L9 52 L1.2 42 Z"), "flat", 0.32)
    brush.part(path("M46 98.8 L46 70 Q46 62 55 62 Q64 62 64 70 L64 98.8 Z"), _WOOD)
    for left in (20, 74):
        brush.part(rectangle(left, 60, left + 16, 77, 1), _CREAM)
        brush.thread(path(f"M{left + 8} 61 L{left + 8} 76"), 1.6, "#8b7f6c")
        brush.thread(path(f"M{left + 1} 68.5 L{left + 15} 68.5"), 1.6, "#8b7f6c")
    brush.part(path("M49 46 Q49 36 55 36 Q61 36 61 46 Z"), _CREAM)


def _tent(brush: Brush) -> None:
    brush.thread(path("M122 12 L159 88"), 1.6, "#8f8473")
    brush.coat(path("M50 6 L122 12 C128 44 136 66 150 86 L100 98.8 C80 72 62 42 50 6 Z"), "flat", 0.16)
    brush.mark(path("M86 10 C94 44 108 70 126 91"), 1.6, 0.6)
    brush.coat(path("M50 6 C60 42 78 72 100 98.8 L1.2 98.8 C20 72 40 42 50 6 Z"), "flat")
    brush.hollow(path("M50 30 C53 60 60 84 70 98.8 L34 98.8 C42 82 49 60 50 30 Z"))
    brush.trim(path("M50 28 C53 54 62 80 78 98.8 L66 98.8 C58 84 52 60 50 28 Z"), "flat")
    brush.bar(path("M50 2.3 L50 9"), 4.5, _WOOD)


def _tower(brush: Brush) -> None:
    brush.coat(path("M7 30 L39 30 L43 98.8 L3 98.8 Z"), "upright")
    brush.coat(
        path(
            "M1.2 1.2 L10 1.2 L10 9 L18.5 9 L18.5 1.2 L27.5 1.2 L27.5 9 L36 9 L36 1.2 L44.8 1.2 "
            "L44.8 22 L39 31 L7 31 L1.2 22 Z"
        ),
        "upright",
        0.06,
    )
    brush.mark(path("M2 22 L44 22"), 1.4)
    brush.part(path("M15.5 98.8 L15.5 86 Q15.5 78 23 78 Q30.5 78 30.5 86 L30.5 98.8 Z"), _WOOD)
    for y in (40, 58):
        brush.hollow(path(f"M20 {y + 10} L20 {y + 3} Q20 {y} 23 {y} Q26 {y} 26 {y + 3} L26 {y + 10} Z"))
    for x, y in ((9, 50), (33, 44), (10, 72), (32, 68), (34, 88)):
        brush.mark(path(f"M{x} {y} L{x + 5} {y}"), 1.2, 0.6)


SHAPES = {
    "house": Shape(1.10, _house),
    "tent": Shape(1.60, _tent, pitch=26),
    "tower": Shape(0.46, _tower, top=(0.03, 0.97, 0.02), pitch=17),
}
