"""Render scenes with Skia.

Objects are painted from far to near. Exceptions: the contents of a container are painted between its back and its
front, what a person holds, pulls or pushes between the body and the arms, and a hat or a
rider over what carries it. A view is rendered directly instead of being cropped and resampled, so its edges are sharp
at every size. The same scene always produces the same pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import skia

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.brush import Brush
from compeval.generators.microworld.rendering.drawing import DRAWINGS, Drawing, Painter
from compeval.generators.microworld.rendering.tones import add_opacity, parse_color
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.world import WORLD

HORIZON = 0.5
"""Upper end of the ground, as a fraction of the scene's height. Objects stand below it or on other objects."""


BACKGROUNDS = tuple(WORLD["backgrounds"])
"""Values of ``Scene.background``."""
LIGHTS = tuple(WORLD["lights"])
"""Values of ``Scene.light``."""
_INSIDE = {"in": False, "pouring into": False, "holding": True, "pulling": True, "pushing": True}
_OVER = {"wearing": True, "riding": False}
"""Relations whose objects are painted inside or over another; True if the subject is the carrier."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """Objects that are painted inside another (``contents``) or over it (``worn``), by the id of the other.

    The farthest comes first.
    """

    contents: dict[str, list[DrawnObject]] = field(default_factory=dict)
    worn: dict[str, list[DrawnObject]] = field(default_factory=dict)


def render(scene: Scene, size: tuple[int, int], view: Box | None = None) -> np.ndarray:
    """Return the image of a scene: uint8, shape (height, width, 3).

    ``size`` is (width, height) in pixels; ``view`` is the visible part of the scene (default: the whole scene).
    """
    width, height = size
    view = view or Box(0, 0, scene.width, scene.height)
    pixels = np.zeros((height, width, 4), np.uint8)
    canvas = skia.Surface(pixels, skia.kRGBA_8888_ColorType).getCanvas()
    canvas.scale(width / view.width, height / view.height)
    canvas.translate(-view.x, -view.y)
    _draw_background(canvas, scene)
    _draw_objects(canvas, scene)
    if scene.light != "day":
        canvas.drawColor(parse_color(WORLD["lights"][scene.light]), skia.BlendMode.kModulate)
    return np.ascontiguousarray(pixels[..., :3])


def draw_object(
    canvas: skia.Canvas, item: DrawnObject, attachments: Attachments | None = None
) -> None:
    """Draw an object with its attachments and without a shadow; the units of the canvas are scene pixels."""
    attachments = attachments or Attachments()
    drawing = DRAWINGS[item.picture]
    if drawing.back:
        _paint(canvas, item, drawing, drawing.back)
    for content in attachments.contents.get(item.id, ()):
        draw_object(canvas, content, attachments)
    _paint(canvas, item, drawing, drawing.front)
    for hat in attachments.worn.get(item.id, ()):
        draw_object(canvas, hat, attachments)


def _paint(canvas: skia.Canvas, item: DrawnObject, drawing: Drawing, layer: Painter) -> None:
    """Paint one layer of a drawing, stretched over the object's box."""
    canvas.save()
    canvas.translate(item.box.x + item.mirrored * item.box.width, item.box.y)
    canvas.scale(
        (-1 if item.mirrored else 1) * item.box.width / (100 * drawing.aspect),
        item.box.height / 100,
    )
    layer(Brush(canvas, item.color, item.pattern, drawing.pattern_period))
    canvas.restore()


def _draw_objects(canvas: skia.Canvas, scene: Scene) -> None:
    objects = sorted(scene.objects, key=lambda item: -item.depth)
    attachments = _find_attachments(scene, {item.id: item for item in objects})
    hosts = (*attachments.contents.values(), *attachments.worn.values())
    attached = {item.id for items in hosts for item in items}
    resting = {subject for subject, relation, _ in scene.relations if relation == "on"}
    towing = {
        subject: target
        for subject, relation, target in scene.relations
        if relation in ("pulling", "pushing")
    }
    by_id = {item.id: item for item in objects}
    for item in objects:
        if item.id in attached:
            continue
        bottom = item.box.y + item.box.height
        if item.id in towing:
            _draw_shadow(canvas, by_id[towing[item.id]].box)
        if not DRAWINGS[item.picture].hangs and (
            item.id in resting or bottom > HORIZON * scene.height
        ):
            _draw_shadow(canvas, item.box)
        draw_object(canvas, item, attachments)


def _find_attachments(scene: Scene, by_id: dict[str, DrawnObject]) -> Attachments:
    attachments = Attachments()
    for subject, relation, target in scene.relations:
        for table, painted in ((_INSIDE, attachments.contents), (_OVER, attachments.worn)):
            if relation in table:
                carrier, carried = (subject, target) if table[relation] else (target, subject)
                painted.setdefault(carrier, []).append(by_id[carried])
    for items in (*attachments.contents.values(), *attachments.worn.values()):
        items.sort(key=lambda item: -item.depth)
    return attachments


def _draw_shadow(canvas: skia.Canvas, box: Box) -> None:
    """Draw a soft contact shadow around the lower edge of a box."""
    canvas.save()
    canvas.translate(box.x + 0.53 * box.width, box.y + box.height - 0.015 * box.width)
    canvas.scale(0.60 * box.width, 0.10 * box.width)
    canvas.drawCircle(0, 0, 1, skia.Paint(Shader=_make_shadow_shader(), AntiAlias=True))
    canvas.restore()


@lru_cache
def _make_shadow_shader() -> skia.Shader:
    return skia.GradientShader.MakeRadial(
        skia.Point(0, 0),
        1,
        [add_opacity(0, 0.42), add_opacity(0, 0.30), add_opacity(0, 0.0)],
        [0.0, 0.55, 1.0],
    )


def _draw_background(canvas: skia.Canvas, scene: Scene) -> None:
    width = scene.width
    height = scene.height
    horizon = HORIZON * scene.height
    upper, lower = _make_backdrop_shaders(scene.background, height)
    canvas.drawRect(skia.Rect.MakeLTRB(0, 0, width, horizon), skia.Paint(Shader=upper))
    canvas.drawRect(skia.Rect.MakeLTRB(0, horizon, width, height), skia.Paint(Shader=lower))


@lru_cache
def _make_backdrop_shaders(background: str, height: int) -> tuple[skia.Shader, skia.Shader]:
    top, far, near, bottom = map(parse_color, WORLD["backgrounds"][background])
    horizon = HORIZON * height
    upper = skia.GradientShader.MakeLinear(
        [skia.Point(0, 0), skia.Point(0, horizon)], [top, far], [0.0, 1.0]
    )
    lower = skia.GradientShader.MakeLinear(
        [skia.Point(0, horizon), skia.Point(0, height)], [near, bottom], [0.0, 1.0]
    )
    return upper, lower
