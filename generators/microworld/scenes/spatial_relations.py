"""Compute the relations between objects from boxes, depths, links and silhouettes.

Definitions, which the oracle (evaluators/validity/oracle) relies on:

- on, supporting: the object with an "on" link stands on the upper side of its parent, and a worn hat is on its wearer.
  Not transitive: a cup on a drum on a table is above the table, but not on the table.
- in, containing: there is an "in" link; the front of the container hides the lower part of the object. Not transitive.
- wearing, worn by: there is a "worn by" link between a hat or crown and its wearer.
- holding, eating, riding, pulling, pushing, pouring into, and their converses: there is a link of that kind. Food
  that a person eats is also held; a rider is also on the animal or vehicle.
- above, below: an object that stands on, is worn by, rides or is poured into its parent is above it and above all
  ancestors of the parent. An object without a link is above another object if it is completely higher in the image and
  the horizontal ranges overlap.
- left of, right of: the horizontal ranges do not overlap, at any height and distance.
- in front of, behind: an object is nearer to the viewer and covers a part of the other. Never between linked objects.
- next to: one object is left of the other, the gap is smaller than the smaller width, and the vertical ranges share at
  least half of the smaller height. Never between linked objects.

The sampler rejects ambiguous layouts, in which a relation is neither clearly true nor clearly false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.silhouettes import find_covered_points
from compeval.generators.microworld.scene import DrawnObject, Triple
from compeval.generators.microworld.scenes.affordances import CARRIERS, CONTAINERS
from compeval.generators.microworld.world import CONVERSE

MARGIN = 8.0
"""Minimum distance in pixels between two edges for a clear relation."""
CLEAR_OVERLAP = 0.6
"""Horizontal ranges clearly overlap if they share at least this fraction of the narrower range."""
CLEAR_COVER = 0.06
"""An object is clearly in front of another if it covers at least this fraction of the other's silhouette."""
CLEAR_DEPTH = 0.02
"""Minimum difference in depth for a clear relation."""
CLEAR_WIDTH = 1.3
"""An object behind a carrier or container must be this many times as wide, or it seems to be on or in it."""
NEAR_GAP = 0.7
"""Gap / smaller width, up to which objects are clearly near."""
FAR_GAP = 1.4
"""Gap / smaller width, from which objects are clearly not near."""
SIDE_BY_SIDE = 0.5
"""Shared height / smaller height, from which objects are clearly side by side."""
NOT_SIDE_BY_SIDE = 0.15
"""Shared height / smaller height, up to which objects are clearly not side by side."""
VISIBLE = 0.5
"""Minimum fraction of an object's silhouette that nearer objects do not cover."""

