"""Tree, flower, mushroom and cactus."""

from __future__ import annotations

import math

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape

_BARK = "#7a5a3e"
_LEAF = "#7a9a6a"


def _tree(brush: Brush) -> None:
    brush.part(path("M34 98.8 C38 90 37 72 35 58 L49 58 C47 72 46 90 50 98.8 Z"), _BARK, "upright")
    brush.coat(
        path(
            "M24 70 C8 72 1.2 62 1.2 52 C1.2 44 5 39 10 37 C6 22 18 12 28 13 C32 4 38 1.2 45 1.2 "
            "C56 1.2 62 8 63 15 C74 15 80 26 75 37 C80 40 82.8 45 82.8 52 C82.8 64 74 71 62 69 "
            "C56 76 48 76 43 71 C38 76 28 76 24 70 Z"
        ),
        "ball",
    )
    brush.mark(path("M26 40 C29 46 36 47 41 43"), 1.8, 0.6)
    brush.mark(path("M50 56 C54 61 61 60 64 55"), 1.8, 0.6)
    brush.mark(path("M48 26 C51 31 58 31 61 27"), 1.8, 0.6)


def _flower(brush: Brush) -> None:
    brush.bar(path("M35 60 C36 74 33 84 35 96.5"), 5.5, _LEAF)
    brush.part(path("M35 88 C40 74 52 72 60 74 C58 86 46 92 35 88 Z"), _LEAF)
    brush.part(path("M34 94 C30 82 20 79 11 81 C13 92 24 97 34 94 Z"), _LEAF)
    for index in range(7):
        turn = 2 * math.pi * index / 7 - math.pi / 2
        brush.canvas.save()
        brush.canvas.translate(34.5, 34.5)
        brush.canvas.rotate(math.degrees(turn))
        brush.canvas.translate(-34.5, -34.5)
        brush.coat(oval(53.5, 34.5, 14.2, 11.5), "flat")
        brush.canvas.restore()
    brush.part(oval(34.5, 34.5, 9.5), "#6a4f33", "ball")


def _mushroom(brush: Brush) -> None:
    brush.part(
        path("M39 56 L61 56 C59 68 60 80 66 92 Q68 98.8 61 98.8 L39 98.8 Q32 98.8 34 92 C40 80 41 68 39 56 Z"),
        "#e6dcc8",
        "upright",
    )
    brush.part(path("M12 62 C22 71 78 71 88 62 C78 56 22 56 12 62 Z"), "#bfb098", "flat")
    brush.coat(
        path(
            "M1.2 56 C1.2 24 24 1.2 50 1.2 C76 1.2 98.8 24 98.8 56 C98.8 66 90 68 84 65 "
            "C66 57 34 57 16 65 C10 68 1.2 66 1.2 56 Z"
        ),
        "ball",
    )
    brush.shine(path("M14 42 C16 26 26 15 40 12 C30 20 24 28 22 42 Z"), 0.4)


def _cactus(brush: Brush) -> None:
    brush.coat(path("M30 70 C10 70 1.2 62 1.2 50 L1.2 38 C1.2 28 17 28 17 38 L17 48 C17 53 21 54 30 54 Z"), "upright")
    brush.coat(
        path("M46 60 C66 60 74.8 52 74.8 40 L74.8 26 C74.8 16 59 16 59 26 L59 37 C59 42 55 44 46 44 Z"), "upright", 0.06
    )
    brush.coat(path("M24 98.8 L24 18 C24 -4 52 -4 52 18 L52 98.8 Z"), "upright")
    for x in (31, 38, 45):
        brush.mark(path(f"M{x} {12 if x == 38 else 18} L{x} 96"), 1.3, 0.55)
    brush.mark(path("M9 38 L9 52"), 1.3, 0.55)
    brush.mark(path("M67 27 L67 42"), 1.3, 0.55)
    for x, y in ((34, 26), (42, 38), (34, 52), (42, 66), (34, 80), (9, 44), (67, 34)):
        brush.thread(path(f"M{x - 2.5} {y - 2} L{x} {y} L{x + 2.5} {y - 2}"), 1.2, "#efe9da")


SHAPES = {
    "tree": Shape(0.84, _tree),
    "flower": Shape(0.69, _flower, pitch=17),
    "mushroom": Shape(1.00, _mushroom),
    "cactus": Shape(0.76, _cactus, pitch=19),
}
