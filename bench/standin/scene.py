"""The content of an image of the stand-in: objects with attributes and boxes, and their relations.

A scene is a function of seed and index, so the first N images are equal for any number of images. The counts follow
Visual Genome 1.4: per image 35 objects, 26 attributes and 21 relations in the mean, log-normal. One image in twelve is
a crowded street with 15 windows, 10 trees and 12 persons. Relations connect about half of the objects to one large
component, as in the real graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from bench.standin.vocabulary import TAIL_NAMES, Words
from bench.standin.zipf import Zipf, draw_count

SIZES = ((4, 3), (4, 3), (4, 3), (3, 2), (3, 4), (2, 3), (1, 1))
"""Ratios of width to height, drawn uniformly."""
CROWDED = 1 / 12
CROWD = ["building", "building", "building", *["window"] * 15, *["tree"] * 10, *["person"] * 8, *["man"] * 4]
OBJECTS, RELATIONS = 32.0, 0.6
"""Mean number of objects of an image that is not crowded, and of relations per object."""
KINDS = Zipf(["part", "thing", "person", "structure", "place", "vehicle", "furniture", "animal"], 1.0, 2)
OWNERS = ("person", "animal", "vehicle", "structure", "furniture")


class PixelBox(NamedTuple):
    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True)
class Thing:
    """An object. ``owner`` is the position of the object that it is a part of."""

    id: int
    name: str
    kind: str
    box: PixelBox
    attributes: tuple[str, ...]
    owner: int | None = None


class Link(NamedTuple):
    """A relation between the objects at two positions."""

    id: int
    subject: int
    predicate: str
    object: int


@dataclass(frozen=True)
class Scene:
    image_id: int
    width: int
    height: int
    things: tuple[Thing, ...]
    links: tuple[Link, ...]


FIRST_IMAGE_ID = 2_315_353
IDS_PER_IMAGE = 1_000
"""Distance between the object, relation and region ids of consecutive images."""


def make_rng(*key: object) -> Random:
    """Return a generator that depends on nothing but the key."""
    return Random(" ".join(map(str, key)))


def draw_scene(seed: int, index: int, long_side: int, words: Words) -> Scene:
    """Return the scene of the image at ``index``; its longer side has ``long_side`` pixels."""
    rng = make_rng(seed, "scene", index)
    columns, rows = rng.choice(SIZES)
    width, height = (long_side * side // max(columns, rows) for side in (columns, rows))
    crowded = rng.random() < CROWDED
    theme = words.themes["street" if crowded else rng.choice(list(words.themes))]
    things: list[Thing] = []
    for name in CROWD if crowded else ():
        _add_thing(things, index, name, words.kinds[name], None, (width, height), words, rng)
    for _ in range(draw_count(rng, OBJECTS, 0.5, 250)):
        kind = KINDS.draw(rng)
        owners = [at for at, thing in enumerate(things) if thing.kind in OWNERS] if kind == "part" else []
        owner = rng.choice(owners) if owners else None
        if rng.random() < TAIL_NAMES:
            name, kind = words.draw_tail_name(rng), "thing"
        elif owner is not None:
            name = words.parts[things[owner].kind].draw(rng)
        else:
            name = (theme[kind] if kind in theme else theme["thing"]).draw(rng)
        _add_thing(things, index, name, kind, owner, (width, height), words, rng)
    links = _draw_links(things, draw_count(rng, RELATIONS * len(things), 0.45, 200), index, words, rng)
    return Scene(FIRST_IMAGE_ID + index, width, height, tuple(things), tuple(links))


def _add_thing(
    things: list[Thing],
    index: int,
    name: str,
    kind: str,
    owner: int | None,
    size: tuple[int, int],
    words: Words,
    rng: Random,
) -> None:
    """Append a thing with a box inside its owner's box, or in the image."""
    around = things[owner].box if owner is not None else PixelBox(0, 0, *size)
    share = (0.5, 1.0) if kind in ("place", "structure") else (0.08, 0.5)
    sides = [max(3, int(side * rng.uniform(*share))) for side in (around.w, around.h)]
    corner = [
        start + rng.randrange(max(1, length - side))
        for start, length, side in zip(around[:2], around[2:], sides, strict=True)
    ]
    count = rng.choices((0, 1, 2, 3), (50, 31, 14, 5))[0]
    attributes = dict.fromkeys(words.draw_attribute(rng, kind) for _ in range(count))
    number = FIRST_IMAGE_ID + index * IDS_PER_IMAGE + len(things)
    things.append(Thing(number, name, kind, PixelBox(*corner, *sides), tuple(attributes), owner))


def _draw_links(things: Sequence[Thing], count: int, index: int, words: Words, rng: Random) -> list[Link]:
    """Return the relations: of parts with their owners, and of things with things that already have relations."""
    links: list[Link] = []
    linked: list[int] = []
    for number in range(count):
        subject = rng.choice(linked) if linked and rng.random() < 0.65 else rng.randrange(len(things))
        owner = things[subject].owner
        if owner is not None and rng.random() < 0.85:
            from_owner, from_part = words.part_predicates[things[owner].kind]
            if rng.random() < 0.5:
                subject, predicate, object_ = owner, from_owner.draw(rng), subject
            else:
                predicate, object_ = from_part.draw(rng), owner
        else:
            object_ = rng.randrange(len(things))
            predicate = words.draw_predicate(rng, things[subject].kind, things[object_].kind)
        if subject != object_:
            linked += (subject, object_)
            links.append(Link(FIRST_IMAGE_ID + index * IDS_PER_IMAGE + number, subject, predicate, object_))
    return links
