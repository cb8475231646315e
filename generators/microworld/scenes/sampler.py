"""Sample random scenes in which every relation is clearly true or clearly false.

A scene depends only on its seed and image id. Objects on the ground form groups, such as a table with the objects on
it. Groups stand next to, in front of or behind each other; kites and balloons hang in the air above them. Layouts that
are ambiguous or show held-out content are rejected, and another layout is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count, product
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS, LIGHTS
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.scenes.affordances import HANGING
from compeval.generators.microworld.scenes.attachments import (
    Attached,
    Situation,
    find_attachments,
    make_box,
)
from compeval.generators.microworld.scenes.held_out import HeldOut
from compeval.generators.microworld.scenes.object_sampler import (
    Weights,
    resample_sizes,
    sample_objects,
)
from compeval.generators.microworld.scenes.spatial_relations import (
    MARGIN,
    VISIBLE,
    Layout,
    Link,
    find_ambiguities,
    find_ambiguity,
    find_relations,
    find_relations_between,
    measure_visible_fraction,
)
from compeval.generators.microworld.world import ALL_NOUNS

GROUND = (0.70, 0.97)
"""Range of the positions where objects stand on the ground, as fractions of the scene's height."""
POSITIONS = 12
"""Number of positions to try per group."""
OVERLAP = 0.4
"""Probability that positions in front of or behind other groups are tried first."""
ATTACH = {"on": 0.8, "in": 0.8}
"""Probability that an object is attached if it can be attached, by kind of link."""
ACT = 0.9
"""The same probability for all other kinds of links."""
COMMON_ACTION = 0.35
"""Relative frequency of holding, since many objects can be held but few can be pulled, ridden ..."""
LAYOUTS = 10
"""Number of layouts to try per sample of objects."""
MAX_SAMPLES = 400
"""Number of samples of objects to try."""


def sample_scene(
    seed: int,
    image_id: int,
    *,
    width: int,
    height: int,
    n_objects: int,
    forbidden: HeldOut | None = None,
    weights: Weights | None = None,
    unseen: bool = False,
) -> Scene:
    """Return a scene of ``n_objects`` objects without ``forbidden`` content; ``weights`` are frequencies of words.

    ``unseen``: show the objects in renderings that training never shows. Background and light are drawn from a random
    generator of their own, so they are independent of the objects.
    """
    rng = Random(f"{seed}:{image_id}")
    forbidden = forbidden or HeldOut()
    for _ in range(MAX_SAMPLES):
        objects = sample_objects(rng, n_objects, forbidden, weights or {}, unseen=unseen)
        for _ in range(LAYOUTS):
            layout = _LayoutSampler(rng, width, height, forbidden).sample(
                resample_sizes(rng, objects, forbidden)
            )
            # Checked again, because coordinates were rounded.
            if layout and not find_ambiguities(layout):
                background, light = sample_surroundings(seed, image_id)
                return Scene(
                    image_id,
                    width,
                    height,
                    background,
                    layout.objects,
                    find_relations(layout),
                    light,
                )
    raise AssertionError(
        f"no unambiguous layout of {n_objects} objects (seed {seed}, image {image_id})"
    )


def sample_surroundings(seed: int, image_id: int) -> tuple[str, str]:
    """Return the background and the light of a scene."""
    rng = Random(f"{seed}:{image_id}:surroundings")
    return rng.choice(BACKGROUNDS), rng.choice(LIGHTS)


@dataclass
class _Group:
    """An object on the ground, followed by the objects attached to it; y is relative to the ground."""

    objects: list[DrawnObject]

    @property
    def left(self) -> float:
        return _measure_extent(self.objects)[0]

    @property
    def right(self) -> float:
        return _measure_extent(self.objects)[1]

    @property
    def top(self) -> float:
        """The upper end of the group; negative values are above the ground."""
        return min(item.box.y for item in self.objects)

    def move_to(self, x: float, y: float) -> list[DrawnObject]:
        """Return the objects with the left end of the group at ``x`` and its ground at ``y``.

        Groups that are lower in the image are nearer to the viewer. Attached objects are nearer than their carrier.
        """
        shift = x - self.left
        return [
            replace(
                item,
                box=Box(item.box.x + shift, item.box.y + y, item.box.width, item.box.height),
                depth=1 - y / 1000 - 0.001 * index,
            )
            for index, item in enumerate(self.objects)
        ]


