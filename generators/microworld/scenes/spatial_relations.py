"""From where things are to every relation that is true of them: geometry of boxes, depths, links and silhouettes.

The semantics, which an independent oracle may rely on (``world.RELATIONS`` gives the short form):

- on, supporting: the child of an "on" link stands on the parent's upper side; a worn hat is ``on`` its wearer, too.
  Not transitive: a cup on a drum on a table is above the table, not on it.
- in, containing: linked; the container's front hides the child's lower part. Not transitive.
- wearing, worn by: linked; an animal and the hat on its head.
- above, below: what is on something, with all that it carries or holds, is above it. Otherwise wholly higher than, with
  horizontal overlap; height is height in the picture.
- left of, right of: the horizontal ranges do not overlap, at whatever height and distance.
- in front of, behind: nearer, and the nearer one covers a part of the other. Never between a thing
  and what it carries, holds or wears, whatever covers what there.
- next to: left of or right of, with a gap smaller than the smaller width, and at least half of the shorter one's height
  lies beside the other. Never between a thing and what it carries, holds or wears.

A layout where one of these is a matter of opinion is ``borderline``: the sampler throws it away, so that of every pair
each relation is clearly true or clearly false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from generators.microworld.rendering.silhouettes import covered_points
from generators.microworld.scene import Thing
from generators.microworld.scenes.affordances import CARRIERS, CONTAINERS
from generators.schemas.scene_graph import Box

CONVERSE = {
    "on": "supporting",
    "above": "below",
    "left of": "right of",
    "in front of": "behind",
    "in": "containing",
    "wearing": "worn by",
    "next to": "next to",
}
CONVERSE |= {converse: relation for relation, converse in CONVERSE.items()}
"""Every relation's converse; ``next to`` is its own."""

MARGIN = 8.0
"""Pixels: two edges closer than this are neither apart nor overlapping."""
CLEAR_OVERLAP = 0.6
"""Ranges that share this much of the narrower one clearly overlap horizontally."""
CLEAR_COVER = 0.06
"""A thing that hides less than this of another's silhouette, though their boxes overlap, is hardly in front of it."""
CLEAR_DEPTH = 0.02
CLEAR_WIDTH = 1.3
"""What is narrower than this times a carrier or container, and behind it, looks as if it were carried or held."""
NEAR_GAP, FAR_GAP = 0.7, 1.4
"""Gap over the smaller width: up to the first is clearly near, from the second clearly not."""
BESIDE, NOT_BESIDE = 0.5, 0.15
"""Shared height over the smaller height: from the first is clearly beside, up to the second clearly not."""
VISIBLE = 0.5
"""The share of a thing's silhouette that nearer things must leave free."""

Triple = tuple[str, str, str]
Verdict = Literal["yes", "no", "unclear"]
How = Literal["on", "in", "worn by"]


@dataclass(frozen=True, slots=True)
class Link:
    """What carries a thing: ``parent`` is a thing's id, or None for the ground."""

    how: How
    parent: str | None


@dataclass(frozen=True)
class Layout:
    """Placed things and what carries each; a thing without a link hangs in the air."""

    things: tuple[Thing, ...]
    links: Mapping[str, Link] = field(default_factory=dict)

    def chain(self, thing: Thing) -> Iterator[tuple[How, str]]:
        """How each of a thing's carriers carries, nearest first: ("on", "bowl's id"), ("on", "table's id")."""
        link = self.links.get(thing.id)
        while link and link.parent is not None:
            yield link.how, link.parent
            link = self.links.get(link.parent)

    def how_carried(self, thing: Thing, by: Thing) -> How | None:
        """The last link of the chain that leads from a thing up to ``by``, None where none does."""
        return next((how for how, parent in self.chain(thing) if parent == by.id), None)

    def stands_on_ground(self, thing: Thing) -> bool:
        return self.links.get(thing.id) == Link("on", None)


def relations_of(layout: Layout) -> tuple[Triple, ...]:
    """Every true (subject id, relation, object id), converses included, sorted."""
    return tuple(
        sorted(triple for pair in combinations(layout.things, 2) for triple in relations_between(layout, *pair))
    )


