"""Paint for the shapes: one colour and pattern, lit from the upper left, outlined in a darker tone of its own hue.

Every tone derives from the named colour: a pattern's tones are tints and shades of it that are not another of the
eight colours, so that a striped red thing stays red. Lengths are design units (geometry.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import skia

from generators.microworld.shapes import geometry
from generators.microworld.world import COLORS

OUTLINE = 2.4
"""Width of an outline, centred on its path: shapes keep half of it as a margin to their box."""

_BEVEL = 1.5
_EXTENT = 300
"""Patterns reach this far to the right: the widest design box and the lean of a stripe."""

Light = Literal["flat", "upright", "lying", "ball", "none"]
"""How light falls on a part: a plane, a standing or lying cylinder, a sphere, or not at all."""

TINTS = {
    "red": "#fbc9ce",
    "orange": "#ffe6cc",
    "yellow": "#fffae0",
    "green": "#d0f2da",
    "blue": "#d0e2fc",
    "purple": "#ead9f8",
    "white": "#a5a39d",
    "black": "#b4b4bc",
}
SHADES = {
    "red": "#640f1c",
    "orange": "#74400c",
    "yellow": "#77631a",
    "green": "#144824",
    "blue": "#112f5e",
    "purple": "#381a52",
    "white": "#6b6a66",
    "black": "#73737c",
}
"""A pattern's tones for each colour: with much white and with much black in it; greys for white and black."""


def color_of(code: str) -> int:
    """Skia's opaque colour of ``#rrggbb``."""
    return 0xFF000000 | int(code[1:], 16)


def mixed(color: int, other: int, share: float) -> int:
    """``color`` with ``share`` (0 to 1) of ``other`` in it, opaque."""
    channels = (
        round((color >> shift & 255) * (1 - share) + (other >> shift & 255) * share) << shift for shift in (16, 8, 0)
    )
    return 0xFF000000 | sum(channels)


def veil(color: int, opacity: float) -> int:
    """``color`` at ``opacity`` 0 to 1."""
    return (color & 0xFFFFFF) | round(opacity * 255) << 24


_WHITE, _BLACK = 0xFFFFFFFF, 0xFF000000
_CLEAR_WHITE, _CLEAR_BLACK = 0x00FFFFFF, 0x00000000


@dataclass(frozen=True)
class Tones:
    """The tones of one named colour."""

    base: int
    tint: int
    shade: int
    ink: int
    """Outlines."""
    mark: int
    """Details on the body: seams, slats, mouths."""
    hollow: int
    """The inside of a vessel."""


@lru_cache
def tones_of(color: str) -> Tones:
    base = color_of(COLORS[color])
    ink = mixed(base, _BLACK, 0.46)
    dark = color == "black"
    return Tones(
        base=base,
        tint=color_of(TINTS[color]),
        shade=color_of(SHADES[color]),
        ink=ink,
        mark=mixed(base, _WHITE, 0.42) if dark else mixed(base, _BLACK, 0.42),
        hollow=mixed(base, _WHITE, 0.12) if dark else mixed(base, _BLACK, 0.38),
    )


@lru_cache(maxsize=2048)
def _light_shader(light: Light, left: float, top: float, right: float, bottom: float) -> skia.Shader:
    """A veil of white and black over a part's bounds."""
    if light == "ball":
        width, height = right - left, bottom - top
        return skia.GradientShader.MakeRadial(
            skia.Point(left + 0.34 * width, top + 0.28 * height),
            0.85 * max(width, height),
            [veil(_WHITE, 0.42), _CLEAR_WHITE, _CLEAR_BLACK, veil(_BLACK, 0.28)],
            [0.0, 0.36, 0.46, 1.0],
        )
    end = {"upright": (right, top), "lying": (left, bottom), "flat": (left + 0.25 * (right - left), bottom)}[light]
    colors = [veil(_WHITE, 0.10), veil(_WHITE, 0.30), _CLEAR_WHITE, _CLEAR_BLACK, veil(_BLACK, 0.22)]
    stops = [0.0, 0.22, 0.5, 0.55, 1.0]
    if light == "flat":
        colors, stops = [veil(_WHITE, 0.20), _CLEAR_WHITE, _CLEAR_BLACK, veil(_BLACK, 0.14)], [0.0, 0.5, 0.55, 1.0]
    return skia.GradientShader.MakeLinear([skia.Point(left, top), skia.Point(*end)], colors, stops)


def _stripes(pitch: float) -> Iterator[skia.Path]:
    """Bands that lean to the right."""
    width, lean = 0.53 * pitch, 75
    for index in range(int(_EXTENT / pitch)):
        left = index * pitch
        yield geometry.path(f"M{left} 0 L{left + width} 0 L{left + width - lean} 100 L{left - lean} 100 Z")


def _spots(pitch: float) -> Iterator[skia.Path]:
    """Dots in a triangular grid."""
    height = 0.87 * pitch
    for row in range(int(100 / height) + 2):
        for column in range(int(_EXTENT / pitch)):
            yield geometry.oval((column + 0.5 * (row % 2)) * pitch, (row + 0.5) * height, 0.31 * pitch)


def _checks(pitch: float, rows: int) -> Iterator[skia.Path]:
    """Every other square of the even (``rows`` 0) or odd (1) rows."""
    side = 0.72 * pitch
    for row in range(rows, int(100 / side) + 1, 2):
        for column in range(rows, int(_EXTENT / side), 2):
            yield geometry.rectangle(column * side, row * side, (column + 1) * side, (row + 1) * side)


