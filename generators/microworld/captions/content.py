"""What a caption may say and what it picks to say: facts about things of a scene, and one caption's content.

``Facts`` are what may be said: all of a scene, what a view shows, or what was annotated. ``choose`` draws a ``Content``
from them; wording.py puts it into English.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Literal

from generators.microworld.scene import Scene, Thing
from generators.microworld.scenes.spatial_relations import Triple

RELATION_WEIGHTS: dict[str, float] = {
    "on": 6,
    "supporting": 1.5,
    "above": 3,
    "below": 2.5,
    "left of": 1.5,
    "right of": 1.5,
    "in front of": 4,
    "behind": 4,
    "in": 6,
    "containing": 2.5,
    "next to": 2,
    "wearing": 12,
    "worn by": 6,
}
"""How often a relation is said when it can be."""
IMPLIED_BY = {
    "above": ("on", "worn by"),
    "below": ("supporting", "wearing"),
    "on": ("worn by",),
    "supporting": ("wearing",),
}
IMPLIED_SHARE = 0.15
"""Times the weight of a relation where one that implies it says more."""


@dataclass(frozen=True)
class Facts:
    """What may be said, by thing id, in the order of the scene: nouns, attributes in speaking order, and relations."""

    nouns: Mapping[str, str]
    attributes: Mapping[str, tuple[str, ...]]
    relations: tuple[Triple, ...]

    @classmethod
    def of(cls, scene: Scene, ids: Collection[str], *, sizes: bool) -> Facts:
        """All that is true of these things; sizes only where the whole scene is in view."""
        things = [thing for thing in scene.things if thing.id in ids]
        return cls(
            {thing.id: thing.noun for thing in things},
            {thing.id: sayable_attributes(thing, sizes=sizes) for thing in things},
            tuple(triple for triple in scene.relations if triple[0] in ids and triple[2] in ids),
        )


def sayable_attributes(thing: Thing, *, sizes: bool = True) -> tuple[str, ...]:
    """Size, colour and pattern, without ``medium`` and ``plain``."""
    size = (thing.size,) if sizes and thing.size != "medium" else ()
    return (*size, thing.color, *((thing.pattern,) if thing.pattern != "plain" else ()))


@dataclass(frozen=True, slots=True)
class Content:
    """What one caption says: about things alone, or one or two relations between things."""

    things: tuple[str, ...]
    relations: tuple[Triple, ...] = ()


Kind = Literal["thing", "pair", "list", "twins", "double"]

REGION_KINDS: dict[Kind, float] = {"thing": 4, "pair": 6, "twins": 1}
TRAINING_KINDS: dict[Kind, float] = {"thing": 3, "pair": 6, "list": 5, "twins": 1, "double": 5}
IMAGE_KINDS: dict[Kind, float] = {"pair": 4, "list": 1, "twins": 1, "double": 5}
"""How often a region phrase, a training caption, an image caption says what; twins only where there are some."""


def choose(facts: Facts, kinds: Mapping[Kind, float], rng: Random) -> Content | None:
    """Something to say, of a kind drawn by weight among those that the facts allow; None where they allow none."""
    left = dict(kinds)
    while left:
        kind = rng.choices(list(left), list(left.values()))[0]
        if content := _draw(facts, kind, rng):
            return content
        del left[kind]
    return None


def _draw(facts: Facts, kind: Kind, rng: Random) -> Content | None:
    nouns = facts.nouns
    match kind:
        case "thing":
            described = [name for name in nouns if facts.attributes[name]]
            return Content((rng.choice(described),)) if described else None
        case "list":
            distinct = list({noun: name for name, noun in nouns.items()}.values())
            return Content(tuple(rng.sample(distinct, rng.randint(2, min(3, len(distinct)))))) if distinct[1:] else None
        case "twins":
            twins = [pair for pair in combinations(nouns, 2) if nouns[pair[0]] == nouns[pair[1]]]
            return Content(rng.choice(twins)) if twins else None
        case "pair":
            triple = _draw_relation(facts, rng)
            return Content((triple[0], triple[2]), (triple,)) if triple else None
        case "double":
            first = _draw_relation(facts, rng)
            if first is None or (second := _draw_relation(facts, rng, other_than=first[::2])) is None:
                return None
            return Content(tuple(dict.fromkeys((*first[::2], *second[::2]))), (first, second))


def _draw_relation(facts: Facts, rng: Random, other_than: Collection[str] = ()) -> Triple | None:
    """A relation between things of two nouns, which are not both in ``other_than``."""
    options = [
        (first, relation, second)
        for first, relation, second in facts.relations
        if facts.nouns[first] != facts.nouns[second] and not {first, second} <= {*other_than}
    ]
    return rng.choices(options, [_weight(facts, triple) for triple in options])[0] if options else None


def _weight(facts: Facts, triple: Triple) -> float:
    first, relation, second = triple
    implied = any((first, stronger, second) in facts.relations for stronger in IMPLIED_BY.get(relation, ()))
    return RELATION_WEIGHTS[relation] * (IMPLIED_SHARE if implied else 1)
