"""Read the drawings of nouns from SVG files (``../drawings``); pictures.py explains their names.

A file is an SVG image of one noun, 100 units high and as wide as its viewBox. It can contain paths, circles, ellipses,
rectangles and groups, with transforms. The ``class`` of an element defines how it is painted:

- ``coat``: the object's colour and pattern; ``trim``: its colour without the pattern
- ``hollow``: the dark inside of a vessel or a doorway
- ``mark``: a line in a darker tone of the object's colour; ``bar``: a round-ended rod in the object's colour
- no class: flat, with the fill, stroke and opacity of the element

Additional classes: ``fixed`` with ``trim`` or ``bar`` uses the fill or stroke of the element instead of the object's
colour. ``upright``, ``lying``, ``ball`` or ``unlit`` with ``coat`` or ``trim`` replaces the flat light. ``data-dim`` (0
to 1) darkens the part. All other colours of coats, trims and marks in the file are replaced by the object's colour.

A circle without fill is a ring as wide as its stroke. An ``<image>`` is another drawing in the object's colour and
pattern. The contents of a container are painted between ``<g id="back">`` and the other elements. The fields of
``Drawing`` are ``data-`` attributes of the root element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args
from xml.etree import ElementTree

import skia

from compeval.generators.microworld.rendering.brush import OUTLINE, Brush, Light
from compeval.generators.microworld.rendering.outline import make_path, make_ring

FOLDER = Path(__file__).parents[1] / "drawings"

Painter = Callable[[Brush], None]
_SVG = "{http://www.w3.org/2000/svg}"
_IGNORED = ("defs", "desc", "metadata", "style", "title")


class Surface(NamedTuple):
    """A horizontal surface: an object with its bottom at ``y``, between ``left`` and ``right``, seems to stand on
    it."""

    left: float
    right: float
    y: float


class Point(NamedTuple):
    x: float
    y: float


class Opening(NamedTuple):
    """The part of a container that its front hides.

    An object inside stays between ``left`` and ``right``, has its bottom between ``top`` and ``bottom``, and is visible
    above ``top``.
    """

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing of one noun. Surfaces and openings are in fractions of its box; (0, 0) is the upper left corner."""

    aspect: float
    """Width / height of the box."""
    front: Painter
    back: Painter | None = None
    top: Surface | None = None
    """The surface on which other objects can stand."""
    inside: Opening | None = None
    head: Surface | None = None
    """The surface on which a hat is worn."""
    saddle: Point | None = None
    """Position of a rider."""
    seat: Point | None = None
    """The point of a rider that is on the saddle."""
    hand: Point | None = None
    """Position at which a person holds, pulls or pushes an object."""
    tip: Point | None = None
    """The lower end of the water that pours out of a vessel."""
    state: str = ""
    """The state that the drawing shows, such as "open"."""
    scale: float = 1.0
    """Height of the box / height of the box of the noun's basic drawing, for another pose or state."""
    faces_left: bool = False
    """True if an animal or a vehicle moves to the left."""
    colors: tuple[str, ...] = ()
    """The only colours that a drawing of Compun may have; () if it may have every colour."""
    hangs: bool = False
    """True if the object hangs in the air instead of standing on the ground or on other objects."""
    pattern_period: float = 24.0


_GEOMETRY = {
    **dict.fromkeys(("top", "head"), Surface),
    **dict.fromkeys(("saddle", "seat", "hand", "tip"), Point),
    "inside": Opening,
}


def read_drawing(path: Path) -> Drawing:
    """Read one SVG file. Raises ValueError if the renderer cannot paint an element."""
    text = path.read_text("utf-8")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"{path.name}: document types and entities are not supported.")
    try:
        return _read_root(ElementTree.fromstring(text), path.parent)
    except KeyError as error:
        raise ValueError(f"{path.name}: attribute {error} is missing.") from error
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _read_root(root: ElementTree.Element, folder: Path) -> Drawing:
    left, top, width, height = _parse_numbers(root.get("viewBox", "0 0 0 0"))
    if (left, top, height) != (0, 0, 100) or width <= 0:
        raise ValueError(f"viewBox is {root.get('viewBox')!r}: expected '0 0 WIDTH 100'.")
    back = root.find(f"{_SVG}g[@id='back']")

    geometry: dict[str, Any] = {
        name: kind(*_parse_numbers(root.attrib[f"data-{name}"]))
        for name, kind in _GEOMETRY.items()
        if f"data-{name}" in root.attrib
    }
    return Drawing(
        aspect=width / 100,
        front=_make_layer((element for element in root if element is not back), folder),
        back=None if back is None else _make_layer(back, folder),
        state=root.get("data-state", ""),
        scale=float(root.get("data-scale", 1)),
        faces_left=root.get("data-faces") == "left",
        colors=tuple(root.get("data-colors", "").split()),
        hangs=root.get("data-hangs") == "true",
        pattern_period=float(root.get("data-pattern-period", 24)),
        **geometry,
    )


