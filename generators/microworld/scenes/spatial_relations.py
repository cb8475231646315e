"""Relations between objects, computed from boxes, depths, links and silhouettes.

Definitions, which an independent oracle may rely on:

- on, supporting: the child of an "on" link stands on the upper side of its parent; a worn hat too.
  Not transitive: a cup on a drum on a table is above the table, not on it.
- in, containing: linked; the front of the container hides the lower part of the child. Not transitive.
- wearing, worn by: linked; an animal and the hat on its head.
- above, below: an object is above what it stands on, and above what that stands on. Unlinked objects: wholly higher in
  the picture, with horizontal overlap.
- left of, right of: the horizontal ranges do not overlap, at any height and distance.
- in front of, behind: nearer to the viewer, and covering a part of the other. Never between linked objects.
- next to: left of or right of, with a gap smaller than the smaller width, and sharing at least half of the height of
  the shorter one. Never between linked objects.

A layout in which a relation is neither clearly true nor clearly false is ambiguous, and the sampler rejects it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from generators.microworld.rendering.silhouettes import find_covered_points
from generators.microworld.scene import DrawnObject, Triple
from generators.microworld.scenes.affordances import CARRIERS, CONTAINERS
from generators.microworld.world import CONVERSE
from generators.schemas.scene_graph import Box

MARGIN = 8.0
"""Pixels: two edges closer than this are neither apart nor overlapping."""
CLEAR_OVERLAP = 0.6
"""Ranges that share this fraction of the narrower one clearly overlap horizontally."""
CLEAR_COVER = 0.06
"""An object that covers less than this fraction of another's silhouette is not clearly in front of it."""
CLEAR_DEPTH = 0.02
CLEAR_WIDTH = 1.3
"""An object behind a carrier or container seems to be on or in it unless it is this many times as wide."""
NEAR_GAP, FAR_GAP = 0.7, 1.4
"""Gap over the smaller width: clearly near up to the first, clearly not near from the second."""
SIDE_BY_SIDE, NOT_SIDE_BY_SIDE = 0.5, 0.15
"""Shared height over the smaller height: clearly side by side from the first, clearly not up to the second."""
VISIBLE = 0.5
"""The fraction of an object's silhouette that nearer objects must leave uncovered."""

Verdict = Literal["yes", "no", "unclear"]
LinkKind = Literal["on", "in", "worn by"]


@dataclass(frozen=True, slots=True)
class Link:
    """What carries an object: ``parent`` is an object's id, or None for the ground."""

    kind: LinkKind
    parent: str | None


@dataclass(frozen=True)
class Layout:
    """Placed objects and their links by id; an object without a link hangs in the air."""

    objects: tuple[DrawnObject, ...]
    links: Mapping[str, Link] = field(default_factory=dict)

    def ancestors(self, item: DrawnObject) -> Iterator[tuple[LinkKind, str]]:
        """Yield the links up from an object, nearest first: ("on", "bowl's id"), ("on", "table's id")."""
        link = self.links.get(item.id)
        while link and link.parent is not None:
            yield link.kind, link.parent
            link = self.links.get(link.parent)

    def link_kind(self, item: DrawnObject, ancestor: DrawnObject) -> LinkKind | None:
        """Return the kind of the last link from an object up to ``ancestor``, or None if they are not linked."""
        return next((kind for kind, parent in self.ancestors(item) if parent == ancestor.id), None)

    def stands_on_ground(self, item: DrawnObject) -> bool:
        return self.links.get(item.id) == Link("on", None)


def find_relations(layout: Layout) -> tuple[Triple, ...]:
    """Return every true (subject id, relation, object id), converses included, sorted."""
    return tuple(
        sorted(triple for pair in combinations(layout.objects, 2) for triple in find_relations_between(layout, *pair))
    )


def find_relations_between(layout: Layout, first: DrawnObject, second: DrawnObject) -> Iterator[Triple]:
    """Yield every true (subject id, relation, object id) of two objects, in both directions."""
    for subject, target in ((first, second), (second, first)):
        for relation in _forward_relations(layout, subject, target):
            yield subject.id, relation, target.id
            yield target.id, CONVERSE[relation], subject.id


