"""Apple, pear, banana and lemon."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape

_STEM = "#6b4a2f"
_LEAF = "#6f9a58"


def _apple(brush: Brush) -> None:
    brush.coat(
        path(
            "M48 27 C38 16 1.2 16 1.2 54 C1.2 80 20 98.8 34 98.8 C41 98.8 43 96 48 96 "
            "C53 96 55 98.8 62 98.8 C76 98.8 94.8 80 94.8 54 C94.8 16 58 16 48 27 Z"
        ),
        "ball",
    )
    brush.mark(path("M33 28 C40 34 56 34 63 28"), 2.2, 0.7)
    brush.part(path("M50 14 C56 1.2 70 1.2 80 4 C76 17 62 20 50 14 Z"), _LEAF)
    brush.thread(path("M48 30 C48 20 46 12 42 5"), 4.5, _STEM)
    brush.shine(path("M12 50 C12 36 20 29 29 28 C21 35 19 43 18 54 Z"), 0.5)


def _pear(brush: Brush) -> None:
    brush.part(path("M37 13 C42 2 54 1.2 64 5 C60 17 48 19 37 13 Z"), _LEAF)
    brush.coat(
        path(
            "M35 18 C49 18 50 30 53 42 C57 54 68.8 58 68.8 74 C68.8 92 52 98.8 35 98.8 "
            "C18 98.8 1.2 92 1.2 74 C1.2 58 13 54 17 42 C20 30 21 18 35 18 Z"
        ),
        "ball",
    )
    brush.thread(path("M35 19 C35 13 33 8 29 2.3"), 4.5, _STEM)
    brush.mark(path("M31 96 Q35 92 39 96"), 2, 0.6)
    brush.shine(path("M10 74 C10 64 17 60 21 54 C20 64 16 68 15 80 Z"), 0.5)


def _banana(brush: Brush) -> None:
    brush.coat(
        path(
            "M5 13 L19 9 C25 31 44 49 72 51 C92 52 110 43 122 33 L132 43 C122 74 96 98.8 64 98.8 C28 98.8 -1 64 5 13 Z"
        ),
        "lying",
    )
    brush.mark(path("M13 16 C20 50 46 74 76 74 C98 74 116 58 126 42"), 1.8, 0.7)
    brush.part(path("M4 15 L1.2 2.5 L14 1.2 L20.5 11 Z"), _STEM)
    brush.part(path("M120.5 34 L128 28 L138.8 38 L132 46 Z"), "#4d3a2a")
    brush.shine(path("M20 28 C27 44 42 57 62 61 C42 62 25 48 20 28 Z"), 0.45)


def _lemon(brush: Brush) -> None:
    brush.coat(
        path(
            "M1.2 52 C2 45 9 43 16 35 C26 12 48 1.2 72 1.2 C98 1.2 114 14 124 34 C130 42 138 43 138.8 51 "
            "C139 59 131 62 125 68 C115 88 98 98.8 72 98.8 C46 98.8 26 88 15 67 C9 61 1 59 1.2 52 Z"
        ),
        "ball",
    )
    brush.mark(path("M15 37 C21 44 21 58 15 66"), 1.8, 0.55)
    brush.mark(path("M125 36 C119 44 119 58 125 66"), 1.8, 0.55)
    for x, y in ((58, 80), (82, 84), (100, 70), (78, 66), (104, 44), (88, 28)):
        brush.dab(oval(x, y, 1.5), "#000000", 0.2)
    brush.shine(path("M30 44 C34 24 50 14 68 12 C52 20 42 30 38 46 Z"), 0.5)


SHAPES = {
    "apple": Shape(0.96, _apple),
    "pear": Shape(0.70, _pear, pitch=21),
    "banana": Shape(1.40, _banana, pitch=26),
    "lemon": Shape(1.40, _lemon, pitch=30),
}
