"""Silhouettes of drawings, which show how much of an object another object covers.

Boxes would overestimate this: an object between the legs of a table overlaps the table's box, but covers no part of the
table.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import skia

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.renderer import draw_object
from compeval.generators.microworld.scene import DrawnObject

GRID = 32
"""Number of rows and of columns of cells in a box."""


def find_covered_points(far: DrawnObject, near: DrawnObject) -> np.ndarray:
    """Return True for each point of the silhouette of ``far`` that ``near`` covers: bool, shape (P,)."""
    x, y = _find_points(far.picture, far.mirrored)
    column = np.floor(
        (far.box.x + x * far.box.width - near.box.x) * (GRID / near.box.width)
    ).astype(int)
    row = np.floor((far.box.y + y * far.box.height - near.box.y) * (GRID / near.box.height)).astype(
        int
    )
    inside = (column >= 0) & (column < GRID) & (row >= 0) & (row < GRID)
    inside[inside] = draw_silhouette(near.picture, near.mirrored)[row[inside], column[inside]]
    return inside


@cache
def draw_silhouette(picture: str, mirrored: bool = False) -> np.ndarray:
    """Return True for each cell of its box that a drawing fills: bool, shape (GRID, GRID), row 0 at the top."""
    if mirrored:
        return draw_silhouette(picture)[:, ::-1]
    pixels = np.zeros((GRID, GRID, 4), np.uint8)
    canvas = skia.Surface(pixels).getCanvas()
    canvas.scale(GRID / 100, GRID / 100)
    draw_object(
        canvas,
        DrawnObject("", "", "red", "plain", "medium", Box(0, 0, 100, 100), 0.0, drawing=picture),
    )
    return pixels[..., 3] > 127


@cache
def _find_points(picture: str, mirrored: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres (x, y) of the filled cells, as fractions of the box."""
    rows, columns = np.nonzero(draw_silhouette(picture, mirrored))
    return (columns + 0.5) / GRID, (rows + 0.5) / GRID