Verdict = Literal["yes", "no", "unclear"]
LinkKind = Literal[
    "on", "in", "worn by", "held by", "eaten by", "pulled by", "pushed by", "riding", "pouring into"
]
LYING_ON = ("on", "worn by", "riding", "pouring into")
"""Links whose object is above its parent."""
TOWED = ("pulled by", "pushed by")
"""Links whose object stands on the ground next to its parent."""
PAINTED_INSIDE = ("in", "held by", "eaten by", "pouring into", *TOWED)
"""Links whose object is painted between the back and the front of its parent."""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection of an object to its parent: ``parent`` is an object id, or None for the ground."""

    kind: LinkKind
    parent: str | None


@dataclass(frozen=True)
class Layout:
    """Placed objects, and object id -> link. An object without a link hangs in the air."""

    objects: tuple[DrawnObject, ...]
    links: Mapping[str, Link] = field(default_factory=dict)

    def ancestors(self, item: DrawnObject) -> Iterator[tuple[LinkKind, str]]:
        """Yield (kind of link, id) for the parent of an object, its parent's parent and so on.

        A pulled or pushed object only stands next to its parent, so the list ends there.
        """
        link = self.links.get(item.id)
        while link and link.parent is not None and link.kind not in TOWED:
            yield link.kind, link.parent
            link = self.links.get(link.parent)

    def link_kind(self, item: DrawnObject, ancestor: DrawnObject) -> LinkKind | None:
        """Return the kind of the link that ends at ``ancestor``, or None if it is not an ancestor of the object."""
        return next((kind for kind, parent in self.ancestors(item) if parent == ancestor.id), None)

    def stands_on_ground(self, item: DrawnObject) -> bool:
        link = self.links.get(item.id)
        return link is not None and (link.parent is None or link.kind in TOWED)

    def are_towed(self, first: DrawnObject, second: DrawnObject) -> bool:
        """Return True if one of two objects pulls or pushes the other."""
        links = (self.links.get(first.id), second.id), (self.links.get(second.id), first.id)
        return any(
            link is not None and link.kind in TOWED and link.parent == parent
            for link, parent in links
        )


def find_relations(layout: Layout) -> tuple[Triple, ...]:
    """Return all true (subject id, relation, object id) triples, including converses, sorted."""
    return tuple(
        sorted(
            triple
            for pair in combinations(layout.objects, 2)
            for triple in find_relations_between(layout, *pair)
        )
    )


def find_relations_between(
    layout: Layout, first: DrawnObject, second: DrawnObject
) -> Iterator[Triple]:
    """Yield all true (subject id, relation, object id) triples of two objects, including converses."""
    for subject, target in ((first, second), (second, first)):
        for relation in _find_forward_relations(layout, subject, target):
            yield subject.id, relation, target.id
            yield target.id, CONVERSE[relation], subject.id


def find_ambiguities(layout: Layout) -> list[str]:
    """Describe every ambiguity of a layout; return [] if every relation is clear."""
    ambiguities = [
        f"{first.id}, {second.id}: {reason}"
        for first, second in combinations(layout.objects, 2)
        if (reason := find_ambiguity(layout, first, second))
    ]
    return ambiguities + [
        f"{item.id}: hidden"
        for item in layout.objects
        if measure_visible_fraction(layout, item) < VISIBLE
    ]


def find_ambiguity(layout: Layout, first: DrawnObject, second: DrawnObject) -> str | None:
    """Return why a relation of two objects is ambiguous, or None if all relations are clear."""
    if layout.are_towed(first, second):
        return None
    overlap_x = _measure_overlap_x(first.box, second.box)
    overlap_y = _measure_overlap_y(first.box, second.box)
    if kind := layout.link_kind(first, second) or layout.link_kind(second, first):
        return "heights touch" if kind == "in" and abs(overlap_y) < MARGIN else None
    if overlap_x <= -MARGIN:
        return "neither near nor far" if _is_next_to(first.box, second.box) == "unclear" else None
    if overlap_x < CLEAR_OVERLAP * min(first.box.width, second.box.width):
        return "partial horizontal overlap"
    if overlap_y <= -MARGIN:
        both_stand = layout.stands_on_ground(first) and layout.stands_on_ground(second)
        return "one may be higher or only farther away" if both_stand else None
    if first.id not in layout.links or second.id not in layout.links:
        return "the distance of a hanging object cannot be seen"
    if first.noun == second.noun:
        return "overlapping objects of one noun"
    if abs(first.depth - second.depth) < CLEAR_DEPTH:
        return "equal distance"
    near, far = sorted((first, second), key=lambda item: item.depth)
    if near.noun in (*CARRIERS, *CONTAINERS) and far.box.width < CLEAR_WIDTH * near.box.width:
        return "the object behind seems to be on or in the other"
    return "too little covered" if np.mean(find_covered_points(far, near)) < CLEAR_COVER else None


def measure_visible_fraction(layout: Layout, item: DrawnObject) -> float:
    """Return the fraction of an object's silhouette that no nearer object covers.

    A container and its contents do not count as covering each other.
    """
    covers = [
        find_covered_points(item, other)
        for other in layout.objects
        if other.depth < item.depth
        and _measure_overlap_x(item.box, other.box) > 0
        and _measure_overlap_y(item.box, other.box) > 0
        and not {layout.link_kind(item, other), layout.link_kind(other, item)} & {*PAINTED_INSIDE}
    ]
    return 1 - float(np.mean(np.any(covers, axis=0))) if covers else 1.0


def _find_forward_relations(
    layout: Layout, first: DrawnObject, second: DrawnObject
) -> Iterator[str]:
    """Yield the relations of ``first`` to ``second``, without the converses."""
    link = layout.links.get(first.id)
    if link and link.parent == second.id:
        yield link.kind
        if link.kind in ("worn by", "riding"):
            yield "on"
        elif link.kind == "eaten by":
            yield "held by"
    if layout.are_towed(first, second):
        if first.box.x < second.box.x:
            yield "left of"
            yield "next to"
        return
    if kind := layout.link_kind(first, second):
        if kind in LYING_ON or (kind == "in" and _is_higher(first.box, second.box)):
            yield "above"
        return
    if layout.link_kind(second, first):
        return
    if _measure_overlap_x(first.box, second.box) <= 0:
        if first.box.x < second.box.x:
            yield "left of"
            if _is_next_to(first.box, second.box) == "yes":
                yield "next to"
    elif _measure_overlap_y(first.box, second.box) <= 0:
        if _is_higher(first.box, second.box):
            yield "above"
    elif first.depth < second.depth:
        yield "in front of"


def _is_next_to(first: Box, second: Box) -> Verdict:
    """Decide if two boxes without horizontal overlap are next to each other."""
    gap = -_measure_overlap_x(first, second) / min(first.width, second.width)
    shared = _measure_overlap_y(first, second) / min(first.height, second.height)
    if gap >= FAR_GAP or shared <= NOT_SIDE_BY_SIDE:
        return "no"
    return "yes" if gap <= NEAR_GAP and shared >= SIDE_BY_SIDE else "unclear"


def _is_higher(first: Box, second: Box) -> bool:
    return first.y + first.height <= second.y


def _measure_overlap_x(first: Box, second: Box) -> float:
    """Return the width that both boxes share; negative if there is a gap."""
    return min(first.x + first.width, second.x + second.width) - max(first.x, second.x)


def _measure_overlap_y(first: Box, second: Box) -> float:
    """Return the height that both boxes share; negative if there is a gap."""
    return min(first.y + first.height, second.y + second.height) - max(first.y, second.y)