@dataclass
class _LayoutSampler:
    """Samples one layout. Every step can fail and then returns None or False."""

    rng: Random
    width: int
    height: int
    forbidden: HeldOut
    groups: list[_Group] = field(default_factory=list)
    hanging: list[DrawnObject] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)

    def sample(self, objects: Sequence[DrawnObject]) -> Layout | None:
        for item in objects:
            sized = make_box(self.rng, item)
            if item.noun in HANGING or (item.noun == "bird" and self.rng.random() < 0.3):
                self.hanging.append(sized)
            elif not self._attach(sized):
                box = sized.box
                self.groups.append(
                    _Group([replace(sized, box=Box(0, -box.height, box.width, box.height))])
                )
                self.links[item.id] = Link("on", None)
        placed = self._place_groups()
        return None if placed is None else self._place_hanging(placed)

    def _attach(self, item: DrawnObject) -> bool:
        """Try to attach an object to another: on it, in it, in its hand ...; return True on success."""
        options = [
            (group, option)
            for group in self.groups
            for parent in group.objects
            for option in self._find_options(item, parent, group)
        ]
        actions = [option for option in options if option[1].kind not in ("on", "in")]
        if not (options := actions or options):
            return False
        weights = [COMMON_ACTION if option.kind == "held by" else 1.0 for _, option in options]
        group, option = self.rng.choices(options, weights)[0]
        if self.rng.random() > ATTACH.get(option.kind, ACT):
            return False
        siblings = [
            other for other in group.objects if self.links[other.id].parent == option.parent.id
        ]
        if any(_is_close(option.child.box, other.box) for other in siblings):
            return False
        group.objects[group.objects.index(option.replaced)] = option.parent
        group.objects.append(option.child)
        self.links[item.id] = Link(option.kind, option.parent.id)
        return True

    def _find_options(
        self, item: DrawnObject, parent: DrawnObject, group: _Group
    ) -> Iterator[Attached]:
        """Yield the ways to attach an object, without those that are held out."""
        children = sum(link.parent == parent.id for link in self.links.values())
        situation = Situation(self.links[parent.id], children, len(group.objects))
        for option in find_attachments(self.rng, item, parent, situation):
            forbidden = (item.noun, option.kind, parent.noun) in self.forbidden.triples
            if not forbidden and not self.forbidden.forbids(item.noun, option.child.size):
                yield option

    def _place_groups(self) -> list[DrawnObject] | None:
        """Place each group at the first position without conflicts."""
        placed: list[DrawnObject] = []
        for group in self.rng.sample(self.groups, len(self.groups)):
            candidates = (
                group.move_to(*position) for position in self._sample_positions(group, placed)
            )
            objects = next((objects for objects in candidates if self._fits(placed, objects)), None)
            if objects is None:
                return None
            placed += objects
        return self._shift_into_view(placed)

    def _sample_positions(
        self, group: _Group, placed: Sequence[DrawnObject]
    ) -> Iterator[tuple[float, float]]:
        """Yield positions (left end and ground, in pixels) at which all groups together fit into the image."""
        size = group.right - group.left
        room = self.width - 2 * MARGIN
        low = max(GROUND[0] * self.height, MARGIN - group.top)
        high = GROUND[1] * self.height
        leftmost, rightmost = _measure_extent(placed) if placed else (0.0, size)
        first = rightmost - room
        last = leftmost + room - size
        if size > room or first > last or low > high:
            return
        overlap = self.rng.random() < OVERLAP
        for number in range(2 * POSITIONS if overlap else POSITIONS):
            y = self.rng.uniform(low, high)
            gap = self.rng.uniform(MARGIN, 1.5 * size)
            x = self.rng.choice((leftmost - gap - size, rightmost + gap))
            if (overlap and number < POSITIONS) or not first <= x <= last:
                x = self.rng.uniform(max(first, leftmost - size), min(last, rightmost))
            yield x, y

    def _fits(self, placed: Sequence[DrawnObject], new: Sequence[DrawnObject]) -> bool:
        """Return True if new objects cause no ambiguity, hide no object and show no held-out content."""
        objects = (*placed, *new)
        layout = Layout(objects, self.links)
        pairs = [*product(placed, new), *combinations(new, 2)]
        if any(find_ambiguity(layout, *pair) for pair in pairs):
            return False
        if any(measure_visible_fraction(layout, item) < VISIBLE for item in objects):
            return False
        relations = (triple for pair in pairs for triple in find_relations_between(layout, *pair))
        return not self.forbidden.find_violations(objects, relations)

    def _shift_into_view(self, objects: list[DrawnObject]) -> list[DrawnObject]:
        """Move all objects together to a random position inside the image."""
        if not objects:
            return objects
        left, right = _measure_extent(objects)
        shift = MARGIN - left + self.rng.random() * (self.width - 2 * MARGIN - (right - left))
        return [replace(item, box=item.box._replace(x=item.box.x + shift)) for item in objects]

    def _place_hanging(self, objects: list[DrawnObject]) -> Layout | None:
        """Place each hanging object at the first position without conflicts; return the complete layout."""
        for item in self.hanging:
            candidates = (
                [replace(item, box=box, depth=0.5)] for box in self._sample_hanging_boxes(item.box)
            )
            placed = next(
                (candidate for candidate in candidates if self._fits(objects, candidate)), None
            )
            if placed is None:
                return None
            objects = objects + placed
        return self._make_layout(objects)

    def _sample_hanging_boxes(self, box: Box) -> Iterator[Box]:
        if 0.75 * self.height - box.height < MARGIN:
            return
        for _ in range(POSITIONS):
            x = self.rng.uniform(MARGIN, self.width - MARGIN - box.width)
            yield box._replace(x=x, y=self.rng.uniform(MARGIN, 0.75 * self.height - box.height))

    def _make_layout(self, objects: list[DrawnObject]) -> Layout:
        """Return the layout with ids such as "cup1", numbered from left to right, and boxes rounded to 0.1 pixels."""
        numbers = {noun: count(1) for noun in ALL_NOUNS}
        ordered = sorted(objects, key=lambda item: (item.box.x, item.id))
        ids = {item.id: f"{item.noun}{next(numbers[item.noun])}" for item in ordered}
        links = {
            ids[child]: replace(link, parent=link.parent and ids[link.parent])
            for child, link in self.links.items()
        }
        return Layout(
            tuple(
                replace(item, id=ids[item.id], box=Box(*(round(edge, 1) for edge in item.box)))
                for item in ordered
            ),
            links,
        )


def _measure_extent(objects: Sequence[DrawnObject]) -> tuple[float, float]:
    """Return the left and right end of objects."""
    return min(item.box.x for item in objects), max(item.box.x + item.box.width for item in objects)


def _is_close(box: Box, other: Box) -> bool:
    """Return True if the horizontal distance of two boxes is less than the margin."""
    return box.x < other.x + other.width + MARGIN and other.x < box.x + box.width + MARGIN
