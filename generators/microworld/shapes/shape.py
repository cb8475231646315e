"""What a shape is: its drawing and what the drawing can carry, hold or wear.

All places are unit coordinates of the thing's box: (0, 0) its upper left, (1, 1) its lower right corner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.microworld.shapes.brush import Brush

Drawing = Callable[[Brush], None]


@dataclass(frozen=True, slots=True)
class Shape:
    """How one noun looks.

    ``draw`` paints it in design units (box ``100 * aspect`` wide and 100 high). A container has two layers: ``back``,
    painted first, then what it holds, then ``draw``.
    """

    aspect: float
    """Width over height of its box."""
    draw: Drawing
    back: Drawing | None = None
    top: tuple[float, float, float] | None = None
    """(x0, x1, y): a thing whose bottom is at y and whose width lies in x0..x1 looks as if it stands on this one."""
    inside: tuple[float, float, float, float] | None = None
    """(x0, y0, x1, y1): the part that the container's front hides. A thing in it stays within x0..x1, has its bottom
    between y0 and y1, and shows what is above y0."""
    head: tuple[float, float, float] | None = None
    """(x0, x1, y): a hat as wide as x0..x1 whose bottom is at y looks worn."""
    base: bool = True
    """Stands on the ground or on other things; False: hangs in the air."""
    pitch: float = 24.0
    """The period of its pattern in design units."""
