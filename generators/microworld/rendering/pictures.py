"""The drawings of a noun: its renderings, and each rendering in several states and poses.

The name of a file in ``../drawings`` is ``NOUN[-NUMBER][-STATE or POSE].svg``: ``lamp.svg`` is the first rendering of a
lamp, ``lamp-2.svg`` the second, ``lamp-2-lit.svg`` the second in another state, ``man-holding.svg`` a man who holds
something. ``data-state`` in a file says which state it shows. The last rendering of every noun is held out: only test
scenes show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.world import ALL_NOUNS

POSES = ("holding", "eating", "pulling", "pushing", "riding", "pouring")
_NAME = re.compile(r"(?P<noun>[a-z ]+?)(?:-(?P<number>\d+))?(?:-(?P<variant>[a-z]+))?")


@dataclass(frozen=True)
class Renderings:
    """The renderings of a noun. A rendering maps a state ("" if the noun has none) or a pose to a key of DRAWINGS."""

    noun: str
    pictures: tuple[Mapping[str, str], ...]

    @property
    def states(self) -> tuple[str, ...]:
        """The states of the noun; () if it has none. All renderings have the same states."""
        return tuple(name for name in self.pictures[0] if name and name not in POSES)

    @property
    def poses(self) -> tuple[str, ...]:
        return tuple(name for name in self.pictures[0] if name in POSES)

    def numbers(self, *, unseen: bool) -> range:
        """Return the renderings that only test scenes show, or all others. A noun with one rendering has no unseen
        rendering, and its only one is returned."""
        last = len(self.pictures) - 1
        return range(last, last + 1) if unseen or not last else range(last)


def _find_renderings(noun: str) -> Renderings:
    """Return the renderings of a noun. Raises ValueError if they do not show the same states and poses."""
    pictures: dict[int, dict[str, str]] = {}
    for name, drawing in DRAWINGS.items():
        match = _NAME.fullmatch(name)
        if match and match["noun"] == noun:
            variant = match["variant"] or ""
            pictures.setdefault(int(match["number"] or 1), {})[
                variant if variant in POSES else drawing.state
            ] = name
    if 1 not in pictures:
        raise ValueError(f"drawings/{noun}.svg: the noun is in nouns.csv, but has no drawing.")
    for number, rendering in pictures.items():
        if rendering.keys() != pictures[1].keys():
            missing = ", ".join(sorted(rendering.keys() ^ pictures[1].keys()))
            raise ValueError(
                f"drawings/{noun}-{number}.svg: {missing}: only some of the noun's renderings have it."
            )
    return Renderings(noun, tuple(pictures[number] for number in sorted(pictures)))


RENDERINGS: Mapping[str, Renderings] = {noun: _find_renderings(noun) for noun in ALL_NOUNS}
_POSITION = {
    name: (noun, number)
    for noun, renderings in RENDERINGS.items()
    for number, rendering in enumerate(renderings.pictures)
    for name in rendering.values()
}


def find_pose(picture: str, pose: str) -> str | None:
    """Return the drawing of the same rendering in a pose, or None if there is none."""
    if picture not in _POSITION:
        return None
    noun, number = _POSITION[picture]
    return RENDERINGS[noun].pictures[number].get(pose)


def measure_base(picture: str) -> float:
    """Return the width / height of the basic drawing of a rendering, to which ``Drawing.scale`` refers."""
    if picture not in _POSITION:
        return DRAWINGS[picture].aspect
    noun, number = _POSITION[picture]
    rendering = RENDERINGS[noun].pictures[number]
    return next(
        DRAWINGS[name].aspect
        for name in rendering.values()
        if name in (noun, f"{noun}-{number + 1}")
    )
