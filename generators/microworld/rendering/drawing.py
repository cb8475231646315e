"""The drawings of nouns, read from SVG files (``../drawings``).

A file is an ordinary picture of one noun, 100 units high and as wide as its viewBox. Paths, circles, ellipses,
rectangles and groups may be used, with transforms. The ``class`` of an element says how it is painted:

- ``coat``: the object's colour and pattern; ``trim``: its colour without the pattern
- ``hollow``: the dark inside of a vessel or a doorway
- ``mark``: a line in a darker tone of the object's colour; ``bar``: a round-ended rod in the object's colour
- no class: flat, in the element's own fill, stroke and opacity

``fixed`` next to ``trim`` or ``bar`` keeps the element's own fill or stroke; elsewhere the colours of the file are
stand-ins. ``upright``, ``lying``, ``ball`` or ``unlit`` next to ``coat`` or ``trim`` replaces the flat light, and
``data-dim`` (0 to 1) darkens the part. A circle without fill is a ring as wide as its stroke. An ``<image>`` is another
drawing in the object's colour and pattern.

What a container holds is painted between ``<g id="back">`` and the rest. The fields of ``Drawing`` are ``data-``
attributes of the root element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args
from xml.etree import ElementTree

import skia

from generators.microworld.rendering.brush import OUTLINE, Brush, Light
from generators.microworld.rendering.outline import make_path, make_ring

FOLDER = Path(__file__).parents[1] / "drawings"

Painter = Callable[[Brush], None]
_SVG = "{http://www.w3.org/2000/svg}"
_IGNORED = ("defs", "desc", "metadata", "style", "title")


class Surface(NamedTuple):
    """A horizontal edge: an object whose bottom is at ``y``, between ``left`` and ``right``, seems to stand on it."""

    left: float
    right: float
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
    """How one noun looks. Surfaces and openings are fractions of its box: (0, 0) is the upper left corner."""

    aspect: float
    """Width over height of the box."""
    front: Painter
    back: Painter | None = None
    top: Surface | None = None
    """What other objects can stand on."""
    inside: Opening | None = None
    head: Surface | None = None
    """Where a hat is worn."""
    hangs: bool = False
    """Hangs in the air instead of standing on the ground or on other objects."""
    pattern_period: float = 24.0


def read_drawing(path: Path) -> Drawing:
    """Read one SVG file. Raises ValueError for anything that the renderer cannot paint."""
    text = path.read_text("utf-8")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"{path.name}: document types and entities are not supported.")
    try:
        return _drawing(ElementTree.fromstring(text), path.parent)
    except KeyError as error:
        raise ValueError(f"{path.name}: attribute {error} is missing.") from error
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _drawing(root: ElementTree.Element, folder: Path) -> Drawing:
    left, top, width, height = _numbers(root.get("viewBox", "0 0 0 0"))
    if (left, top, height) != (0, 0, 100) or width <= 0:
        raise ValueError(f"viewBox is {root.get('viewBox')!r}: expected '0 0 WIDTH 100'.")
    back = root.find(f"{_SVG}g[@id='back']")

    def numbers(name: str) -> list[float] | None:
        return _numbers(root.attrib[name]) if name in root.attrib else None

    return Drawing(
        aspect=width / 100,
        front=_layer((element for element in root if element is not back), folder),
        back=None if back is None else _layer(back, folder),
        top=Surface(*values) if (values := numbers("data-top")) else None,
        inside=Opening(*values) if (values := numbers("data-inside")) else None,
        head=Surface(*values) if (values := numbers("data-head")) else None,
        hangs=root.get("data-hangs") == "true",
        pattern_period=float(root.get("data-pattern-period", 24)),
    )


def _layer(elements: Iterable[ElementTree.Element], folder: Path) -> Painter:
    painters = [
        _painter(element, folder)
        for element in elements
        if element.tag.startswith(_SVG) and element.tag.removeprefix(_SVG) not in _IGNORED
    ]

    def paint(brush: Brush) -> None:
        for painter in painters:
            painter(brush)

    return paint


def _painter(element: ElementTree.Element, folder: Path) -> Painter:
    """Return what paints an element, its ``style`` read as attributes and its ``transform`` applied."""
    style = (declaration.partition(":") for declaration in element.get("style", "").split(";"))
    attributes = element.attrib | {name.strip(): value.strip() for name, _, value in style}
    match element.tag.removeprefix(_SVG):
        case "g":
            painter = _layer(element, folder)
        case "image":
            painter = _inset(attributes, folder)
        case shape:
            painter = _part(shape, attributes)
    return _transformed(painter, attributes["transform"]) if "transform" in attributes else painter


def _inset(attributes: Mapping[str, str], folder: Path) -> Painter:
    drawing = read_drawing(folder / attributes["href"])
    x, y, scale = float(attributes["x"]), float(attributes["y"]), float(attributes["height"]) / 100
    return _transformed(drawing.front, f"translate({x} {y}) scale({scale} {scale})")


def _transformed(painter: Painter, transform: str) -> Painter:
    steps = [(name, _numbers(values)) for name, values in re.findall(r"(\w+)\s*\(([^)]*)\)", transform)]
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


def _part(shape: str, attributes: Mapping[str, str]) -> Painter:
    """Return what paints a basic shape in the way that its ``class`` says."""
    classes = attributes.get("class", "").split()
    role = classes[0] if classes else None
    light: Light = next((name for name in get_args(Light) if name in classes), "flat")
    fill, stroke = (_color(attributes.get(name, "none")) for name in ("fill", "stroke"))
    width = float(attributes.get("stroke-width", OUTLINE))
    opacity, dim = float(attributes.get("opacity", 1)), float(attributes.get("data-dim", 0))
    fixed = "fixed" in classes
    path = make_ring(attributes) if role in ("coat", "trim") and fill is None else make_path(shape, attributes)
    match role:
        case "coat":
            return lambda brush: brush.coat(path, light, dim)
        case "trim":
            return lambda brush: brush.trim(path, light, dim, fill if fixed else None)
        case "hollow":
            return lambda brush: brush.hollow(path)
        case "mark":
            return lambda brush: brush.mark(path, width, opacity)
        case "bar":
            return lambda brush: brush.bar(path, width, stroke if fixed else None)
        case None:
            return lambda brush: brush.flat(path, fill, stroke, width, opacity)
    raise ValueError(f"class {role!r}: expected coat, trim, hollow, mark or bar.")


def _color(text: str) -> str | None:
    if text == "none":
        return None
    if not re.fullmatch("#[0-9a-fA-F]{6}", text):
        raise ValueError(f"colour {text!r}: expected #rrggbb or none.")
    return text


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.split(r"[\s,]+", text.strip())]


DRAWINGS: Mapping[str, Drawing] = {
    path.stem.replace("_", " "): read_drawing(path) for path in sorted(FOLDER.rglob("*.svg"))
}
"""Every drawing by its noun: those of the world, and below ``compounds/`` those of Compun and ControlledImCaps."""
