"""Car, bus, truck and boat."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path, rectangle
from generators.microworld.shapes.shape import Shape

_GLASS = "#c6d5dd"
_RUBBER = "#3b3b40"


def _wheel(brush: Brush, x: float, y: float, radius: float) -> None:
    brush.part(oval(x, y, radius), _RUBBER, "none")
    brush.part(oval(x, y, 0.5 * radius), "#c3c5c9", "ball")


def _car(brush: Brush) -> None:
    brush.coat(
        path(
            "M1.2 72 C1.2 56 6 47 22 43 L42 40 L62 9 C66 3 70 1.2 78 1.2 L118 1.2 C127 1.2 132 4 138 10 "
            "L164 38 C186 41 198.8 48 198.8 66 L198.8 78 Q198.8 84 192 84 L8 84 Q1.2 84 1.2 78 Z"
        ),
        "flat",
    )
    brush.part(path("M55 40 L71 14 Q73 11 78 11 L95 11 L95 40 Z"), _GLASS)
    brush.part(path("M103 11 L116 11 Q122 11 126 15 L147 40 L103 40 Z"), _GLASS)
    brush.mark(path("M99 42 L99 82"), 1.8)
    brush.mark(path("M53 42 C50 58 54 70 62 82"), 1.8)
    brush.mark(path("M107 52 L118 52"), 3)
    brush.part(oval(193, 56, 4.5, 6), "#f3ecc8", "none")
    brush.part(rectangle(1.2, 52, 7, 62, 2), "#a8696b", "none")
    brush.shine(path("M30 46 L164 43 Q180 45 186 50 L20 50 Z"), 0.22)
    _wheel(brush, 44, 79.8, 19)
    _wheel(brush, 156, 79.8, 19)


def _bus(brush: Brush) -> None:
    brush.coat(
        path(
            "M12 1.2 L192 1.2 Q206 1.2 207 14 L208.8 60 L208.8 80 Q208.8 86 202 86 "
            "L8 86 Q1.2 86 1.2 80 L1.2 12 Q1.2 1.2 12 1.2 Z"
        ),
        "flat",
    )
    for left in (11, 45, 79, 113):
        brush.part(rectangle(left, 15, left + 28, 38, 3), _GLASS)
    brush.mark(rectangle(149, 13, 173, 82, 3), 1.8, 1)
    brush.part(rectangle(152, 16, 159, 50, 2), _GLASS)
    brush.part(rectangle(163, 16, 170, 50, 2), _GLASS)
    brush.mark(path("M161 14 L161 82"), 1.8, 1)
    brush.part(path("M182 15 L202 15 Q204 15 204 19 L206 44 L182 44 Z"), _GLASS)
    brush.mark(path("M3 47 L147 47"), 2.4)
    brush.part(oval(202, 66, 4.5, 5.5), "#f3ecc8", "none")
    brush.shine(path("M8 6 L196 6 L199 11 L6 11 Z"), 0.3)
    _wheel(brush, 40, 83, 15.8)
    _wheel(brush, 122, 83, 15.8)


def _truck(brush: Brush) -> None:
    brush.part(rectangle(6, 74, 180, 86, 2), "#5a5b61")
    brush.coat(rectangle(1.2, 1.2, 122, 78, 4), "flat")
    for x in (25, 49, 73, 97):
        brush.mark(path(f"M{x} 4 L{x} 76"), 1.4, 0.45)
    brush.shine(path("M6 6 L118 6 L118 11 L6 11 Z"), 0.3)
    brush.coat(
        path("M128 26 L160 26 Q166 26 169 32 L180 53 Q188.8 56 188.8 64 L188.8 80 Q188.8 86 183 86 L128 86 Z"),
        "flat",
        0.05,
    )
    brush.part(path("M138 34 L157 34 Q161 34 163 38 L171 54 L138 54 Z"), _GLASS)
    brush.mark(path("M134 60 L134 82"), 1.6)
    brush.mark(path("M140 64 L148 64"), 3)
    brush.part(oval(184, 68, 4, 5), "#f3ecc8", "none")
    _wheel(brush, 32, 82.8, 16)
    _wheel(brush, 74, 82.8, 16)
    _wheel(brush, 154, 82.8, 16)


def _boat_back(brush: Brush) -> None:
    brush.bar(path("M62 2.8 L62 72"), 5.5, "#8a7257")
    brush.coat(path("M67 6 C90 22 106 42 110 60 L67 60 Z"), "flat")
    brush.coat(path("M57 14 C46 32 34 48 18 60 L57 60 Z"), "flat", 0.10)


def _boat(brush: Brush) -> None:
    brush.coat(path("M1.2 66 C30 72 90 72 126.8 62 C122 82 112 98.8 96 98.8 L34 98.8 C18 98.8 6 84 1.2 66 Z"), "lying")
    brush.mark(path("M5 75 C34 81 90 80 123 72"), 2.2)


SHAPES = {
    "car": Shape(2.00, _car, top=(0.34, 0.64, 0.02), pitch=30),
    "bus": Shape(2.10, _bus, top=(0.05, 0.92, 0.02), pitch=26),
    "truck": Shape(1.90, _truck, top=(0.02, 0.63, 0.02), pitch=28),
    "boat": Shape(1.28, _boat, _boat_back, inside=(0.14, 0.72, 0.86, 0.90), pitch=22),
}
