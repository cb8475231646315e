"""Render scenes as JPEG files, and place objects in scenes that are not sampled at random."""

from __future__ import annotations

import io
from typing import Literal

from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.renderer import render
from compeval.generators.microworld.scene import DrawnObject, Scene

QUALITY = 92


def render_jpeg(
    scene: Scene,
    size: tuple[int, int],
    view: Box | None = None,
    subsampling: Literal["4:2:0", "4:4:4"] = "4:2:0",
) -> bytes:
    """Return the image of a scene, or of a ``view`` of it, as a JPEG file; ``size`` is (width, height) in pixels.

    With the subsampling 4:4:4, patterns are visible even in images of 64 pixels.
    """
    stream = io.BytesIO()
    Image.fromarray(render(scene, size, view)).save(
        stream, "JPEG", quality=QUALITY, subsampling=subsampling
    )
    return stream.getvalue()


def place_object(
    noun: str, color: str, pattern: str, side: float, center: float, ground: float
) -> DrawnObject:
    """Return an object whose longer side is ``side``, centred at x = ``center``, its lower edge at y = ``ground``."""
    aspect = DRAWINGS[noun].aspect
    width, height = (side, side / aspect) if aspect > 1 else (side * aspect, side)
    return DrawnObject(
        noun,
        noun,
        color,
        pattern,
        "medium",
        Box(center - width / 2, ground - height, width, height),
        0,
    )
