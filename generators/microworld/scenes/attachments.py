"""Attach an object to another: on it, in it, on its head, in its hand, behind its rope, on its back ...

The positions are fields of the drawings, such as ``Drawing.hand``. An action changes the pose of a drawing, and with it
the box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple, TypeVar

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.drawing import DRAWINGS, Opening, Point, Surface
from compeval.generators.microworld.rendering.pictures import find_pose, measure_base
from compeval.generators.microworld.scene import DrawnObject
from compeval.generators.microworld.scenes.affordances import (
    PORTABLE,
    SIZE_FACTOR,
    SIZE_JITTER,
    TYPICAL_SIDE,
    WORN,
    list_actions,
)
from compeval.generators.microworld.scenes.spatial_relations import Link, LinkKind

MAX_HELD = 0.5
"""Maximum height and width of an object that a person holds, as a fraction of the person's height."""
MAX_EATEN = 0.3
"""Maximum height and width of food that a person eats, as a fraction of the person's height."""
PUSHED_HEIGHT = (0.47, 1.0)
"""Range of the height of an object that a person pushes, as fractions of the person's height."""
PULLED_HEIGHT = (0.26, 0.8)
"""Range of the height of an object that a person pulls, as fractions of the person's height."""
RIDER_HEIGHT = (0.7, 1.25)
"""Range of a rider's height, as a fraction of the height of what is ridden."""
POURED_HEIGHT = (0.5, 1.6)
"""Range of the height of a vessel that is poured out, as a fraction of the height of the other vessel."""
OVERLAP = 0.04
"""Fraction of its width by which a pulled or pushed object overlaps the person's box."""


Place = TypeVar("Place", Point, Surface, Opening)


class Attached(NamedTuple):
    """An object in the coordinates of its parent. ``parent`` is ``replaced`` in its new pose."""

    kind: LinkKind
    child: DrawnObject
    parent: DrawnObject
    replaced: DrawnObject


class Situation(NamedTuple):
    """The link of a parent, the number of objects attached to it, and the number of objects in its group."""

    link: Link
    children: int
    group: int


def make_box(rng: Random, item: DrawnObject) -> DrawnObject:
    """Return an object with its lower left corner at (0, 0), as large as its noun, size and pose require."""
    factor = SIZE_FACTOR[item.size] * rng.uniform(1 - SIZE_JITTER, 1 + SIZE_JITTER)
    base_height = TYPICAL_SIDE[item.noun] * factor / measure_base(item.picture) ** 0.5
    return _resize(item, base_height)


def find_attachments(
    rng: Random, item: DrawnObject, parent: DrawnObject, situation: Situation
) -> Iterator[Attached]:
    """Yield the ways in which ``parent`` can carry, contain, wear or act on an object, or be ridden or filled by it."""
    drawing = DRAWINGS[parent.picture]
    on_ground = situation.link == Link("on", None)
    if item.noun in PORTABLE:
        yield from _find_places(rng, item, parent, situation)
    if drawing.head and item.noun in WORN and not situation.children:
        yield _put_on_head(rng, item, parent)
    if situation.children:
        return
    if on_ground:
        for action in list_actions(parent.noun, item.noun):
            if action in _ACTIONS and (pose := find_pose(parent.picture, action)):
                yield from _act(rng, item, parent, pose, action, alone=situation.group == 1)
        if "riding" in list_actions(item.noun, parent.noun):
            yield from _ride(rng, item, parent)
    if (
        drawing.inside
        and "pouring into" in list_actions(item.noun, parent.noun)
        and situation.link.kind != "in"
    ):
        yield from _pour(rng, item, parent)


def _find_places(
    rng: Random, item: DrawnObject, parent: DrawnObject, situation: Situation
) -> Iterator[Attached]:
    drawing = DRAWINGS[parent.picture]
    base = parent.box
    box = item.box
    if situation.link.kind in ("held by", "eaten by", "pouring into"):
        return
    if drawing.top and box.width <= (drawing.top.right - drawing.top.left) * base.width:
        left, right, y = _mirror(drawing.top, parent)
        x = rng.uniform(left * base.width, right * base.width - box.width)
        yield _place(item, parent, "on", x, y * base.height)
    if drawing.inside and not situation.children and situation.link.kind != "in":
        left, top, right, floor = _mirror(drawing.inside, parent)
        opening = (right - left) * base.width
        sunk = min(rng.uniform(0.2, 0.32) * box.height, (floor - top) * base.height)
        if 0.35 * opening <= box.width <= opening and sunk >= 0.15 * box.height:
            x = rng.uniform(left * base.width, right * base.width - box.width)
            yield _place(item, parent, "in", x, top * base.height + sunk)


def _put_on_head(rng: Random, item: DrawnObject, parent: DrawnObject) -> Attached:
    """A hat has the size of its wearer."""
    head = DRAWINGS[parent.picture].head
    assert head
    left, right, y = _mirror(head, parent)
    hat = make_box(rng, replace(item, size=parent.size))
    center = (left + right) / 2 * parent.box.width
    return _place(hat, parent, "worn by", center - hat.box.width / 2, y * parent.box.height)


