"""Parts of scenes: the boxes that region phrases and training captions describe."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from generators.microworld.scene import Scene
from generators.schemas.scene_graph import Box

WHOLE = 0.85
"""A region that covers this share of the image lets sizes be seen."""


def region_box(scene: Scene, names: Sequence[str], rng: Random) -> Box:
    """A box in whole pixels around things with some of what is around them, mostly wide enough for the papers' filters
    (40,000 pixels, sides at most 1 : 2); now and then the whole image."""
    if rng.random() < 0.1:
        return Box(0, 0, scene.width, scene.height)
    boxes = [thing.box for thing in scene.things if thing.id in names]
    union = boxes[0]
    for box in boxes[1:]:
        union = union.union(box)
    margin, least = 1 + 2 * rng.uniform(0.04, 0.15), rng.uniform(190, 240)
    width, height = max(margin * union.width, least), max(margin * union.height, least)
    width, height = max(width, 0.55 * height), max(height, 0.55 * width)
    x, right = _span(union.x + union.width / 2, width, scene.width)
    y, bottom = _span(union.y + union.height / 2, height, scene.height)
    return Box(x, y, right - x, bottom - y)


def is_whole(scene: Scene, box: Box) -> bool:
    """Whether a box shows so much of the image that sizes can be seen."""
    return box.area >= WHOLE * scene.width * scene.height


def _span(centre: float, length: float, limit: int) -> tuple[int, int]:
    """Start and end, moved into 0 to ``limit``."""
    length = min(round(length), limit)
    start = min(max(round(centre - length / 2), 0), limit - length)
    return start, start + length
