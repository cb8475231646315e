"""Hat, shirt and boot."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path
from generators.microworld.shapes.shape import Shape


def _hat(brush: Brush) -> None:
    brush.coat(
        path(
            "M1.2 72 C1.2 60 30 56 80 56 C130 56 158.8 60 158.8 72 C158.8 90 124 98.8 80 98.8 C36 98.8 1.2 90 1.2 72 Z"
        ),
        "lying",
    )
    brush.coat(
        path("M36 74 C36 40 40 10 52 4 C62 -1 72 7 80 7 C88 7 98 -1 108 4 C120 10 124 40 124 74 C112 84 48 84 36 74 Z"),
        "upright",
    )
    brush.part(
        path("M36 74 C36 68 36.5 62 37.5 56 C60 65 100 65 122.5 56 C123.5 62 124 68 124 74 C112 84 48 84 36 74 Z"),
        "#55504b",
        "upright",
    )
    brush.mark(path("M64 9 C72 18 88 18 96 9"), 1.8, 0.6)


def _shirt(brush: Brush) -> None:
    brush.coat(path("M34 8 L30 40 L17 50 L1.2 36 C6 22 16 10 34 5 Z"), "flat", 0.10)
    brush.coat(path("M76 8 L80 40 L93 50 L108.8 36 C104 22 94 10 76 5 Z"), "flat", 0.14)
    brush.coat(
        path("M36 4 C44 14 66 14 74 4 L83 10 L83 92 Q83 98.8 76 98.8 L34 98.8 Q27 98.8 27 92 L27 10 Z"), "upright"
    )
    brush.coat(path("M35 4.5 L41 1.2 C47 10 63 10 69 1.2 L75 4.5 C66 20 44 20 35 4.5 Z"), "flat", 0.2)
    brush.mark(path("M27.5 90 L82.5 90"), 1.3, 0.5)
    brush.mark(path("M34 72 C38 70 42 66 44 60"), 1.3, 0.4)


def _boot(brush: Brush) -> None:
    brush.hollow(oval(29, 8, 25, 6.8))
    brush.coat(
        path("M4 8 C6 17 52 17 54 8 L53 44 C54 54 62 56 74 59 C88 63 94.8 70 94.8 82 L94.8 88 L2 88 L4 60 Z"),
        "upright",
    )
    brush.part(
        path("M1.2 86 L94.8 86 L94.8 93 Q94.8 98.8 88 98.8 L46 98.8 L42 94 L32 94 L32 98.8 L6 98.8 Q1.2 98.8 1.2 94 Z"),
        "#4a4440",
        "flat",
    )
    brush.glint(path("M6.5 13 C14 19 44 19 51.5 13"))
    brush.mark(path("M4.5 18 C12 24 46 24 53.5 18"), 1.8, 0.7)
    brush.mark(path("M54 50 C46 54 40 52 34 50"), 1.6, 0.6)
    brush.mark(path("M78 61 C73 68 73 78 76 86"), 1.6, 0.6)
    brush.shine(path("M10 24 L16 25 L15 70 L9 70 Z"), 0.3)


SHAPES = {
    "hat": Shape(1.60, _hat, pitch=26),
    "shirt": Shape(1.10, _shirt),
    "boot": Shape(0.96, _boot, pitch=22),
}
