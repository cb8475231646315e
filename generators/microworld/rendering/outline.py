"""Convert SVG's basic shapes to Skia paths."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import skia
from fontTools.pens.recordingPen import RecordingPen
from fontTools.svgLib.path import parse_path


def make_path(shape: str, attributes: Mapping[str, str]) -> skia.Path:
    """Return the path of a basic shape in drawing units."""

    def read_number(name: str, default: float = 0.0) -> float:
        return float(attributes.get(name, default))

    match shape:
        case "path":
            return _path(attributes["d"], even_odd=attributes.get("fill-rule") == "evenodd")
        case "circle" | "ellipse":
            radius = read_number("r")
            return _oval(
                read_number("cx"),
                read_number("cy"),
                read_number("rx", radius),
                read_number("ry", radius),
            )
        case "rect":
            x = read_number("x")
            y = read_number("y")
            rx = read_number("rx")
            box = skia.Rect.MakeLTRB(x, y, x + read_number("width"), y + read_number("height"))
            return skia.Path.RRect(box, rx, read_number("ry", rx))
    raise ValueError(f"<{shape}>: expected path, circle, ellipse, rect, g or image.")


def make_ring(attributes: Mapping[str, str]) -> skia.Path:
    """Return the area of a circle's stroke."""
    x, y, radius, width = (float(attributes[name]) for name in ("cx", "cy", "r", "stroke-width"))
    path = skia.Path(_oval(x, y, radius + width / 2, radius + width / 2))
    path.addCircle(x, y, radius - width / 2)
    path.setFillType(skia.PathFillType.kEvenOdd)
    return path


def _oval(x: float, y: float, radius_x: float, radius_y: float) -> skia.Path:
    return skia.Path.Oval(
        skia.Rect.MakeLTRB(x - radius_x, y - radius_y, x + radius_x, y + radius_y)
    )


def _path(data: str, *, even_odd: bool) -> skia.Path:
    """Return the Skia path of SVG path data."""
    pen = _Pen()
    path = skia.Path()
    parse_path(data, pen)
    methods = {
        "moveTo": path.moveTo,
        "lineTo": path.lineTo,
        "qCurveTo": path.quadTo,
        "curveTo": path.cubicTo,
    }
    for verb, points in pen.value:
        if verb == "closePath":
            path.close()
        elif verb in methods:
            methods[verb](*chain(*points))
    if even_odd:
        path.setFillType(skia.PathFillType.kEvenOdd)
    return path


class _Pen(RecordingPen):
    """Removes the line that fontTools adds before it closes a contour. Skia would draw it as a dot on thin strokes."""

    def closePath(self) -> None:  # noqa: N802
        start = next(points for verb, points in reversed(self.value) if verb == "moveTo")
        if self.value[-1] == ("lineTo", start):
            self.value.pop()
        super().closePath()
