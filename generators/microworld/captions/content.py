"""Choose the facts about a scene that a caption states.

``SceneFacts`` are the facts that a caption may state. ``choose_content`` samples a ``Content`` from these facts, and
wording.py writes the content in English.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Literal

from compeval.generators.microworld.scene import DrawnObject, Scene, Triple
from compeval.generators.microworld.world import PEOPLE, RELATIONS

IMPLIED_WEIGHT = 0.15
"""Factor for the frequency of a relation that another true relation implies."""


@dataclass(frozen=True)
class SceneFacts:
    """Nouns and attributes by object id, and relations between object ids. Attributes are in English word order."""

    nouns: Mapping[str, str]
    attributes: Mapping[str, tuple[str, ...]]
    relations: tuple[Triple, ...]

    @classmethod
    def of(cls, scene: Scene, ids: Collection[str], *, sizes: bool) -> SceneFacts:
        """Return all facts about the given objects.

        ``sizes=False`` leaves out sizes, which a crop does not show; otherwise objects have a size if another object
        shows it (``Scene.comparable``).
        """
        objects = [item for item in scene.objects if item.id in ids]
        comparable = scene.comparable if sizes else frozenset()
        return cls(
            {item.id: item.noun for item in objects},
            {item.id: list_named_attributes(item, sizes=item.id in comparable) for item in objects},
            tuple(
                triple
                for triple in list_said_relations(scene)
                if triple[0] in ids and triple[2] in ids
            ),
        )


def list_said_relations(scene: Scene) -> list[Triple]:
    """Return the relations of a scene without those that no caption states (``unsaid_after`` in world.yaml)."""
    relations = set(scene.relations)
    return [
        (first, relation, second)
        for first, relation, second in scene.relations
        if not any(
            (first, stronger, second) in relations for stronger in RELATIONS[relation].unsaid_after
        )
    ]


def list_named_attributes(item: DrawnObject, *, sizes: bool) -> tuple[str, ...]:
    """Return size, state, colour and pattern, without ``medium``, ``plain`` and missing states.

    Of people only the size: their clothes are drawn in the colour and pattern, and "a green woman" does not say so.
    """
    size = item.size if sizes and item.size != "medium" else ""
    look = (
        () if item.noun in PEOPLE else (item.color, item.pattern if item.pattern != "plain" else "")
    )
    return tuple(filter(None, (size, item.state, *look)))


@dataclass(frozen=True, slots=True)
class Content:
    """The object ids and relations that a caption states. Without relations, the caption states attributes."""

    objects: tuple[str, ...]
    relations: tuple[Triple, ...] = ()


Kind = Literal["object", "pair", "list", "twins", "two relations"]
"""``pair``: two objects and their relation; ``list``: objects of different nouns; ``twins``: two objects of one
noun."""

REGION_KINDS: dict[Kind, float] = {"object": 4, "pair": 6, "twins": 1}
TRAINING_KINDS: dict[Kind, float] = {
    "object": 3,
    "pair": 6,
    "list": 5,
    "twins": 1,
    "two relations": 5,
}
IMAGE_KINDS: dict[Kind, float] = {"pair": 4, "list": 1, "twins": 1, "two relations": 5}
"""Relative frequencies of kinds of content in region phrases, training captions and image captions."""


def choose_content(facts: SceneFacts, kinds: Mapping[Kind, float], rng: Random) -> Content | None:
    """Sample a kind of content by weight, and a content of this kind. Returns None if the facts allow no kind."""
    remaining = dict(kinds)
    while remaining:
        kind = rng.choices(list(remaining), list(remaining.values()))[0]
        if content := _sample_content(facts, kind, rng):
            return content
        del remaining[kind]
    return None


def _sample_content(facts: SceneFacts, kind: Kind, rng: Random) -> Content | None:
    nouns = facts.nouns
    match kind:
        case "object":
            described = [name for name in nouns if facts.attributes[name]] or list(nouns)
            return Content((rng.choice(described),)) if described else None
        case "list":
            distinct = list({noun: name for name, noun in nouns.items()}.values())
            return (
                Content(tuple(rng.sample(distinct, rng.randint(2, min(3, len(distinct))))))
                if distinct[1:]
                else None
            )
        case "twins":
            twins = [pair for pair in combinations(nouns, 2) if nouns[pair[0]] == nouns[pair[1]]]
            return Content(rng.choice(twins)) if twins else None
        case "pair":
            triple = _sample_relation(facts, rng)
            return Content((triple[0], triple[2]), (triple,)) if triple else None
        case "two relations":
            first = _sample_relation(facts, rng)
            if (
                first is None
                or (second := _sample_relation(facts, rng, other_than=first[::2])) is None
            ):
                return None
            return Content(tuple(dict.fromkeys((*first[::2], *second[::2]))), (first, second))


def _sample_relation(
    facts: SceneFacts, rng: Random, other_than: Collection[str] = ()
) -> Triple | None:
    """Return a relation between two objects of different nouns that are not both in ``other_than``."""
    options = [
        (first, relation, second)
        for first, relation, second in facts.relations
        if facts.nouns[first] != facts.nouns[second] and not {first, second} <= {*other_than}
    ]
    return (
        rng.choices(options, [_weight(facts, triple) for triple in options])[0] if options else None
    )


def _weight(facts: SceneFacts, triple: Triple) -> float:
    first, relation, second = triple
    implied = any(
        (first, stronger, second) in facts.relations for stronger in RELATIONS[relation].implied_by
    )
    return RELATIONS[relation].weight * (IMPLIED_WEIGHT if implied else 1)
