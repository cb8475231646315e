"""Views of a scene: the boxes that region phrases and training captions describe."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.scene import Scene

MIN_SHARE = 0.85
"""A view shows how large objects are if it is at least this fraction of the image."""


def sample_region(scene: Scene, ids: Sequence[str], rng: Random) -> Box:
    """Return a box in whole pixels around the given objects and some of their surroundings.

    Most boxes pass CREPE's filters (40,000 pixels, width / height between 0.5 and 2). One of ten is the whole image.
    """
    if rng.random() < 0.1:
        return Box(0, 0, scene.width, scene.height)
    boxes = [item.box for item in scene.objects if item.id in ids]
    union = boxes[0]
    for box in boxes[1:]:
        union = union.union(box)
    margin = 1 + 2 * rng.uniform(0.04, 0.15)
    min_side = rng.uniform(190, 240)
    width = max(margin * union.width, min_side)
    height = max(margin * union.height, min_side)
    width, height = max(width, 0.55 * height), max(height, 0.55 * width)
    x, right = _fit(union.x + union.width / 2, width, scene.width)
    y, bottom = _fit(union.y + union.height / 2, height, scene.height)
    return Box(x, y, right - x, bottom - y)


def shows_sizes(scene: Scene, box: Box) -> bool:
    """Return True if a box shows enough of the image to see how large objects are."""
    return box.area >= MIN_SHARE * scene.width * scene.height


def _fit(centre: float, length: float, limit: int) -> tuple[int, int]:
    """Return the start and end of a range around ``centre``, moved into 0 to ``limit``."""
    length = min(round(length), limit)
    start = min(max(round(centre - length / 2), 0), limit - length)
    return start, start + length
