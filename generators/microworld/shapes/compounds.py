"""Compound nouns of Compun that a drawing shows honestly, those of their constituents that the world lacks, and states.

None of them occurs in a micro-world scene. What a compound shares with a constituent is drawn by the constituent's own
drawing: the fish in a fishbowl is the fish.
"""

from __future__ import annotations

import math

from generators.microworld.shapes import animals, buildings, fruits
from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.geometry import oval, path, rectangle
from generators.microworld.shapes.shape import Shape

_WOOD, _BARK, _LEAF, _DARK = "#a07a50", "#7a5a3e", "#5f9a55", "#2b2622"
_STEEL, _CREAM, _WATER, _EARTH = "#8d8f96", "#f0e8d6", "#7fb4d0", "#8b6a4a"


def _inset(brush: Brush, shape: Shape, left: float, top: float, height: float) -> None:
    """Another drawing, ``height`` high, in place of a part."""
    brush.canvas.save()
    brush.canvas.translate(left, top)
    brush.canvas.scale(height / 100, height / 100)
    shape.draw(brush)
    brush.canvas.restore()


def _turned(x: float, y: float, radius: float, turn: float) -> tuple[float, float]:
    """The point at an angle (degrees, clockwise from the top) on a circle."""
    return x + radius * math.sin(math.radians(turn)), y - radius * math.cos(math.radians(turn))