def _act(
    rng: Random, item: DrawnObject, parent: DrawnObject, pose: str, action: str, *, alone: bool
) -> Iterator[Attached]:
    """A person holds, eats, pulls or pushes an object, to the left or to the right."""
    kind, fits = _ACTIONS[action]
    height = parent.box.height / DRAWINGS[parent.picture].scale
    mirrored = rng.random() < 0.5
    person = _resize(replace(parent, drawing=pose, mirrored=mirrored), height, bottom=parent.box)
    hand = DRAWINGS[pose].hand
    assert hand
    x, y = _mirror(hand, person)
    x = x * person.box.width
    y = y * person.box.height
    sign = -1 if mirrored else 1
    for sized in _list_sizes(rng, item, lambda box: fits(box, height)):
        width = sized.box.width
        tall = sized.box.height
        match action:
            case "holding":
                center = x + sign * 0.2 * width
                bottom = y + 0.25 * tall
            case "eating":
                center = x
                bottom = y + 0.4 * tall
            case _:
                if not alone:
                    return
                side = sign if action == "pushing" else -sign
                center = x + side * (0.5 - OVERLAP) * width
                bottom = person.box.height
                sized = replace(sized, mirrored=side == 1 and action == "pulling")
        yield _place(sized, person, kind, center - width / 2, bottom)._replace(replaced=parent)
        return


def _ride(rng: Random, item: DrawnObject, parent: DrawnObject) -> Iterator[Attached]:
    """The rider looks where the animal or vehicle goes."""
    saddle = DRAWINGS[parent.picture].saddle
    pose = find_pose(item.picture, "riding")
    if saddle is None or pose is None:
        return
    mirrored = rng.random() < 0.5
    mount = replace(parent, mirrored=mirrored)
    rider = replace(item, drawing=pose, mirrored=DRAWINGS[parent.picture].faces_left != mirrored)
    seat = DRAWINGS[pose].seat
    assert seat
    low, high = RIDER_HEIGHT
    for sized in _list_sizes(rng, rider, lambda box: low <= box.height / parent.box.height <= high):
        x, y = _mirror(saddle, mount)
        seat_x, seat_y = _mirror(seat, sized)
        left = x * mount.box.width - seat_x * sized.box.width
        bottom = y * mount.box.height + (1 - seat_y) * sized.box.height
        yield _place(sized, mount, "riding", left, bottom)._replace(replaced=parent)
        return


def _pour(rng: Random, item: DrawnObject, parent: DrawnObject) -> Iterator[Attached]:
    pose = find_pose(item.picture, "pouring")
    inside = DRAWINGS[parent.picture].inside
    if pose is None or inside is None:
        return
    tip = DRAWINGS[pose].tip
    assert tip
    left, top, right, bottom = _mirror(inside, parent)
    poured = replace(item, drawing=pose, mirrored=rng.random() < 0.5)
    low, high = POURED_HEIGHT
    for sized in _list_sizes(
        rng, poured, lambda box: low <= box.height / parent.box.height <= high
    ):
        x, y = _mirror(tip, sized)
        x = x * sized.box.width
        y = y * sized.box.height
        end = (top + min(0.15, (bottom - top) / 2)) * parent.box.height
        start = (left + right) / 2 * parent.box.width - x
        yield _place(sized, parent, "pouring into", start, end + sized.box.height - y)
        return


def _is_small(limit: float) -> Callable[[Box, float], bool]:
    return lambda box, height: max(box.width, box.height) <= limit * height


def _is_between(low: float, high: float) -> Callable[[Box, float], bool]:
    return lambda box, height: low * height <= box.height <= high * height


_ACTIONS: dict[str, tuple[LinkKind, Callable[[Box, float], bool]]] = {
    "holding": ("held by", _is_small(MAX_HELD)),
    "eating": ("eaten by", _is_small(MAX_EATEN)),
    "pulling": ("pulled by", _is_between(*PULLED_HEIGHT)),
    "pushing": ("pushed by", _is_between(*PUSHED_HEIGHT)),
}
"""Action -> kind of link, and a function of the object's box and the person's height that tells if the object fits."""


def _list_sizes(
    rng: Random, item: DrawnObject, fits: Callable[[Box], bool]
) -> Iterator[DrawnObject]:
    """Yield the object in its own size and then in the others, if it fits."""
    sizes = [item.size, *(size for size in SIZE_FACTOR if size != item.size)]
    return (sized for size in sizes if fits((sized := make_box(rng, replace(item, size=size))).box))


def _resize(item: DrawnObject, base_height: float, bottom: Box | None = None) -> DrawnObject:
    """Return an object in its pose; ``bottom``: the box whose lower edge and centre it keeps."""
    drawing = DRAWINGS[item.picture]
    height = base_height * drawing.scale
    width = height * drawing.aspect
    if bottom is None:
        return replace(item, box=Box(0, 0, width, height))
    x = bottom.x + bottom.width / 2 - width / 2
    y = bottom.y + bottom.height - height
    return replace(item, box=Box(x, y, width, height))


def _place(
    item: DrawnObject, parent: DrawnObject, kind: LinkKind, x: float, bottom: float
) -> Attached:
    """Place an object with its left end and its bottom relative to the box of the parent."""
    box = item.box
    child = replace(
        item, box=Box(parent.box.x + x, parent.box.y + bottom - box.height, box.width, box.height)
    )
    return Attached(kind, child, parent, parent)


def _mirror(place: Place, item: DrawnObject) -> Place:
    """Return a place of an object's drawing, reflected if the object is mirrored."""
    if not item.mirrored:
        return place
    if isinstance(place, Point):
        return place._replace(x=1 - place.x)
    return place._replace(left=1 - place.right, right=1 - place.left)