def _make_layer(elements: Iterable[ElementTree.Element], folder: Path) -> Painter:
    painters = [
        _make_painter(element, folder)
        for element in elements
        if element.tag.startswith(_SVG) and element.tag.removeprefix(_SVG) not in _IGNORED
    ]

    def paint(brush: Brush) -> None:
        for painter in painters:
            painter(brush)

    return paint


def _make_painter(element: ElementTree.Element, folder: Path) -> Painter:
    """Return a function that paints an element; the declarations in ``style`` count as attributes."""
    style = (declaration.partition(":") for declaration in element.get("style", "").split(";"))
    attributes = element.attrib | {name.strip(): value.strip() for name, _, value in style}
    match element.tag.removeprefix(_SVG):
        case "g":
            painter = _make_layer(element, folder)
        case "image":
            painter = _make_inset(attributes, folder)
        case shape:
            painter = _make_part(shape, attributes)
    return (
        _add_transform(painter, attributes["transform"]) if "transform" in attributes else painter
    )


def _make_inset(attributes: Mapping[str, str], folder: Path) -> Painter:
    drawing = read_drawing(folder / attributes["href"])
    x = float(attributes["x"])
    y = float(attributes["y"])
    scale = float(attributes["height"]) / 100
    return _add_transform(drawing.front, f"translate({x} {y}) scale({scale} {scale})")


def _add_transform(painter: Painter, transform: str) -> Painter:
    steps = [
        (name, _parse_numbers(values))
        for name, values in re.findall(r"(\w+)\s*\(([^)]*)\)", transform)
    ]
    if not {name for name, _ in steps} <= {"translate", "scale", "rotate", "matrix"}:
        raise ValueError(f"transform {transform!r}: expected translate, scale, rotate or matrix.")

    def paint(brush: Brush) -> None:
        canvas = brush.canvas
        canvas.save()
        for name, values in steps:
            match name:
                case "translate":
                    canvas.translate(values[0], values[1] if len(values) > 1 else 0)
                case "scale":
                    canvas.scale(values[0], values[-1])
                case "rotate":
                    canvas.rotate(*values)
                case "matrix":
                    a, b, c, d, x, y = values
                    canvas.concat(skia.Matrix.MakeAll(a, c, x, b, d, y, 0, 0, 1))
        painter(brush)
        canvas.restore()

    return paint


def _make_part(shape: str, attributes: Mapping[str, str]) -> Painter:
    """Return a function that paints a basic shape as its ``class`` defines."""
    classes = attributes.get("class", "").split()
    role = classes[0] if classes else None
    light: Light = next((name for name in get_args(Light) if name in classes), "flat")
    fill = _parse_color(attributes.get("fill", "none"))
    stroke = _parse_color(attributes.get("stroke", "none"))
    width = float(attributes.get("stroke-width", OUTLINE))
    opacity = float(attributes.get("opacity", 1))
    dim = float(attributes.get("data-dim", 0))
    fixed = "fixed" in classes
    path = (
        make_ring(attributes)
        if role in ("coat", "trim") and fill is None
        else make_path(shape, attributes)
    )
    match role:
        case "coat":
            return lambda brush: brush.paint_coat(path, light, dim)
        case "trim":
            return lambda brush: brush.paint_trim(path, light, dim, fill if fixed else None)
        case "hollow":
            return lambda brush: brush.paint_hollow(path)
        case "mark":
            return lambda brush: brush.draw_mark(path, width, opacity)
        case "bar":
            return lambda brush: brush.draw_bar(path, width, stroke if fixed else None)
        case None:
            return lambda brush: brush.draw_flat(path, fill, stroke, width, opacity)
    raise ValueError(f"class {role!r}: expected coat, trim, hollow, mark or bar.")


def _parse_color(text: str) -> str | None:
    if text == "none":
        return None
    if not re.fullmatch("#[0-9a-fA-F]{6}", text):
        raise ValueError(f"colour {text!r}: expected #rrggbb or none.")
    return text


def _parse_numbers(text: str) -> list[float]:
    return [float(number) for number in re.split(r"[\s,]+", text.strip())]


DRAWINGS: Mapping[str, Drawing] = {
    path.stem.replace("_", " "): read_drawing(path) for path in sorted(FOLDER.rglob("*.svg"))
}
"""File name without suffix -> drawing. Only Compun and ControlledImCaps use those in the folder ``compounds/``."""