def _points(corners: list[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.2f} {y:.2f}" for x, y in corners) + " Z"


def _star(brush: Brush) -> None:
    corners = [_turned(50, 53, 49 if index % 2 == 0 else 20, 36 * index) for index in range(10)]
    brush.coat(path(_points(corners)), "flat")
    for index in range(5):
        x, y = _turned(50, 53, 40, 72 * index)
        brush.mark(path(f"M50 53 L{x:.2f} {y:.2f}"), 1.2, 0.35)


def _starfish(brush: Brush) -> None:
    """Five soft arms that bend, with knobs along them."""
    outline = "M50 4 "
    for index in range(5):
        turn = 72 * index
        side, valley = _turned(50, 52, 40, turn + 14), _turned(50, 52, 21, turn + 36)
        before, tip = _turned(50, 52, 40, turn + 58), _turned(50, 52, 48, turn + 75)
        outline += f"C{side[0]:.1f} {side[1]:.1f} {valley[0]:.1f} {valley[1]:.1f} {valley[0]:.1f} {valley[1]:.1f} "
        outline += f"C{valley[0]:.1f} {valley[1]:.1f} {before[0]:.1f} {before[1]:.1f} {tip[0]:.1f} {tip[1]:.1f} "
    brush.coat(path(outline + "Z"), "ball")
    for index in range(5):
        for distance in (12, 21, 29, 36):
            x, y = _turned(50, 52, distance, 72 * index + 0.08 * distance)
            brush.dab(oval(x, y, 3.6 - 0.06 * distance), _CREAM, 0.9)
    brush.dab(oval(50, 52, 3.4), _CREAM, 0.9)


def _sun(brush: Brush) -> None:
    for index in range(12):
        corners = [
            _turned(50, 50, *place) for place in ((34, 30 * index - 8), (48.5, 30 * index), (34, 30 * index + 8))
        ]
        brush.trim(path(_points(corners)), "none")
    brush.coat(oval(50, 50, 30), "ball")


def _sunflower(brush: Brush) -> None:
    brush.bar(path("M40 50 C42 66 39 82 40 97"), 5.5, _LEAF)
    for leaf in ("M40 88 C48 72 60 70 70 72 C66 86 54 92 40 88 Z", "M40 80 C32 66 20 66 10 68 C14 80 26 86 40 80 Z"):
        brush.part(path(leaf), _LEAF)
    for radius, shift in ((37, 0), (33, 11.25)):
        for index in range(16):
            turn = 22.5 * index + shift
            corners = [_turned(40, 38, *place) for place in ((14, turn - 14), (radius - 9, turn - 9), (radius, turn))]
            corners += [_turned(40, 38, *place) for place in ((radius - 9, turn + 9), (14, turn + 14))]
            brush.coat(path(_points(corners)), "flat")
    brush.part(oval(40, 38, 18), "#5b3f26", "ball")
    for ring, count in ((5, 6), (10, 11), (14.5, 16)):
        for index in range(count):
            x, y = _turned(40, 38, ring, 360 * index / count)
            brush.dab(oval(x, y, 1.3), "#2e1f14", 0.9)


def _fishbowl(brush: Brush) -> None:
    bowl = "M28 6 L82 6 C84 12 82 16 80 18 C98 27 108.8 42 108.8 58 C108.8 76 98 90 82 98 L28 98 C12 90 1.2 76 1.2 58"
    bowl += " C1.2 42 12 27 30 18 C28 16 26 12 28 6 Z"
    brush.dab(path(bowl), "#eef5f6", 0.85)
    water = "M6 40 C30 45 80 45 104 40 C113 62 104 86 82 97 L28 97 C6 86 -3 62 6 40 Z"
    brush.dab(path(water), _WATER, 0.85)
    brush.dab(path("M17 86 C40 80 70 80 93 86 L82 97 L28 97 Z"), "#cdb389")
    _inset(brush, animals.SHAPES["fish"], 25, 46, 36)
    for x, y, radius in ((20, 58, 2.6), (16, 49, 1.9)):
        brush.dab(oval(x, y, radius), "#ffffff", 0.8)
    brush.thread(path(bowl), 2.4, "#7d9aa6")
    brush.part(path("M26 3 L84 3 L84 9 L26 9 Z"), "#d7e6ea", "none")
    brush.shine(path("M12 62 C11 48 18 36 30 29 C22 40 19 50 20 66 Z"), 0.7)


def _tree_house(brush: Brush) -> None:
    brush.part(path("M44 98.8 C48 84 47 66 44 52 L62 52 C59 66 58 84 62 98.8 Z"), _BARK, "upright")
    crown = "M20 56 C6 56 1.2 46 4 37 C2 28 9 20 18 21 C22 8 36 1.2 50 3 C62 -1 78 5 82 17 C94 17 104 28 100 39"
    brush.part(path(crown + " C104 50 94 58 82 55 C70 62 34 62 20 56 Z"), _LEAF, "ball")
    brush.part(rectangle(22, 60, 84, 65, 1), _WOOD, "flat")
    for line in ("M30 65 L45 78", "M76 65 L61 78"):
        brush.bar(path(line), 4, _WOOD)
    _inset(brush, buildings.SHAPES["house"], 28, 16, 45)
    for x in (70, 79):
        brush.thread(path(f"M{x} 64 L{x} 98"), 1.8, "#54402c")
    for y in range(68, 98, 6):
        brush.thread(path(f"M70 {y} L79 {y}"), 1.8, "#54402c")


def _houseboat(brush: Brush) -> None:
    _inset(brush, buildings.SHAPES["house"], 36, 4, 62)
    brush.part(path("M1.2 62 L148.8 62 C147 78 140 92 128 94 L24 94 C11 92 4 78 1.2 62 Z"), _WOOD, "lying")
    brush.thread(path("M4 72 L146 72"), 2, "#6d5236")
    for x in (8, 22, 124, 138):
        brush.thread(path(f"M{x} 50 L{x} 62"), 2, _STEEL)
    brush.thread(path("M8 51 L24 51"), 2, _STEEL)
    brush.thread(path("M122 51 L138 51"), 2, _STEEL)
    wave = "M1 88 Q13 82 25 88 Q37 94 50 88 Q62 82 75 88 Q87 94 100 88 Q112 82 125 88 Q137 94 149 88 L149 99 L1 99 Z"
    brush.dab(path(wave), _WATER, 0.95)


def _birdhouse(brush: Brush) -> None:
    brush.part(rectangle(31, 62, 39, 98.8, 1), _BARK, "upright")
    brush.coat(path("M12 28 L58 28 L58 68 L12 68 Z"), "flat")
    brush.trim(path("M35 1.2 L68.8 28 L63 35 L35 12 L7 35 L1.2 28 Z"), "flat", 0.3)
    brush.coat(path("M35 12 L55 28 L15 28 Z"), "flat")
    brush.dab(oval(35, 40, 9), _DARK)
    brush.thread(oval(35, 40, 9), 1.8, "#6b5135")
    brush.bar(path("M35 56 L35 58"), 5, _BARK)
    brush.part(rectangle(9, 66, 61, 71, 1), _WOOD)


def _banana_tree(brush: Brush) -> None:
    brush.part(path("M46 98.8 C48 76 47 56 47 38 L57 38 C57 58 58 78 62 98.8 Z"), "#8fa15c", "upright")
    for turn in (-108, -72, -38, 0, 38, 72, 108):
        brush.canvas.save()
        brush.canvas.translate(52, 38)
        brush.canvas.rotate(turn)
        brush.part(path("M0 0 C-11 -10 -12 -24 0 -37 C12 -24 11 -10 0 0 Z"), _LEAF, "flat")
        brush.thread(path("M0 -2 L0 -34"), 1.2, "#3f7440")
        brush.canvas.restore()
    for left, top in ((36, 40), (40, 47), (35, 54)):
        _inset(brush, fruits.SHAPES["banana"], left, top, 17)
    brush.thread(path("M52 38 C50 44 48 54 47 66"), 2.4, "#5f7a3a")


def _catfish(brush: Brush) -> None:
    brush.coat(path("M62 24 C66 8 76 4 84 6 C82 14 82 20 84 28 Z"), "flat", 0.16)
    brush.coat(path("M134 50 C146 40 154 30 168.8 28 C162 44 162 58 168.8 76 C154 72 146 62 134 54 Z"), "flat", 0.12)
    brush.coat(
        path("M6 46 C12 26 40 18 64 20 C96 24 118 40 144 48 L144 58 C118 72 92 84 62 84 C34 84 10 72 6 58 Z"), "ball"
    )
    brush.coat(path("M58 76 C64 90 74 95 84 94 C82 86 80 80 76 74 Z"), "flat", 0.16)
    brush.mark(path("M8 58 C18 64 30 64 38 59"), 2.4, 1)
    for line in (
        "M10 52 C2 60 -2 72 3 84",
        "M16 62 C12 74 14 86 22 94",
        "M30 64 C32 76 38 86 48 90",
        "M10 46 C4 36 4 24 12 16",
    ):
        brush.thread(path(line), 2.2, "#40352e")
    brush.dab(oval(30, 40, 6), "#fbfaf4")
    brush.dab(oval(31, 40, 4), _DARK)
    brush.mark(path("M52 32 C58 44 58 60 52 72"), 2, 0.7)


def _hole(brush: Brush) -> None:
    """A hole in the ground with earth around it."""
    rim = "M6 30 C10 12 44 2 92 2 C146 2 182 12 190 32 C202 52 182 90 98 96 C26 98 -6 62 6 30 Z"
    brush.part(path(rim), _EARTH, "flat")
    brush.dab(oval(98, 48, 74, 33), _DARK)
    brush.dab(path("M30 60 C50 84 146 84 166 60 C150 92 46 92 30 60 Z"), "#5d452f")
    for x, y, radius in ((20, 66, 7), (40, 84, 5), (172, 76, 6), (178, 28, 6), (60, 10, 4)):
        brush.part(oval(x, y, radius), "#9a7854", "ball")


def _keyhole(brush: Brush) -> None:
    """A lock's plate with its opening."""
    brush.coat(
        path(
            "M31 1.2 C50 1.2 60.8 14 60.8 32 L56 80 C54 92 46 98.8 31 98.8 "
            "C16 98.8 8 92 6 80 L1.2 32 C1.2 14 12 1.2 31 1.2 Z"
        ),
        "upright",
    )
    brush.dab(oval(31, 40, 12), _DARK)
    brush.dab(path("M26 46 L36 46 L42 76 L20 76 Z"), _DARK)
    for y in (11, 89):
        brush.part(oval(31, y, 4), _STEEL, "ball")
        brush.thread(path(f"M28.5 {y} L33.5 {y}"), 1.2, _DARK)


def _dog(brush: Brush) -> None:
    """A dog that stands, seen from its side."""
    brush.bar(path("M106 46 C116 42 122 32 118 22"), 8)
    for left in (34, 92):
        brush.coat(rectangle(left, 62, left + 12, 98, 4), "upright", 0.18)
    brush.coat(path("M30 44 C44 36 88 36 106 42 C114 48 114 68 106 72 C84 78 52 78 34 70 C24 62 24 50 30 44 Z"), "ball")
    for left in (40, 98):
        brush.coat(rectangle(left, 62, left + 12, 98.8, 4), "upright")
    brush.coat(path("M22 12 C34 4 50 6 54 18 C58 32 54 46 44 50 L30 48 C24 44 10 44 4 40 C-1 36 2 28 8 27 Z"), "ball")
    brush.coat(path("M42 12 C56 8 64 20 62 36 C60 44 52 46 50 38 Z"), "flat", 0.22)
    brush.dab(oval(5.5, 31, 4.6, 3.8), _DARK)
    brush.mark(path("M6 39 C14 42 20 42 26 38"), 1.6, 0.9)
    brush.dab(oval(27, 22, 3.4), _DARK)
    brush.dab(oval(26, 21, 1.1), "#ffffff")


def _dog_house(brush: Brush) -> None:
    brush.coat(path("M12 46 L60 12 L108 46 L108 98.8 L12 98.8 Z"), "flat")
    brush.trim(path("M60 1.2 L118.8 44 L112 55 L60 18 L8 55 L1.2 44 Z"), "flat", 0.3)
    brush.dab(path("M36 98 L36 72 C36 52 84 52 84 72 L84 98 Z"), _DARK)
    brush.thread(path("M36 98 L36 72 C36 52 84 52 84 72 L84 98"), 2, "#5c452f")
    for x in (49, 71):
        for y in (41, 46):
            brush.dab(oval(x, y, 3.4), _CREAM)
    brush.dab(rectangle(48, 41, 72, 46), _CREAM)
    for y in (62, 76, 90):
        for left in (14, 88):
            brush.mark(path(f"M{left} {y} L{left + 18} {y}"), 1.3, 0.5)


def _mail(brush: Brush) -> None:
    """A sealed letter."""
    brush.coat(rectangle(1.2, 1.2, 148.8, 98.8, 3), "flat")
    brush.mark(path("M3 96 L58 46"), 2, 0.7)
    brush.mark(path("M147 96 L92 46"), 2, 0.7)
    brush.trim(path("M2.4 2.4 L147.6 2.4 L75 60 Z"), "flat", 0.06)
    brush.part(oval(75, 56, 11), "#b03a34", "ball")


def _mailbox(brush: Brush) -> None:
    brush.part(rectangle(48, 56, 62, 98.8, 1), _WOOD, "upright")
    brush.coat(path("M30 4 L96 4 C112 4 118.8 16 118.8 30 L118.8 62 L30 62 Z"), "lying")
    brush.coat(path("M1.2 62 L1.2 30 C1.2 12 12 4 25 4 C40 4 50 12 50 30 L50 62 Z"), "upright", 0.14)
    brush.mark(path("M25 46 L25 54"), 4, 0.9)
    brush.bar(path("M88 40 L88 14"), 4, "#c8443c")
    brush.part(path("M88 12 L106 12 L106 24 L88 24 Z"), "#c8443c")


def _light(brush: Brush) -> None:
    """A bulb that shines."""
    for index in range(8):
        turn = 45 * index
        if turn != 180:
            inner, outer = _turned(50, 38, 36, turn), _turned(50, 38, 48 if turn not in (0,) else 37.5, turn)
            brush.thread(path(f"M{inner[0]:.1f} {inner[1]:.1f} L{outer[0]:.1f} {outer[1]:.1f}"), 4, "#e2b93c")
    brush.coat(
        path("M50 10 C68 10 79 23 79 39 C79 54 66 60 64 74 L36 74 C34 60 21 54 21 39 C21 23 32 10 50 10 Z"), "ball"
    )
    brush.thread(path("M42 72 L42 50 L46 44 L50 52 L54 44 L58 50 L58 72"), 1.8, "#8a5a20")
    brush.part(rectangle(36, 74, 64, 94, 4), _STEEL, "lying")
    for y in (80, 86):
        brush.thread(path(f"M37 {y} L63 {y}"), 1.6, "#5c5e64")
    brush.dab(path("M43 94 L57 94 L54 98.8 L46 98.8 Z"), _DARK)


def _lighthouse(brush: Brush) -> None:
    brush.dab(path("M30 17 L1 6 L1 30 Z"), "#f6dd7a", 0.75)
    brush.dab(path("M48 17 L77 6 L77 30 Z"), "#f6dd7a", 0.75)
    brush.part(path("M24 30 L54 30 L62 98.8 L16 98.8 Z"), _CREAM, "upright")
    for top, bottom in ((38, 54), (70, 86)):
        corners = [(24 - 8 * (y - 30) / 68.8, y) for y in (top, bottom)]
        left, right = corners, [(78 - x, y) for x, y in reversed(corners)]
        brush.coat(path(_points([*left, *right])), "upright")
    brush.part(rectangle(20, 26, 58, 32, 1), _STEEL)
    brush.part(rectangle(30, 11, 48, 26, 1), "#fbe9a0", "none")
    brush.thread(path("M39 11 L39 26"), 1.4, "#6c6e74")
    brush.trim(path("M39 1.2 L52 12 L26 12 Z"), "flat", 0.1)
    brush.part(path("M33 98.8 L33 90 C33 86 45 86 45 90 L45 98.8 Z"), _WOOD)


def _closed_umbrella(brush: Brush) -> None:
    """The umbrella of the world, folded up."""
    brush.bar(path("M20 60 L20 86 C20 100 6 100 7 88"), 5.5, "#6d5640")
    brush.bar(path("M20 2.5 L20 12"), 4, "#6d5640")
    brush.coat(path("M20 8 C26 24 31 46 33 66 L27 74 L20 68 L13 74 L7 66 C9 46 14 24 20 8 Z"), "upright")
    brush.mark(path("M20 10 L20 68"), 1.6, 0.8)
    brush.mark(path("M10 50 C16 54 24 54 30 50"), 2.4, 0.9)


COMPOUNDS: dict[str, Shape] = {
    "banana tree": Shape(1.04, _banana_tree),
    "birdhouse": Shape(0.70, _birdhouse, pitch=17),
    "catfish": Shape(1.70, _catfish, pitch=28),
    "dog house": Shape(1.20, _dog_house),
    "fishbowl": Shape(1.10, _fishbowl),
    "houseboat": Shape(1.50, _houseboat),
    "keyhole": Shape(0.62, _keyhole, base=False, pitch=17),
    "lighthouse": Shape(0.78, _lighthouse, pitch=17),
    "mailbox": Shape(1.20, _mailbox),
    "starfish": Shape(1.00, _starfish, pitch=20),
    "sunflower": Shape(0.80, _sunflower, pitch=17),
    "tree house": Shape(1.04, _tree_house),
}
"""Compound nouns, under their names in Compun."""

CONSTITUENTS: dict[str, Shape] = {
    "dog": Shape(1.22, _dog),
    "hole": Shape(1.96, _hole, base=False),
    "light": Shape(1.00, _light, base=False),
    "mail": Shape(1.50, _mail),
    "star": Shape(1.00, _star, base=False),
    "sun": Shape(1.00, _sun, base=False),
}
"""Constituents of these that are no nouns of the world."""

STATES: dict[str, Shape] = {"closed umbrella": Shape(0.40, _closed_umbrella, pitch=17)}
"""Things of the world in another state, for ControlledImCaps."""

SHAPES = COMPOUNDS | CONSTITUENTS | STATES
