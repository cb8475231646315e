"""Paint the parts of a drawing in one colour and pattern, with light from the upper left and a darker outline.

Lengths are in drawing units: a drawing is 100 units high.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import skia

from compeval.generators.microworld.rendering.patterns import make_pattern_areas
from compeval.generators.microworld.rendering.tones import (
    BLACK,
    WHITE,
    add_opacity,
    choose_tones,
    mix,
    parse_color,
)

OUTLINE = 2.4
"""Width of an outline, which is centred on its path. Drawings have a margin of half this width to their box."""
_BEVEL = 1.5

Light = Literal["flat", "upright", "lying", "ball", "unlit"]
"""The shape that the light suggests: a plane, an upright or lying cylinder, a sphere, or no shape."""
_CYLINDER = (
    (0.0, WHITE, 0.10),
    (0.22, WHITE, 0.30),
    (0.5, WHITE, 0),
    (0.55, BLACK, 0),
    (1.0, BLACK, 0.22),
)
_GRADIENTS = {
    "flat": ((0.0, WHITE, 0.20), (0.5, WHITE, 0), (0.55, BLACK, 0), (1.0, BLACK, 0.14)),
    "upright": _CYLINDER,
    "lying": _CYLINDER,
    "ball": ((0.0, WHITE, 0.42), (0.36, WHITE, 0), (0.46, BLACK, 0), (1.0, BLACK, 0.28)),
}
"""Light -> (position, colour, opacity) of each stop of its gradient."""


class Brush:
    """Paints one object on a canvas whose units are drawing units."""

    def __init__(self, canvas: skia.Canvas, color: str, pattern: str, period: float = 24.0) -> None:
        """``period`` is the period of the pattern."""
        self.canvas = canvas
        self._tones = choose_tones(color)
        self._pattern = make_pattern_areas(pattern, period)

    def paint_coat(self, area: skia.Path, light: Light = "flat", dim: float = 0.0) -> None:
        """Paint a part in the object's colour and pattern; ``dim`` (0 to 1) darkens parts in the shade."""
        self._paint_part(area, self._tones.base, self._tones.outline, light, dim, self._pattern)

    def paint_trim(
        self, area: skia.Path, light: Light = "flat", dim: float = 0.0, color: str | None = None
    ) -> None:
        """Paint a part without a pattern, in ``color`` (#rrggbb) or the object's own."""
        base = parse_color(color) if color else self._tones.base
        self._paint_part(
            area, base, mix(base, BLACK, 0.5) if color else self._tones.outline, light, dim, {}
        )

    def paint_hollow(self, area: skia.Path) -> None:
        """Paint the dark inside of a vessel or a doorway."""
        self.canvas.drawPath(area, skia.Paint(Color=self._tones.hollow, AntiAlias=True))
        bounds = area.getBounds()
        shader = _light_shader("flat", bounds.right(), bounds.bottom(), bounds.left(), bounds.top())
        self.canvas.drawPath(area, skia.Paint(Shader=shader, AntiAlias=True))
        self._stroke(area, self._tones.outline, OUTLINE)

    def draw_mark(self, line: skia.Path, width: float, opacity: float = 1.0) -> None:
        """Draw a detail in a darker tone of the object's colour."""
        self._stroke(line, add_opacity(self._tones.mark, opacity), width)

    def draw_bar(self, line: skia.Path, width: float, color: str | None = None) -> None:
        """Draw a round-ended rod ``width`` thick, outline included, in ``color`` (#rrggbb) or the object's own."""
        base = parse_color(color) if color else self._tones.base
        self._stroke(line, mix(base, BLACK, 0.5), width)
        self._stroke(line, base, width - 1.5 * OUTLINE)
        self.canvas.translate(-0.1 * width, -0.1 * width)
        self._stroke(line, add_opacity(WHITE, 0.3), 0.2 * width)
        self.canvas.translate(0.1 * width, 0.1 * width)

    def draw_flat(
        self, path: skia.Path, fill: str | None, stroke: str | None, width: float, opacity: float
    ) -> None:
        """Fill and stroke a path in the given colours (#rrggbb or None), without light or outline."""
        if fill:
            self.canvas.drawPath(
                path, skia.Paint(Color=add_opacity(parse_color(fill), opacity), AntiAlias=True)
            )
        if stroke:
            self._stroke(path, add_opacity(parse_color(stroke), opacity), width)

    def _paint_part(
        self,
        area: skia.Path,
        base: int,
        outline: int,
        light: Light,
        dim: float,
        pattern: dict[str, skia.Path],
    ) -> None:
        canvas = self.canvas
        canvas.drawPath(area, skia.Paint(Color=base, AntiAlias=True))
        if pattern or light != "unlit":
            canvas.save()
            canvas.clipPath(area, skia.ClipOp.kIntersect, True)
            for tone, cells in pattern.items():
                canvas.drawPath(cells, skia.Paint(Color=getattr(self._tones, tone), AntiAlias=True))
            if light != "unlit":
                bounds = area.getBounds()
                edges = (bounds.left(), bounds.top(), bounds.right(), bounds.bottom())
                canvas.drawPaint(skia.Paint(Shader=_light_shader(light, *edges)))
                self._draw_bevel(area)
            if dim:
                canvas.drawPaint(skia.Paint(Color=add_opacity(BLACK, dim)))
            canvas.restore()
        self._stroke(area, outline, OUTLINE)

    def _draw_bevel(self, area: skia.Path) -> None:
        """Draw light along the upper left edges and shade along the lower right edges, inside the clip."""
        for shift, color in (
            (_BEVEL, add_opacity(WHITE, 0.34)),
            (-_BEVEL, add_opacity(BLACK, 0.15)),
        ):
            self.canvas.translate(shift, shift)
            self._stroke(area, color, 1.6 * _BEVEL)
            self.canvas.translate(-shift, -shift)

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


@lru_cache(maxsize=2048)
def _light_shader(
    light: Light, left: float, top: float, right: float, bottom: float
) -> skia.Shader:
    """Return a translucent gradient of white and black over the bounds of a part."""
    width = right - left
    height = bottom - top
    colors = [add_opacity(color, opacity) for _, color, opacity in _GRADIENTS[light]]
    stops = [position for position, _, _ in _GRADIENTS[light]]
    if light == "ball":
        center = skia.Point(left + 0.34 * width, top + 0.28 * height)
        return skia.GradientShader.MakeRadial(center, 0.85 * max(width, height), colors, stops)
    end = {"upright": (right, top), "lying": (left, bottom), "flat": (left + 0.25 * width, bottom)}[
        light
    ]
    return skia.GradientShader.MakeLinear([skia.Point(left, top), skia.Point(*end)], colors, stops)