def find_ambiguities(layout: Layout) -> list[str]:
    """Describe every ambiguity of a layout; the list is empty if every relation is clear."""
    between = [
        f"{first.id}, {second.id}: {reason}"
        for first, second in combinations(layout.objects, 2)
        if (reason := find_ambiguity(layout, first, second))
    ]
    return between + [f"{item.id}: hidden" for item in layout.objects if visible_fraction(layout, item) < VISIBLE]


def find_ambiguity(layout: Layout, first: DrawnObject, second: DrawnObject) -> str | None:
    """Return why a relation of two objects is ambiguous, or None if all are clear."""
    across, along = _overlap_x(first.box, second.box), _overlap_y(first.box, second.box)
    if kind := layout.link_kind(first, second) or layout.link_kind(second, first):
        return "heights touch" if kind == "in" and abs(along) < MARGIN else None
    if across <= -MARGIN:
        return "neither near nor far" if _is_next_to(first.box, second.box) == "unclear" else None
    if across < CLEAR_OVERLAP * min(first.box.width, second.box.width):
        return "partial horizontal overlap"
    if along <= -MARGIN:
        both_stand = layout.stands_on_ground(first) and layout.stands_on_ground(second)
        return "one may be higher or only farther away" if both_stand else None
    hanging = first.id not in layout.links or second.id not in layout.links
    if hanging:
        return "the distance of a hanging object cannot be seen"
    if first.noun == second.noun:
        return "overlapping objects of one noun"
    if abs(first.depth - second.depth) < CLEAR_DEPTH:
        return "equal distance"
    near, far = sorted((first, second), key=lambda item: item.depth)
    if near.noun in (*CARRIERS, *CONTAINERS) and far.box.width < CLEAR_WIDTH * near.box.width:
        return "the object behind seems to be on or in the other"
    return "too little covered" if np.mean(find_covered_points(far, near)) < CLEAR_COVER else None


def visible_fraction(layout: Layout, item: DrawnObject) -> float:
    """Return the fraction of an object's silhouette that no nearer object covers.

    A container and its contents do not count as covering each other.
    """
    covers = [
        find_covered_points(item, other)
        for other in layout.objects
        if other.depth < item.depth
        and _overlap_x(item.box, other.box) > 0
        and _overlap_y(item.box, other.box) > 0
        and "in" not in (layout.link_kind(item, other), layout.link_kind(other, item))
    ]
    return 1 - float(np.mean(np.any(covers, axis=0))) if covers else 1.0


def _forward_relations(layout: Layout, first: DrawnObject, second: DrawnObject) -> Iterator[str]:
    """Yield the relations of first to second, each in one direction of the converse pair only."""
    link = layout.links.get(first.id)
    if link and link.parent == second.id:
        yield link.kind
        if link.kind == "worn by":
            yield "on"
    if kind := layout.link_kind(first, second):
        if kind != "in" or _is_higher(first.box, second.box):
            yield "above"
        return
    if layout.link_kind(second, first):
        return
    if _overlap_x(first.box, second.box) <= 0:
        if first.box.x < second.box.x:
            yield "left of"
            if _is_next_to(first.box, second.box) == "yes":
                yield "next to"
    elif _overlap_y(first.box, second.box) <= 0:
        if _is_higher(first.box, second.box):
            yield "above"
    elif first.depth < second.depth:
        yield "in front of"


def _is_next_to(first: Box, second: Box) -> Verdict:
    """Decide for boxes that are apart horizontally."""
    gap = -_overlap_x(first, second) / min(first.width, second.width)
    shared = _overlap_y(first, second) / min(first.height, second.height)
    if gap >= FAR_GAP or shared <= NOT_SIDE_BY_SIDE:
        return "no"
    return "yes" if gap <= NEAR_GAP and shared >= SIDE_BY_SIDE else "unclear"


def _is_higher(first: Box, second: Box) -> bool:
    return first.y + first.height <= second.y


def _overlap_x(first: Box, second: Box) -> float:
    """Return the shared width; negative for a gap."""
    return min(first.x + first.width, second.x + second.width) - max(first.x, second.x)


def _overlap_y(first: Box, second: Box) -> float:
    """Return the shared height; negative for a gap."""
    return min(first.y + first.height, second.y + second.height) - max(first.y, second.y)
