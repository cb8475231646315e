"""Pictures of single scenes as JPEG bytes, for benchmarks that compose scenes of their own."""

from __future__ import annotations

import io

from PIL import Image

from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.renderer import render
from generators.microworld.scene import Scene, Thing
from generators.schemas.scene_graph import Box

QUALITY = 92


def jpeg(scene: Scene, size: tuple[int, int]) -> bytes:
    """The picture of a scene, (width, height) pixels; the same bytes at every call."""
    buffer = io.BytesIO()
    Image.fromarray(render(scene, size)).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def placed(noun: str, color: str, pattern: str, side: float, center: float, ground: float) -> Thing:
    """A thing whose longer side is ``side``, around ``center`` (x), its lower edge at ``ground`` (y)."""
    aspect = DRAWINGS[noun].aspect
    width, height = (side, side / aspect) if aspect > 1 else (side * aspect, side)
    return Thing(noun, noun, color, pattern, "medium", Box(center - width / 2, ground - height, width, height), 0)
