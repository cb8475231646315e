"""Ball, kite, drum and balloon."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape


def _ball(brush: Brush) -> None:
    brush.coat(oval(50, 50, 48.8), "ball")
    brush.mark(path("M3 40 C30 54 70 54 97 40"), 2.4, 0.85)
    brush.mark(path("M52 1.5 C42 30 42 70 54 98.5"), 2.4, 0.85)
    brush.mark(path("M16 15 C34 34 36 66 20 88"), 2.4, 0.85)
    brush.mark(path("M84 15 C66 34 66 66 82 87"), 2.4, 0.85)
    brush.shine(oval(33, 24, 10, 6), 0.5)


def _kite(brush: Brush) -> None:
    brush.thread(path("M36 68 C46 74 24 82 34 88 C40 92 46 94 50 97.5"), 2, "#8d8678")
    for x, y in ((38, 75), (31, 85), (45, 94)):
        brush.coat(
            path(f"M{x} {y} L{x - 8} {y - 4.5} L{x - 8} {y + 3.5} Z M{x} {y} L{x + 8} {y - 3.5} L{x + 8} {y + 4.5} Z"),
            "none",
        )
    brush.coat(path("M36 1.2 L70.8 28 L36 70 L1.2 28 Z"), "flat")
    brush.thread(path("M36 2.5 L36 69"), 2, "#6d5640")
    brush.thread(path("M2.5 28 L69.5 28"), 2, "#6d5640")


def _drum(brush: Brush) -> None:
    brush.coat(path("M4 22 L106 22 L106 80 C106 103 4 103 4 80 Z"), "upright")
    for x in range(4, 106, 17):
        brush.mark(path(f"M{x} 40 L{x + 8.5} 88 L{x + 17} 40"), 1.8, 0.8)
    brush.coat(path("M1.2 74 C1.2 96 108.8 96 108.8 74 L108.8 82 C108.8 104.4 1.2 104.4 1.2 82 Z"), "upright", 0.12)
    brush.coat(path("M1.2 14 L108.8 14 L108.8 27 C108.8 49 1.2 49 1.2 27 Z"), "upright", 0.12)
    brush.part(oval(55, 15, 53.8, 13.8), "#ece4d3", "flat")


def _balloon(brush: Brush) -> None:
    brush.thread(path("M32 70 C40 78 24 86 32 97.8"), 2, "#8d8678")
    brush.coat(path("M26 72 L38 72 L32 62 Z"), "flat", 0.1)
    brush.coat(
        path("M32 1.2 C52 1.2 62.8 16 62.8 32 C62.8 50 44 66 32 67 C20 66 1.2 50 1.2 32 C1.2 16 12 1.2 32 1.2 Z"),
        "ball",
    )
    brush.shine(path("M10 28 C11 17 18 10 26 9 C19 15 16 22 16 32 Z"), 0.6)


SHAPES = {
    "ball": Shape(1.00, _ball, pitch=28),
    "kite": Shape(0.72, _kite, base=False, pitch=20),
    "drum": Shape(1.10, _drum, top=(0.12, 0.88, 0.16)),
    "balloon": Shape(0.64, _balloon, base=False, pitch=20),
}
