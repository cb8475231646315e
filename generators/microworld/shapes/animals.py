"""Cat, bird and fish."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape

_WHITE = "#fbfaf4"
_PUPIL = "#1d1b1e"


def _eye(brush: Brush, x: float, y: float, radius: float) -> None:
    brush.dab(oval(x, y, radius), _WHITE)
    brush.dab(oval(x + 0.1 * radius, y, 0.74 * radius), _PUPIL)
    brush.dab(oval(x - 0.12 * radius, y - 0.28 * radius, 0.24 * radius), _WHITE)


def _cat(brush: Brush) -> None:
    brush.bar(path("M60 90 C84 92 90 76 82 64 C78 57 84 50 88 54"), 11)
    brush.coat(
        path("M38 46 C58 46 70 68 70 86 Q70 98.8 58 98.8 L16 98.8 Q1.2 98.8 1.2 86 C1.2 68 18 46 38 46 Z"), "upright"
    )
    brush.mark(path("M30 97 L30 78"), 1.8, 0.7)
    brush.mark(path("M46 97 L46 78"), 1.8, 0.7)
    brush.mark(path("M62 96 C62 84 56 78 50 76"), 1.8, 0.6)
    brush.mark(path("M14 96 C14 84 20 78 26 76"), 1.8, 0.6)
    brush.coat(
        path(
            "M10 3 C10 1 12 1 14 2 L29 13 C35 11 41 11 47 13 L62 2 C64 1 66 1 66 3 L69 30 C72 46 56 56 38 56 "
            "C20 56 4 46 7 30 Z"
        ),
        "ball",
    )
    brush.dab(path("M14.5 8 L24 16 L14 24 Z"), "#d9a9a2", 0.9)
    brush.dab(path("M61.5 8 L52 16 L62 24 Z"), "#d9a9a2", 0.9)
    _eye(brush, 25, 31, 6)
    _eye(brush, 51, 31, 6)
    brush.dab(path("M34 39 L42 39 L38 43.5 Z"), "#c98a86")
    brush.mark(path("M38 43 C38 48 32 49 30 46"), 1.6, 1)
    brush.mark(path("M38 43 C38 48 44 49 46 46"), 1.6, 1)
    for side in (-1, 1):
        for tilt in (0, 5):
            x = 38 + side * 14
            brush.mark(path(f"M{x} {41 + 0.6 * tilt} L{x + side * 20} {38 + tilt}"), 1.0, 0.8)


def _bird(brush: Brush) -> None:
    for x in (52, 64):
        brush.thread(path(f"M{x} 82 L{x} 97 L{x - 8} 97.5"), 3, "#6e5b48")
        brush.thread(path(f"M{x} 97 L{x + 6} 97.5"), 3, "#6e5b48")
    brush.coat(path("M84 52 L118.8 38 L116 56 L92 72 Z"), "flat", 0.14)
    brush.part(path("M14 20 L1.2 27 L14 32 Z"), "#b79a62", "none")
    brush.coat(
        path(
            "M34 1.2 C48 1.2 55 12 58 24 C66 34 92 38 96 56 C98 76 80 87 60 87 C34 87 18 72 16 48 "
            "C14 40 11 32 11 24 C11 10 20 1.2 34 1.2 Z"
        ),
        "ball",
    )
    brush.coat(path("M44 46 C60 40 86 48 104 66 C88 74 60 76 50 66 C44 60 42 54 44 46 Z"), "flat", 0.16)
    brush.mark(path("M58 58 C70 60 82 63 92 66"), 1.6, 0.7)
    _eye(brush, 27, 20, 5.5)


def _fish(brush: Brush) -> None:
    brush.coat(path("M60 16 C72 -2 98 -2 112 8 C108 18 104 22 100 30 Z"), "flat", 0.16)
    brush.coat(path("M70 84 C76 96 88 99 98 98.8 C98 90 96 84 92 78 Z"), "flat", 0.16)
    brush.coat(path("M122 50 C134 30 146 18 158.8 14 C154 36 154 66 158.8 88 C146 84 134 70 122 50 Z"), "flat", 0.12)
    brush.coat(
        path("M1.2 52 C18 24 46 12 72 12 C100 12 120 34 132 50 C120 68 100 90 72 90 C46 90 16 78 1.2 52 Z"), "ball"
    )
    brush.mark(path("M46 22 C58 38 58 64 46 80"), 2.2, 0.8)
    brush.mark(path("M3 56 C9 60 15 61 20 60"), 2, 0.9)
    brush.coat(path("M62 50 C74 48 84 56 88 68 C76 70 66 64 62 50 Z"), "flat", 0.16)
    _eye(brush, 28, 42, 7.5)


SHAPES = {
    "cat": Shape(0.94, _cat, head=(0.16, 0.66, 0.20)),
    "bird": Shape(1.20, _bird, head=(0.08, 0.48, 0.10)),
    "fish": Shape(1.60, _fish, head=(0.08, 0.50, 0.26), pitch=28),
}
