"""Random scenes: what is there, how it looks, and a layout in which every relation is clear.

A scene depends on the seed and its image id alone. Groups (a table with what stands on it) stand beside, before or
behind one another on the ground; kites and balloons hang in the air above them. A layout with a borderline relation
or with something left out is thrown away, and the next one is drawn from the same generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count, product
from random import Random

from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.renderer import BACKGROUNDS
from generators.microworld.scene import Scene, Thing
from generators.microworld.scenes.affordances import (
    FLOATING,
    PORTABLE,
    SIZE_FACTOR,
    SIZE_JITTER,
    TYPICAL_SIDE,
)
from generators.microworld.scenes.held_out import ALL_NOUNS, LeftOut
from generators.microworld.scenes.object_sampler import Weights, cast_of, resized
from generators.microworld.scenes.spatial_relations import (
    MARGIN,
    VISIBLE,
    How,
    Layout,
    Link,
    borderline,
    doubt_between,
    relations_between,
    relations_of,
    visible_share,
)
from generators.schemas.scene_graph import Box

TEST_IDS = range(1, 1_000_000)
"""Image ids of test scenes; training scenes of corpus k start at ``1_000_000 * (k + 1)``."""
GROUND = (0.70, 0.97)
"""Where things may touch the ground, as shares of the scene's height."""
TRIES = 12
"""Places to try for each group."""
OVERLAP = 0.4
"""The chance that a group is first tried before or behind another."""
ATTACHED = {"worn by": 0.9, "on": 0.8, "in": 0.8}
"""The chance that a thing goes where it could."""
CAST_ATTEMPTS, MOST_CASTS = 10, 400
"""Layouts to try with one cast, and casts to try."""


def training_ids(corpus_index: int, images: int) -> range:
    """Image ids of a corpus; disjoint from the test scenes' and from the other corpora's."""
    start = 1_000_000 * (corpus_index + 1)
    assert start not in TEST_IDS
    assert images < 1_000_000
    return range(start, start + images)


def sample_scene(
    seed: int,
    image_id: int,
    *,
    width: int,
    height: int,
    n_things: int,
    forbidden: LeftOut | None = None,
    weights: Weights | None = None,
) -> Scene:
    """A scene of ``n_things`` things, none of them and no relation between them ``forbidden``."""
    rng = Random(f"{seed}:{image_id}")
    for _ in range(MOST_CASTS):
        cast = cast_of(rng, n_things, forbidden, weights or {})
        for _ in range(CAST_ATTEMPTS):
            layout = _Attempt(rng, width, height, forbidden).run(resized(rng, cast, forbidden))
            if layout and not borderline(layout):  # again, for what rounding changed
                return Scene(image_id, width, height, rng.choice(BACKGROUNDS), layout.things, relations_of(layout))
    raise AssertionError(f"no clear layout of {n_things} things (seed {seed}, image {image_id})")


@dataclass
class _Group:
    """Things on one patch of ground, the root first; their boxes count from its left end and from the ground."""

    things: list[Thing]

    @property
    def left(self) -> float:
        return _extent(self.things)[0]

    @property
    def right(self) -> float:
        return _extent(self.things)[1]

    @property
    def top(self) -> float:
        """Above the ground, so negative."""
        return min(thing.box.y for thing in self.things)

    def moved(self, x: float, y: float) -> list[Thing]:
        """The things with the group's left end at ``x`` and its ground at ``y``: the lower the nearer, and what is
        carried lies nearer than its carrier."""
        shift = x - self.left
        return [
            replace(
                thing,
                box=Box(thing.box.x + shift, thing.box.y + y, thing.box.width, thing.box.height),
                depth=1 - y / 1000 - 0.001 * index,
            )
            for index, thing in enumerate(self.things)
        ]


