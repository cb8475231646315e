"""Pairs of scenes that differ in one atom, relation or binding, each with a caption that is true of it only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from compeval.generators.language import inflection
from compeval.generators.microworld.rendering.pictures import RENDERINGS, find_pose
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.scenes.attachments import (
    Attached,
    Situation,
    find_attachments,
    make_box,
)
from compeval.generators.microworld.scenes.held_out import HeldOut
from compeval.generators.microworld.scenes.object_sampler import sample_objects
from compeval.generators.microworld.scenes.sampler import sample_surroundings
from compeval.generators.microworld.scenes.spatial_relations import (
    MARGIN,
    TOWED,
    Layout,
    Link,
    find_ambiguities,
    find_relations,
)
from compeval.generators.microworld.world import COLORS, NOUNS, PATTERNS, PEOPLE, STATES

WIDTH = 640
HEIGHT = 480
GROUND = 445
"""Size of a scene in pixels and the height on which objects stand."""
SPOKEN = {
    "worn by": "wearing",
    "pulled by": "pulling",
    "pushed by": "pushing",
    "in": "containing",
    "on": "supporting",
}
"""Kinds of links that captions state from the parent's side: "a cat wearing a hat"."""
Objects = tuple[DrawnObject, ...]


class CaptionedScene(NamedTuple):
    caption: str
    scene: Scene


Pair = tuple[CaptionedScene, CaptionedScene]


def make_object_pair(rng: Random, number: int) -> Pair | None:
    first, second = _sample_two(rng)
    cluster = next(nouns for nouns in NOUNS.values() if first.noun in nouns)
    other = rng.choice(cluster)
    if other in (first.noun, second.noun):
        return None
    drawing = RENDERINGS[other].pictures[0]
    state = next(iter(drawing)) if RENDERINGS[other].states else ""
    changed = replace(first, noun=other, drawing=drawing[state], state=state)
    return _compare(rng, number, (first, second), (changed, second), _name)


def make_attribute_pair(rng: Random, number: int) -> Pair | None:
    first, second = _sample_two(rng)
    if first.noun in PEOPLE:
        return None
    kind = rng.choice(("color", "pattern", "state") if first.state else ("color", "pattern"))
    if kind == "state":
        pair = next(pair for pair in STATES if first.state in pair)
        state = pair[1 - pair.index(first.state)]
        changed = replace(first, state=state, drawing=find_pose(first.picture, state))
    else:
        values = [value for value in (COLORS if kind == "color" else PATTERNS) if value != "plain"]
        old, new = rng.sample(values, 2)
        first, changed = replace(first, **{kind: old}), replace(first, **{kind: new})
    return _compare(
        rng,
        number,
        (first, second),
        (changed, second),
        lambda item: _name(item, getattr(item, kind, "")),
    )


def make_binding_pair(rng: Random, number: int) -> Pair | None:
    first, second = _sample_two(rng)
    if first.color == second.color or first.noun in PEOPLE or second.noun in PEOPLE:
        return None
    exchanged = (replace(first, color=second.color), replace(second, color=first.color))
    return _compare(rng, number, (first, second), exchanged, lambda item: _name(item, item.color))


def make_relation_pair(rng: Random, number: int) -> Pair | None:
    """Return a linked pair of objects and the same objects side by side, or pulled and pushed."""
    parent, item = _sample_two(rng)
    standing = _stand(parent, (WIDTH - parent.box.width) / 2)
    options = find_attachments(rng, item, standing, Situation(Link("on", None), 0, 1))
    by_kind = {
        option.kind: option for option in options if option.kind not in ("held by", "eaten by")
    }
    if {*TOWED} <= by_kind.keys():
        chosen = [*TOWED]
    else:  # a pulled object is also next to its puller
        chosen = (
            rng.sample(sorted(by_kind.keys() - {*TOWED}), 1) if by_kind.keys() - {*TOWED} else []
        )
    if not chosen:
        return None
    linked = [_make_linked(number, by_kind[kind]) for kind in chosen]
    if len(linked) == 1:
        attached = by_kind[chosen[0]]
        linked.append(
            _make_side_by_side(
                rng, number, (parent, make_box(rng, replace(item, size=attached.child.size)))
            )
        )
    if any(scene is None for scene in linked):
        return None
    relations = [*chosen, "next to"][:2]
    first, second = (
        CaptionedScene(
            _write_relation(_name_with_color(parent), _name_with_color(item), relation), scene
        )
        for relation, scene in zip(relations, linked, strict=True)
        if scene
    )
    return first, second


