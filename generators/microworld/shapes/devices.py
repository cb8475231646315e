"""Clock, lamp, bell, key and umbrella."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path, rectangle, ring
from generators.microworld.shapes.shape import Shape

_STEEL = "#8d8f96"
_KEY_BOW = ring(49, 50, 47.8, 22)


def _clock(brush: Brush) -> None:
    brush.bar(path("M22 86 L14 96"), 7)
    brush.bar(path("M66 86 L74 96"), 7)
    brush.bar(path("M34 14 C36 -1.5 52 -1.5 54 14"), 4.5, _STEEL)
    brush.coat(path("M5 28 C-1 13 13 3 26 5.5 C32 8 36 12 38 15 Z"), "ball")
    brush.coat(path("M83 28 C89 13 75 3 62 5.5 C56 8 52 12 50 15 Z"), "ball", 0.08)
    brush.coat(oval(44, 54, 42.4), "ball")
    brush.part(oval(44, 54, 21), "#f1ecdf", "none")
    for x, y in ((44, 37), (61, 54), (44, 71), (27, 54)):
        brush.dab(oval(x, y, 1.8), "#46423e")
    brush.thread(path("M44 54 L44 41"), 3.2, "#2f2c2a")
    brush.thread(path("M44 54 L53 58.5"), 3.2, "#2f2c2a")
    brush.dab(oval(44, 54, 3), "#2f2c2a")


def _lamp(brush: Brush) -> None:
    brush.part(path("M14 98.8 C14 88 26 87 31 86 L31 56 L39 56 L39 86 C44 87 56 88 56 98.8 Z"), _STEEL, "upright")
    brush.thread(path("M52 62 L52 74"), 1.5, "#6f6a62")
    brush.dab(oval(52, 75, 2.4), "#6f6a62")
    brush.coat(path("M19 1.2 L51 1.2 L68.8 58 C60 65 10 65 1.2 58 Z"), "upright")
    brush.mark(path("M3 54 C14 60.5 56 60.5 67 54"), 1.6, 0.6)


def _bell(brush: Brush) -> None:
    brush.bar(path("M36 16 C30 0 56 0 50 16"), 6.5, _STEEL)
    brush.part(oval(43, 89, 9.8), "#5d5b58", "ball")
    brush.coat(
        path(
            "M43 11 C58 11 66 22 68 38 C70 58 74 68 84.8 78 Q85 86 76 86 L10 86 Q1 86 1.2 78 C12 68 16 58 18 38 "
            "C20 22 28 11 43 11 Z"
        ),
        "upright",
    )
    brush.mark(path("M11 72 C24 78 62 78 75 72"), 1.8, 0.7)
    brush.mark(path("M20 32 C30 37 56 37 66 32"), 1.6, 0.5)
    brush.shine(path("M26 30 C27 24 31 19 36 18 C32 30 30 52 24 66 L18 68 C24 56 25 42 26 30 Z"), 0.38)


def _key(brush: Brush) -> None:
    brush.coat(path("M170 56 L170 92 L182 92 L182 80 L190 80 L190 92 L204 92 L204 56 Z"), "flat", 0.08)
    brush.coat(rectangle(78, 39, 208.8, 61, 8), "lying")
    brush.coat(_KEY_BOW, "ball")
    brush.coat(rectangle(92, 33, 104, 67, 4), "lying", 0.05)


def _umbrella(brush: Brush) -> None:
    brush.bar(path("M55 40 L55 84 C55 101 36 101 37 85"), 6.5, "#6d5640")
    brush.bar(path("M55 3.5 L55 12"), 5, "#6d5640")
    brush.coat(
        path(
            "M1.2 58 C2 28 26 8 55 8 C84 8 108 28 108.8 58 C102 50 92 50 86 58 C78 49 63 49 55 58 "
            "C47 49 32 49 24 58 C18 50 8 50 1.2 58 Z"
        ),
        "ball",
    )
    brush.mark(path("M24 58 C27 36 40 16 55 9"), 1.8, 0.8)
    brush.mark(path("M55 58 L55 9"), 1.8, 0.8)
    brush.mark(path("M86 58 C83 36 70 16 55 9"), 1.8, 0.8)


SHAPES = {
    "clock": Shape(0.88, _clock, pitch=20),
    "lamp": Shape(0.70, _lamp, pitch=22),
    "bell": Shape(0.86, _bell),
    "key": Shape(2.10, _key, pitch=30),
    "umbrella": Shape(1.10, _umbrella, pitch=22),
}