@dataclass
class _Attempt:
    """One try at a layout; every step may fail by returning None or False."""

    rng: Random
    width: int
    height: int
    forbidden: LeftOut | None
    groups: list[_Group] = field(default_factory=list)
    floating: list[Thing] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)

    def run(self, cast: Sequence[Thing]) -> Layout | None:
        for thing in cast:
            sized = self._sized(thing)
            if thing.noun in FLOATING or (thing.noun == "bird" and self.rng.random() < 0.3):
                self.floating.append(sized)
            elif not self._attach(sized):
                box = sized.box
                self.groups.append(_Group([replace(sized, box=Box(0, -box.height, box.width, box.height))]))
                self.links[thing.id] = Link("on", None)
        placed = self._place_groups()
        return None if placed is None else self._hang(placed)

    def _sized(self, thing: Thing) -> Thing:
        factor = SIZE_FACTOR[thing.size] * self.rng.uniform(1 - SIZE_JITTER, 1 + SIZE_JITTER)
        side, aspect = TYPICAL_SIDE[thing.noun] * factor, DRAWINGS[thing.noun].aspect
        return replace(thing, box=Box(0, 0, side * aspect**0.5, side / aspect**0.5))

    def _attach(self, thing: Thing) -> bool:
        """Puts a thing on, in or onto the head of one that is there already, if one fits and luck has it."""
        if thing.noun not in PORTABLE:
            return False
        options: list[tuple[_Group, Thing, How]] = [
            (group, parent, how)
            for group in self.groups
            for parent in group.things
            for how in self._ways(thing, parent)
        ]
        options = [option for option in options if option[2] == "worn by"] or options
        if not options:
            return False
        group, parent, how = self.rng.choice(options)
        if self.rng.random() > ATTACHED[how]:
            return False
        if how == "worn by":
            thing = self._sized(replace(thing, size=parent.size))
        box = self._box_at(thing.box, parent, how)
        taken = [other for other in group.things if self.links[other.id].parent == parent.id]
        if box is None or any(_near(box, other.box) for other in taken):
            return False
        group.things.append(replace(thing, box=box))
        self.links[thing.id] = Link(how, parent.id)
        return True

    def _ways(self, thing: Thing, parent: Thing) -> list[How]:
        """How a parent may carry a thing, by kind and by size."""
        drawing, holds = DRAWINGS[parent.noun], [link.how for link in self.links.values() if link.parent == parent.id]
        ways: list[How] = []
        if drawing.top and thing.box.width <= (drawing.top[1] - drawing.top[0]) * parent.box.width:
            ways.append("on")
        if drawing.inside and not holds and self.links[parent.id].how != "in":
            opening = (drawing.inside[2] - drawing.inside[0]) * parent.box.width
            if 0.35 * opening <= thing.box.width <= opening:
                ways.append("in")
        if drawing.head and thing.noun == "hat" and not holds:
            ways.append("worn by")
        if not self.forbidden:
            return ways
        if self.forbidden.forbids("hat", parent.size):
            ways = [how for how in ways if how != "worn by"]
        return [how for how in ways if (thing.noun, how, parent.noun) not in self.forbidden.triples]

    def _box_at(self, box: Box, parent: Thing, how: How) -> Box | None:
        """Where a thing of this size goes on its parent, in the parent's coordinates."""
        drawing, base = DRAWINGS[parent.noun], parent.box
        if how == "on":
            assert drawing.top
            left, right, y = drawing.top
            x = self.rng.uniform(left * base.width, right * base.width - box.width)
            bottom = y * base.height
        elif how == "in":
            assert drawing.inside
            left, top, right, floor = drawing.inside
            x = self.rng.uniform(left * base.width, right * base.width - box.width)
            sunk = min(self.rng.uniform(0.2, 0.32) * box.height, (floor - top) * base.height)
            if sunk < 0.15 * box.height:
                return None
            bottom = top * base.height + sunk
        else:
            assert drawing.head
            left, right, y = drawing.head
            x = (left + right) / 2 * base.width - box.width / 2
            bottom = y * base.height
        return Box(base.x + x, base.y + bottom - box.height, box.width, box.height)

    def _place_groups(self) -> list[Thing] | None:
        """Each group beside, before or behind those that stand already, at the first place tried that is clear."""
        placed: list[Thing] = []
        for group in self.rng.sample(self.groups, len(self.groups)):
            candidates = (group.moved(*place) for place in self._places(group, placed))
            things = next((things for things in candidates if self._is_clear(placed, things)), None)
            if things is None:
                return None
            placed += things
        return self._centred(placed)

    def _places(self, group: _Group, placed: Sequence[Thing]) -> Iterator[tuple[float, float]]:
        """Places to try where all fit into the picture: left end and ground, in pixels; x counts from anywhere."""
        size, room = group.right - group.left, self.width - 2 * MARGIN
        low, high = max(GROUND[0] * self.height, MARGIN - group.top), GROUND[1] * self.height
        leftmost, rightmost = _extent(placed) if placed else (0.0, size)
        first, last = rightmost - room, leftmost + room - size
        if first > last or low > high:
            return
        overlap = self.rng.random() < OVERLAP
        for number in range(2 * TRIES if overlap else TRIES):
            y = self.rng.uniform(low, high)
            gap = self.rng.uniform(MARGIN, 1.5 * size)
            x = self.rng.choice((leftmost - gap - size, rightmost + gap))
            if (overlap and number < TRIES) or not first <= x <= last:
                x = self.rng.uniform(max(first, leftmost - size), min(last, rightmost))
            yield x, y

    def _is_clear(self, placed: Sequence[Thing], new: Sequence[Thing]) -> bool:
        """Whether things fit in with those placed: no relation borderline or left out, nothing hidden."""
        things = (*placed, *new)
        layout = Layout(things, self.links)
        pairs = [*product(placed, new), *combinations(new, 2)]
        if any(doubt_between(layout, *pair) for pair in pairs):
            return False
        if any(visible_share(layout, thing) < VISIBLE for thing in things):
            return False
        relations = (triple for pair in pairs for triple in relations_between(layout, *pair))
        return not (self.forbidden and self.forbidden.found_in(things, relations))

    def _centred(self, things: list[Thing]) -> list[Thing]:
        """All moved together to a random place in the picture."""
        if not things:
            return things
        left, right = _extent(things)
        shift = MARGIN - left + self.rng.random() * (self.width - 2 * MARGIN - (right - left))
        return [replace(thing, box=thing.box._replace(x=thing.box.x + shift)) for thing in things]

    def _hang(self, things: list[Thing]) -> Layout | None:
        """Floating things go above or beside the others, where there is sky enough."""
        for thing in self.floating:
            candidates = ([replace(thing, box=box, depth=0.5)] for box in self._sky(thing.box))
            hung = next((item for item in candidates if self._is_clear(things, item)), None)
            if hung is None:
                return None
            things = things + hung
        return self._named(things)

    def _sky(self, box: Box) -> Iterator[Box]:
        if 0.75 * self.height - box.height < MARGIN:
            return
        for _ in range(TRIES):
            x = self.rng.uniform(MARGIN, self.width - MARGIN - box.width)
            yield box._replace(x=x, y=self.rng.uniform(MARGIN, 0.75 * self.height - box.height))

    def _named(self, things: list[Thing]) -> Layout:
        """The layout, with things called by noun and number from left to right, boxes in tenths of a pixel."""
        numbers = {noun: count(1) for noun in ALL_NOUNS}
        ordered = sorted(things, key=lambda thing: (thing.box.x, thing.id))
        names = {thing.id: f"{thing.noun}{next(numbers[thing.noun])}" for thing in ordered}
        links = {
            names[child]: replace(link, parent=link.parent and names[link.parent]) for child, link in self.links.items()
        }
        return Layout(
            tuple(
                replace(thing, id=names[thing.id], box=Box(*(round(edge, 1) for edge in thing.box)))
                for thing in ordered
            ),
            links,
        )


def _extent(things: Sequence[Thing]) -> tuple[float, float]:
    """Left and right end."""
    return min(thing.box.x for thing in things), max(thing.box.x + thing.box.width for thing in things)


def _near(box: Box, other: Box) -> bool:
    """Whether two boxes are less than the margin apart horizontally."""
    return box.x < other.x + other.width + MARGIN and other.x < box.x + box.width + MARGIN
