"""Pictures of microworld scenes, drawn with Skia.

A scene is painted from far to near. What a container holds lies between the container's back and its front, and a
worn thing lies on its wearer, whatever their depths say. A view is a transform, not a resampled crop: any part of a
scene can be drawn at any size with sharp edges. Same scene, same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import skia

from generators.microworld.rendering.brush import Brush
from generators.microworld.rendering.drawing import DRAWINGS, Drawing, Painter
from generators.microworld.rendering.tones import opaque, translucent
from generators.microworld.scene import Scene, Thing
from generators.schemas.scene_graph import Box

HORIZON = 0.5
"""Where the ground begins, as a share of the scene's height: things with a base stand below it, or on other things."""


@dataclass(frozen=True, slots=True)
class _Backdrop:
    """Four colours from the top of the scene to its bottom; wall or sky end at the horizon."""

    top: str
    far: str
    near: str
    bottom: str


_BACKDROPS = {
    "studio": _Backdrop("#d4d2ce", "#dedcd7", "#d2cfc9", "#c2beb7"),
    "room": _Backdrop("#d9d1c3", "#e0d8ca", "#c6b7a1", "#b5a48c"),
    "street": _Backdrop("#ccd4d8", "#dadfe1", "#c3c4c6", "#adaeb1"),
    "meadow": _Backdrop("#c6d5dd", "#dae2e3", "#c3ceb0", "#a9b892"),
    "beach": _Backdrop("#c2d5d9", "#d9e1dd", "#e0d6bd", "#cdbf9f"),
    "dusk": _Backdrop("#c6bfcb", "#d9d1d0", "#b9b1b3", "#a39b9f"),
}
BACKGROUNDS = tuple(_BACKDROPS)
"""Names that ``Scene.background`` may take."""


@dataclass(frozen=True, slots=True)
class Company:
    """What containers hold and animals wear: host id to things, far first."""

    held: dict[str, list[Thing]] = field(default_factory=dict)
    worn: dict[str, list[Thing]] = field(default_factory=dict)


def render(scene: Scene, size: tuple[int, int], view: Box | None = None) -> np.ndarray:
    """The picture of a scene, uint8, shape (height, width, 3).

    ``size`` is (width, height) in pixels; ``view`` is the part of the scene that fills it, by default all of it.
    """
    width, height = size
    view = view or Box(0, 0, scene.width, scene.height)
    pixels = np.zeros((height, width, 4), np.uint8)
    canvas = skia.Surface(pixels, skia.kRGBA_8888_ColorType).getCanvas()
    canvas.scale(width / view.width, height / view.height)
    canvas.translate(-view.x, -view.y)
    _draw_background(canvas, scene)
    _draw_things(canvas, scene)
    return np.ascontiguousarray(pixels[..., :3])


def draw_thing(canvas: skia.Canvas, thing: Thing, company: Company | None = None) -> None:
    """A thing, without shadow, with what it holds and wears, on a canvas in scene pixels."""
    company = company or Company()
    drawing = DRAWINGS[thing.noun]
    if drawing.back:
        _paint(canvas, thing, drawing, drawing.back)
    for item in company.held.get(thing.id, ()):
        draw_thing(canvas, item, company)
    _paint(canvas, thing, drawing, drawing.front)
    for item in company.worn.get(thing.id, ()):
        draw_thing(canvas, item, company)


def _paint(canvas: skia.Canvas, thing: Thing, drawing: Drawing, painter: Painter) -> None:
    """One layer of a thing: its design units stretched over its box."""
    canvas.save()
    canvas.translate(thing.box.x, thing.box.y)
    canvas.scale(thing.box.width / (100 * drawing.aspect), thing.box.height / 100)
    painter(Brush(canvas, thing.color, thing.pattern, drawing.pattern_period))
    canvas.restore()


def _draw_things(canvas: skia.Canvas, scene: Scene) -> None:
    things = sorted(scene.things, key=lambda thing: -thing.depth)
    company = _company(scene, {thing.id: thing for thing in things})
    guests = {item.id for group in (company.held, company.worn) for items in group.values() for item in items}
    resting = {subject for subject, relation, _ in scene.relations if relation == "on"}
    for thing in things:
        if thing.id in guests:
            continue
        bottom = thing.box.y + thing.box.height
        if not DRAWINGS[thing.noun].hangs and (thing.id in resting or bottom > HORIZON * scene.height):
            _draw_shadow(canvas, thing.box)
        draw_thing(canvas, thing, company)


def _company(scene: Scene, by_id: dict[str, Thing]) -> Company:
    company = Company()
    for subject, relation, target in scene.relations:
        if relation == "in":
            company.held.setdefault(target, []).append(by_id[subject])
        elif relation == "wearing":
            company.worn.setdefault(subject, []).append(by_id[target])
    for items in (*company.held.values(), *company.worn.values()):
        items.sort(key=lambda thing: -thing.depth)
    return company


def _draw_shadow(canvas: skia.Canvas, box: Box) -> None:
    """A soft contact shadow around the lower edge of a box."""
    canvas.save()
    canvas.translate(box.x + 0.53 * box.width, box.y + box.height - 0.015 * box.width)
    canvas.scale(0.60 * box.width, 0.10 * box.width)
    canvas.drawCircle(0, 0, 1, skia.Paint(Shader=_shadow_shader(), AntiAlias=True))
    canvas.restore()


@lru_cache
def _shadow_shader() -> skia.Shader:
    return skia.GradientShader.MakeRadial(
        skia.Point(0, 0), 1, [translucent(0, 0.42), translucent(0, 0.30), translucent(0, 0.0)], [0.0, 0.55, 1.0]
    )


def _draw_background(canvas: skia.Canvas, scene: Scene) -> None:
    width, height, horizon = scene.width, scene.height, HORIZON * scene.height
    upper, lower = _backdrop_shaders(scene.background, height)
    canvas.drawRect(skia.Rect.MakeLTRB(0, 0, width, horizon), skia.Paint(Shader=upper))
    canvas.drawRect(skia.Rect.MakeLTRB(0, horizon, width, height), skia.Paint(Shader=lower))


@lru_cache
def _backdrop_shaders(background: str, height: int) -> tuple[skia.Shader, skia.Shader]:
    backdrop, horizon = _BACKDROPS[background], HORIZON * height
    upper, lower = (
        skia.GradientShader.MakeLinear(
            [skia.Point(0, start), skia.Point(0, end)], [opaque(first), opaque(last)], [0.0, 1.0]
        )
        for start, end, first, last in (
            (0, horizon, backdrop.top, backdrop.far),
            (horizon, height, backdrop.near, backdrop.bottom),
        )
    )
    return upper, lower