SAMPLERS: dict[str, Callable[[Random, int], Pair | None]] = {
    "object": make_object_pair,
    "attribute": make_attribute_pair,
    "relation": make_relation_pair,
    "binding": make_binding_pair,
}
"""Config -> function that samples a pair, or None if the sample does not allow one."""


def _sample_two(rng: Random) -> Objects:
    """Return two objects of different nouns, as large as they are drawn."""
    while True:
        first, second = (make_box(rng, item) for item in sample_objects(rng, 2, HeldOut(), {}))
        if first.noun != second.noun:
            return rng.choice(((first, second), (second, first)))


def _compare(
    rng: Random,
    number: int,
    objects: Objects,
    changed: Objects,
    write: Callable[[DrawnObject], str],
) -> Pair | None:
    """Return the scenes of both lists of objects at the same places, each with a list of their names as its caption."""
    seed = rng.random()
    scenes = [_make_side_by_side(Random(seed), number, items) for items in (objects, changed)]
    captions = [" and ".join(map(write, items)) for items in (objects, changed)]
    first, second = (
        CaptionedScene(caption, scene) if scene else None
        for caption, scene in zip(captions, scenes, strict=True)
    )
    return (first, second) if first and second else None


def _make_side_by_side(rng: Random, number: int, objects: Sequence[DrawnObject]) -> Scene | None:
    """Return a scene with two objects next to each other on the ground; None if it is ambiguous or too wide."""
    boxed = [make_box(Random(0), item) for item in objects]
    gap = max(2 * MARGIN, rng.uniform(0.2, 0.5) * min(item.box.width for item in boxed))
    left = (WIDTH - gap - sum(item.box.width for item in boxed)) / 2
    first = _stand(boxed[0], left)
    second = _stand(boxed[1], left + first.box.width + gap)
    links = {item.id: Link("on", None) for item in (first, second)}
    return _make_scene(number, (first, replace(second, depth=first.depth + 0.05)), links)


def _make_linked(number: int, attached: Attached) -> Scene | None:
    parent = attached.parent
    child = replace(attached.child, depth=attached.parent.depth - 0.001)
    left = min(parent.box.x, child.box.x)
    right = max(item.box.x + item.box.width for item in (parent, child))
    shift = (WIDTH - right - left) / 2
    moved = tuple(
        replace(item, box=item.box._replace(x=item.box.x + shift)) for item in (parent, child)
    )
    return _make_scene(
        number, moved, {parent.id: Link("on", None), child.id: Link(attached.kind, parent.id)}
    )


def _make_scene(number: int, objects: Objects, links: Mapping[str, Link]) -> Scene | None:
    layout = Layout(objects, links)
    inside = all(
        item.box.x >= 0 and item.box.y >= 0 and item.box.x + item.box.width <= WIDTH
        for item in layout.objects
    )
    if not inside or find_ambiguities(layout):
        return None
    background, light = sample_surroundings(0, number)
    return Scene(number, WIDTH, HEIGHT, background, objects, find_relations(layout), light)


def _stand(item: DrawnObject, x: float) -> DrawnObject:
    return replace(item, box=item.box._replace(x=x, y=GROUND - item.box.height), depth=0.5)


def _name(item: DrawnObject, attribute: str = "") -> str:
    phrase = f"{attribute} {item.noun}".strip()
    return f"{inflection.choose_article(phrase.split()[0])} {phrase}"


def _name_with_color(item: DrawnObject) -> str:
    """Return a name like "a red cat"; the colour of people is that of their clothes, and is left out."""
    return _name(item, "" if item.noun in PEOPLE else item.color)


def _write_relation(parent: str, item: str, relation: str) -> str:
    """Return a caption like "a red cat wearing a blue hat"; riding and pouring are said of the attached object."""
    first, second = (item, parent) if relation in ("riding", "pouring into") else (parent, item)
    return f"{first} {SPOKEN.get(relation, relation)} {second}"