@lru_cache(maxsize=256)
def _pattern_areas(pattern: str, pitch: float) -> dict[str, skia.Path]:
    """Where each tone of the pattern lies, over the largest design box; stripes are dark, spots light, checks both."""
    cells = {
        "plain": {},
        "striped": {"shade": _stripes(pitch)},
        "spotted": {"tint": _spots(pitch)},
        "checkered": {"tint": _checks(pitch, 0), "shade": _checks(pitch, 1)},
    }
    return {tone: _joined(paths) for tone, paths in cells[pattern].items()}


def _joined(paths: Iterable[skia.Path]) -> skia.Path:
    area = skia.Path()
    for path in paths:
        area.addPath(path)
    return area


class Brush:
    """Draws the parts of one thing on a canvas whose units are design units."""

    def __init__(self, canvas: skia.Canvas, color: str, pattern: str, pitch: float = 24.0) -> None:
        """``pitch`` is the period of the pattern."""
        self.canvas = canvas
        self.tones = tones_of(color)
        self._pattern = _pattern_areas(pattern, pitch)

    def coat(self, area: skia.Path, light: Light = "flat", dim: float = 0.0) -> None:
        """A part in the thing's colour and pattern; ``dim`` 0 to 1 darkens parts that lie in the shade."""
        self._part(area, self.tones.base, self.tones.ink, light, dim, self._pattern)

    def trim(self, area: skia.Path, light: Light = "flat", dim: float = 0.0) -> None:
        """A part in the thing's colour without its pattern."""
        self._part(area, self.tones.base, self.tones.ink, light, dim, {})

    def part(self, area: skia.Path, color: str, light: Light = "flat") -> None:
        """A part in a colour of its own (``#rrggbb``): wheels, trunks, glass."""
        base = color_of(color)
        self._part(area, base, mixed(base, _BLACK, 0.5), light, 0.0, {})

    def _part(
        self, area: skia.Path, base: int, ink: int, light: Light, dim: float, pattern: dict[str, skia.Path]
    ) -> None:
        canvas = self.canvas
        canvas.drawPath(area, skia.Paint(Color=base, AntiAlias=True))
        if pattern or light != "none":
            canvas.save()
            canvas.clipPath(area, skia.ClipOp.kIntersect, True)
            for tone, cells in pattern.items():
                canvas.drawPath(cells, skia.Paint(Color=getattr(self.tones, tone), AntiAlias=True))
            if light != "none":
                bounds = area.getBounds()
                edges = (bounds.left(), bounds.top(), bounds.right(), bounds.bottom())
                canvas.drawPaint(skia.Paint(Shader=_light_shader(light, *edges)))
                self._bevel(area)
            if dim:
                canvas.drawPaint(skia.Paint(Color=veil(_BLACK, dim)))
            canvas.restore()
        self._stroke(area, ink, OUTLINE)

    def _bevel(self, area: skia.Path) -> None:
        """Light along the upper left edges and shade along the lower right ones, inside the clip."""
        for shift, color in ((_BEVEL, veil(_WHITE, 0.34)), (-_BEVEL, veil(_BLACK, 0.15))):
            self.canvas.translate(shift, shift)
            self._stroke(area, color, 1.6 * _BEVEL)
            self.canvas.translate(-shift, -shift)

    def hollow(self, area: skia.Path) -> None:
        """The dark inside of a vessel or a doorway."""
        self.canvas.drawPath(area, skia.Paint(Color=self.tones.hollow, AntiAlias=True))
        bounds = area.getBounds()
        shader = _light_shader("flat", bounds.right(), bounds.bottom(), bounds.left(), bounds.top())
        self.canvas.drawPath(area, skia.Paint(Shader=shader, AntiAlias=True))
        self._stroke(area, self.tones.ink, OUTLINE)

    def mark(self, line: skia.Path, width: float = 1.6, opacity: float = 0.75) -> None:
        """A detail drawn on the body in its darker tone."""
        self._stroke(line, veil(self.tones.mark, opacity), width)

    def bar(self, line: skia.Path, width: float, color: str | None = None) -> None:
        """A round-ended rod ``width`` thick, outline included, in ``color`` or else the thing's own."""
        base = color_of(color) if color else self.tones.base
        self._stroke(line, mixed(base, _BLACK, 0.5), width)
        self._stroke(line, base, width - 1.5 * OUTLINE)
        self.canvas.translate(-0.1 * width, -0.1 * width)
        self.glint(line, 0.2 * width, 0.3)
        self.canvas.translate(0.1 * width, 0.1 * width)

    def dab(self, area: skia.Path, color: str, opacity: float = 1.0) -> None:
        """A flat spot without outline."""
        self.canvas.drawPath(area, skia.Paint(Color=veil(color_of(color), opacity), AntiAlias=True))

    def thread(self, line: skia.Path, width: float, color: str) -> None:
        """A thin line in a colour of its own."""
        self._stroke(line, color_of(color), width)

    def shine(self, area: skia.Path, opacity: float = 0.4) -> None:
        """A gloss."""
        self.dab(area, "#ffffff", opacity)

    def glint(self, line: skia.Path, width: float = 2.2, opacity: float = 0.4) -> None:
        """Light along an edge, such as the rim of a vessel."""
        self._stroke(line, veil(_WHITE, opacity), width)

    def _stroke(self, line: skia.Path, color: int, width: float) -> None:
        paint = skia.Paint(
            Color=color,
            AntiAlias=True,
            Style=skia.Paint.kStroke_Style,
            StrokeWidth=width,
            StrokeJoin=skia.Paint.kRound_Join,
            StrokeCap=skia.Paint.kRound_Cap,
        )
        self.canvas.drawPath(line, paint)
