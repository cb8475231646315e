"""What a thing really covers of another: outlines of the drawings instead of boxes.

A box says too much: what stands between the legs of a table overlaps its box and covers nothing of it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import skia

from generators.microworld.rendering.renderer import draw_thing
from generators.microworld.scene import Thing
from generators.schemas.scene_graph import Box

GRID = 32
"""Rows and columns of points in a box."""


def covered_points(far: Thing, near: Thing) -> np.ndarray:
    """Whether the near thing lies over each point of the far thing's silhouette: bool, shape (P,)."""
    x, y = _points(far.noun)
    column = np.floor((far.box.x + x * far.box.width - near.box.x) * (GRID / near.box.width)).astype(int)
    row = np.floor((far.box.y + y * far.box.height - near.box.y) * (GRID / near.box.height)).astype(int)
    inside = (column >= 0) & (column < GRID) & (row >= 0) & (row < GRID)
    inside[inside] = silhouette(near.noun)[row[inside], column[inside]]
    return inside


@cache
def silhouette(noun: str) -> np.ndarray:
    """Which cells of its box a noun's drawing fills: bool, shape (GRID, GRID), row 0 at the top."""
    pixels = np.zeros((GRID, GRID, 4), np.uint8)
    canvas = skia.Surface(pixels).getCanvas()
    canvas.scale(GRID / 100, GRID / 100)
    draw_thing(canvas, Thing(noun, noun, "red", "plain", "medium", Box(0, 0, 100, 100), 0.0))
    return pixels[..., 3] > 127


@cache
def _points(noun: str) -> tuple[np.ndarray, np.ndarray]:
    """Unit coordinates (x, y) of the middles of the cells that a noun's drawing fills."""
    rows, columns = np.nonzero(silhouette(noun))
    return (columns + 0.5) / GRID, (rows + 0.5) / GRID
