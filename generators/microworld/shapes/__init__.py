"""The drawings of the microworld's 40 nouns, one file per few clusters of world.NOUNS; all of them are our own."""

from generators.microworld.shapes import (
    animals,
    buildings,
    clothing,
    containers,
    devices,
    fruits,
    furniture,
    plants,
    playthings,
    vehicles,
    vessels,
)
from generators.microworld.shapes.brush import Brush
from generators.microworld.shapes.shape import Shape

SHAPES: dict[str, Shape] = {
    **vessels.SHAPES,
    **containers.SHAPES,
    **fruits.SHAPES,
    **vehicles.SHAPES,
    **furniture.SHAPES,
    **buildings.SHAPES,
    **plants.SHAPES,
    **clothing.SHAPES,
    **animals.SHAPES,
    **devices.SHAPES,
    **playthings.SHAPES,
}
"""The shape of every noun."""

__all__ = ["SHAPES", "Brush", "Shape"]
