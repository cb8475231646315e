"""Cup, bottle, vase, bucket and bowl."""

from __future__ import annotations

from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path, rectangle
from generators.microworld.shapes.shape import Shape


def _cup_back(brush: Brush) -> None:
    brush.bar(path("M84 32 C107 22 115 40 106 58 C100 70 90 75 80 76"), 13)
    brush.hollow(oval(44, 14, 42.8, 12.8))


def _cup(brush: Brush) -> None:
    brush.coat(
        path("M1.2 14 C3 31 85 31 86.8 14 L80 86 C79 95 73 98.8 64 98.8 L24 98.8 C15 98.8 9 95 8 86 Z"), "upright"
    )
    brush.glint(path("M4 20 C12 33 76 33 84 20"), 2.6)
    brush.mark(path("M9.5 84 C24 92 64 92 78.5 84"), 1.4, 0.5)
    brush.shine(path("M13 36 Q18 39 22 39.5 L25 78 Q20 77 17 74 Z"), 0.35)


def _bottle(brush: Brush) -> None:
    brush.part(rectangle(13, 1.2, 27, 13, 2), "#b59a78", "upright")
    brush.coat(
        path(
            "M13 17 L27 17 L27 30 C27 40 38.8 42 38.8 54 L38.8 92 Q38.8 98.8 32 98.8 L8 98.8 "
            "Q1.2 98.8 1.2 92 L1.2 54 C1.2 42 13 40 13 30 Z"
        ),
        "upright",
    )
    brush.coat(rectangle(11, 11.5, 29, 18, 2.5), "upright")
    brush.shine(path("M6.5 56 Q6.5 50 11 47 L11 88 Q6.5 88 6.5 84 Z"), 0.45)
    brush.mark(path("M2 91 Q20 95.5 38 91"), 1.2, 0.5)


def _vase(brush: Brush) -> None:
    brush.hollow(oval(31, 7, 21, 5.8))
    brush.coat(
        path(
            "M10 7 C12 14.5 50 14.5 52 7 C53 16 43 18 43 27 C43 36 60.8 40 60.8 60 C60.8 78 46 84 45 93 "
            "Q45 98.8 40 98.8 L22 98.8 Q17 98.8 17 93 C16 84 1.2 78 1.2 60 C1.2 40 19 36 19 27 "
            "C19 18 9 16 10 7 Z"
        ),
        "upright",
    )
    brush.glint(path("M13 11.5 C20 16 42 16 49 11.5"))
    brush.mark(path("M19.5 28 Q31 32 42.5 28"), 1.6)
    brush.mark(path("M18 90.5 Q31 94 44 90.5"), 1.4)
    brush.shine(oval(16, 56, 4, 11), 0.38)


def _bucket_back(brush: Brush) -> None:
    brush.bar(path("M6 41 C4 -10 88 -10 86 41"), 5, "#9a9ca3")
    brush.hollow(oval(46, 40, 44.8, 10))


def _bucket(brush: Brush) -> None:
    brush.coat(path("M1.2 40 C2 53.5 90 53.5 90.8 40 L77 92 Q75 98.8 66 98.8 L26 98.8 Q17 98.8 15 92 Z"), "upright")
    brush.glint(path("M4 45 C14 56 78 56 88 45"))
    brush.mark(path("M3.5 49 C14 60 78 60 88.5 49"), 1.8)
    brush.mark(path("M14 87 C26 93.5 66 93.5 78 87"), 1.6, 0.6)
    brush.dab(oval(5, 45, 3.2), "#74767d")
    brush.dab(oval(87, 45, 3.2), "#74767d")
    brush.shine(path("M14 58 L22 60 L27 87 L22 85 Z"), 0.35)


def _bowl_back(brush: Brush) -> None:
    brush.hollow(oval(85, 20, 83.8, 18.8))


def _bowl(brush: Brush) -> None:
    brush.coat(path("M59 84 L111 84 L114 95 Q114 98.8 109 98.8 L61 98.8 Q56 98.8 56 95 Z"), "upright", 0.12)
    brush.coat(path("M1.2 20 C4 45 166 45 168.8 20 C168 62 134 90 104 90 L66 90 C36 90 2 62 1.2 20 Z"), "upright")
    brush.glint(path("M5 27 C20 46 150 46 165 27"), 3)
    brush.mark(path("M4 30 C12 54 158 54 166 30"), 1.6, 0.5)
    brush.shine(path("M17 46 C25 50 33 52 39 53 C40 62 44 70 50 77 C34 71 22 60 17 46 Z"), 0.32)


SHAPES = {
    "cup": Shape(1.16, _cup, _cup_back, inside=(0.10, 0.27, 0.66, 0.92)),
    "bottle": Shape(0.40, _bottle, pitch=18),
    "vase": Shape(0.62, _vase, pitch=20),
    "bucket": Shape(0.92, _bucket, _bucket_back, inside=(0.18, 0.51, 0.82, 0.93), pitch=20),
    "bowl": Shape(1.70, _bowl, _bowl_back, inside=(0.16, 0.40, 0.84, 0.72), pitch=28),
}