def relations_between(layout: Layout, first: Thing, second: Thing) -> Iterator[Triple]:
    """Every true (subject id, relation, object id) of two things, both ways."""
    for subject, target in ((first, second), (second, first)):
        for relation in _forward_relations(layout, subject, target):
            yield subject.id, relation, target.id
            yield target.id, CONVERSE[relation], subject.id


def borderline(layout: Layout) -> list[str]:
    """What is a matter of opinion in a layout, in words; empty when every relation is clear."""
    between = [
        f"{first.id}, {second.id}: {doubt}"
        for first, second in combinations(layout.things, 2)
        if (doubt := doubt_between(layout, first, second))
    ]
    return between + [f"{thing.id}: hidden" for thing in layout.things if visible_share(layout, thing) < VISIBLE]


def doubt_between(layout: Layout, first: Thing, second: Thing) -> str | None:
    """Why a relation of two things is a matter of opinion, None when all are clear."""
    across, along = _overlap_x(first.box, second.box), _overlap_y(first.box, second.box)
    if how := layout.how_carried(first, second) or layout.how_carried(second, first):
        return "touching heights" if how == "in" and abs(along) < MARGIN else None
    if across <= -MARGIN:
        return "neither near nor far" if _is_next_to(first.box, second.box) == "unclear" else None
    if across < CLEAR_OVERLAP * min(first.box.width, second.box.width):
        return "half beside each other"
    if along <= -MARGIN:
        both_stand = layout.stands_on_ground(first) and layout.stands_on_ground(second)
        return "what is farther away looks higher" if both_stand else None
    hanging = first.id not in layout.links or second.id not in layout.links
    if hanging:
        return "nobody sees how far away a thing in the air is"
    if first.noun == second.noun:
        return "nobody sees which part is whose"
    if abs(first.depth - second.depth) < CLEAR_DEPTH:
        return "equally far away"
    near, far = sorted((first, second), key=lambda thing: thing.depth)
    if near.noun in (*CARRIERS, *CONTAINERS) and far.box.width < CLEAR_WIDTH * near.box.width:
        return "what is behind looks as if it stood on top or inside"
    return "hardly covering" if np.mean(covered_points(far, near)) < CLEAR_COVER else None


def visible_share(layout: Layout, thing: Thing) -> float:
    """The share of a thing's silhouette that no nearer one covers; a container and what it holds cover nothing of each
    other."""
    covers = [
        covered_points(thing, other)
        for other in layout.things
        if other.depth < thing.depth
        and _overlap_x(thing.box, other.box) > 0
        and _overlap_y(thing.box, other.box) > 0
        and "in" not in (layout.how_carried(thing, other), layout.how_carried(other, thing))
    ]
    return 1 - float(np.mean(np.any(covers, axis=0))) if covers else 1.0


def _forward_relations(layout: Layout, first: Thing, second: Thing) -> Iterator[str]:
    """The relations of first to second, each named in one direction of the converse pair only."""
    link = layout.links.get(first.id)
    if link and link.parent == second.id:
        yield link.how
        if link.how == "worn by":
            yield "on"
    if how := layout.how_carried(first, second):
        if how != "in" or _is_higher(first.box, second.box):
            yield "above"
        return
    if layout.how_carried(second, first):
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
    """For boxes that are apart horizontally."""
    gap = -_overlap_x(first, second) / min(first.width, second.width)
    shared = _overlap_y(first, second) / min(first.height, second.height)
    if gap >= FAR_GAP or shared <= NOT_BESIDE:
        return "no"
    return "yes" if gap <= NEAR_GAP and shared >= BESIDE else "unclear"


def _is_higher(first: Box, second: Box) -> bool:
    return first.y + first.height <= second.y


def _overlap_x(first: Box, second: Box) -> float:
    """Shared width; negative: the gap between them."""
    return min(first.x + first.width, second.x + second.width) - max(first.x, second.x)


def _overlap_y(first: Box, second: Box) -> float:
    """Shared height; negative: the gap between them."""
    return min(first.y + first.height, second.y + second.height) - max(first.y, second.y)
