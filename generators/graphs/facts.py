"""What a scene graph says, what follows from it, and which claims it proves false.

Scene graphs are incomplete, so a claim is false only if the graph rules it out: it names a thing that is not there
(objects are taken as complete), or everything of that name has an attribute, or stands in a relation, that excludes
what is claimed. What the graph is silent about may be true (CREPE, arXiv:2212.07796, section 4.1: a dog that is
annotated as white may be furry, too). Objects are not quite complete, either: what texts about the image name, such as
Visual Genome's region phrases, is there as well (``told``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice

from generators.language.inflection import noun_lemma
from generators.language.lexicon import attributes, nouns, relations
from generators.language.wordnet import is_color
from generators.schemas.scene_graph import Box, SceneGraph, SceneObject

SAME_THING = 0.7
"""Two annotations of kindred names whose boxes overlap (IoU) at least this much are one thing."""

ANYWHERE = frozenset({"holding", "held by", "with", "without", "near", "far from"})
"""Relation groups that say nothing of where two boxes are: a kite is far from the hand that holds it."""

READINGS = 1000
"""How many ways to find a caption's objects in an image are looked at before it counts as undecided."""


@dataclass(frozen=True)
class Thing:
    """One thing of an image; several annotations of it are merged. ``attributes`` in order of mention."""

    id: str
    names: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    box: Box | None = None

    @property
    def name(self) -> str:
        return self.names[0]

    def is_called(self, noun: str) -> bool:
        return any(nouns.may_name_the_same(name, noun) for name in self.names)

    def rules_out(self, attribute: str, said: Sequence[str] = ()) -> bool:
        """Whether an attribute of the thing excludes this one, and neither one of its own nor of ``said`` says it."""
        return any(attributes.exclude(own, attribute) for own in self.attributes) and not any(
            attributes.may_mean_the_same(own, attribute) for own in (*self.attributes, *said)
        )

    def could_be(self, claimed: SceneObject, said: Sequence[str] = ()) -> bool:
        return self.is_called(claimed.name) and not any(self.rules_out(text, said) for text in claimed.attributes)


@dataclass(frozen=True)
class Facts:
    """The things of an image and the predicates that are said of each ordered pair of their ids.

    ``named`` are nouns that texts about the image name: they are present, whether annotated or not. ``said`` are
    attributes that texts say of something called like a thing, by its id: nothing rules them out.
    """

    things: tuple[Thing, ...]
    stated: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> Mapping[str, Thing]:
        return {thing.id: thing for thing in self.things}

    def is_absent(self, noun: str) -> bool:
        """Whether nothing in the image may be the noun, a part of it, or have it as a part.

        Of what texts name only the parts count, not the wholes: a "socket" may be of a lamp, an eye, a tree ...
        """
        return not (
            any(nouns.implies_presence(name, noun) for thing in self.things for name in thing.names)
            or any(nouns.includes(name, noun) for name in self.named)
        )

    def rules_out(self, subject: Thing, predicate: str, object: Thing) -> bool:
        """Whether what is said of two things, or where their boxes are, excludes a relation between them."""
        forward = self.stated.get((subject.id, object.id), ())
        claimed = relations.sense(predicate)
        if claimed is None:
            verb = relations.verb_lemma(predicate)
            return any(verb in relations.contrasting_verbs(relations.verb_lemma(said)) for said in forward)
        names = subject.name, object.name
        claim = relations.situations(claimed.group, *names)
        known = [] if claimed.group in ANYWHERE else list(_geometry(subject.box, object.box))
        for said, reverse in (
            *((said, False) for said in forward),
            *((said, True) for said in self.stated.get((object.id, subject.id), ())),
        ):
            if meant := relations.sense(said):
                situations = relations.situations(meant.group, *names, reverse=reverse)
                postures = {relations.posture(meant.verb), relations.posture(claimed.verb)} - {None}
                if len(postures) == 2 and not reverse:
                    known.append(frozenset())
                elif situations <= claim:
                    return False
                known.append(situations)
        return any(not claim & situations for situations in known)

    def readings(self, claim: SceneGraph) -> Iterator[Mapping[str, Thing]]:
        """Every way to take the claim's objects for different things of the image that the facts do not rule out."""

        def extend(taken: dict[str, Thing], rest: Sequence[SceneObject]) -> Iterator[Mapping[str, Thing]]:
            if not rest:
                yield taken
                return
            for thing in self.things:
                if thing not in taken.values() and thing.could_be(rest[0], self.said.get(thing.id, ())):
                    wider = taken | {rest[0].id: thing}
                    if not self._contradicts(claim, wider, rest[0].id):
                        yield from extend(wider, rest[1:])

        yield from extend({}, claim.objects)

    def is_false(self, claim: SceneGraph) -> bool:
        """Whether the facts rule out every reading of the claim."""
        return next(self.readings(claim), None) is None

    def _contradicts(self, claim: SceneGraph, taken: Mapping[str, Thing], newest: str) -> bool:
        return any(
            self.rules_out(taken[edge.subject], edge.predicate, taken[edge.object])
            for edge in claim.relations
            if newest in (edge.subject, edge.object) and edge.subject in taken and edge.object in taken
        )

    def given(self, caption: SceneGraph) -> Facts:
        """The facts with what a true caption adds: unannotated things, and what it says of the only thing that fits."""
        strangers = [item for item in caption.objects if not any(thing.could_be(item) for thing in self.things)]
        wider = replace(self, things=(*self.things, *(Thing(f"caption:{item.id}", (item.name,)) for item in strangers)))
        readings = list(islice(replace(wider, said={}).readings(caption), READINGS))
        if not readings or len(readings) == READINGS:
            return wider
        certain = {
            item.id: readings[0][item.id]
            for item in caption.objects
            if all(reading[item.id] == readings[0][item.id] for reading in readings)
        }
        return wider._adding(caption, certain)

    def _adding(self, caption: SceneGraph, certain: Mapping[str, Thing]) -> Facts:
        owners = {certain[item.id].id: item for item in caption.objects if item.id in certain}
        things = tuple(
            replace(thing, attributes=_union(thing.attributes, owners[thing.id].attributes))
            if thing.id in owners
            else thing
            for thing in self.things
        )
        stated = dict(self.stated)
        for edge in caption.relations:
            if edge.subject in certain and edge.object in certain:
                pair = certain[edge.subject].id, certain[edge.object].id
                stated[pair] = _union(stated.get(pair, ()), (edge.predicate,))
        return replace(self, things=things, stated=stated)

    def told(self, texts: Iterable[SceneGraph]) -> Facts:
        """The facts with what texts about the image name: evidence that it is there, and of nothing else.

        A noun is present. An attribute that nothing so called is annotated with may be of any of these things. A colour
        that something is annotated with is no noun: parsers take an "orange pear" for a pear and an orange.
        """
        colors = {text for thing in self.things for text in thing.attributes if is_color(text)}
        objects = [
            replace(item, name=noun_lemma(item.name))
            for text in texts
            for item in text.objects
            if item.name not in colors
        ]
        said: dict[str, tuple[str, ...]] = {}
        for noun, attribute in dict.fromkeys((item.name, text) for item in objects for text in item.attributes):
            called = [thing for thing in self.things if thing.is_called(noun)]
            if not any(attributes.may_mean_the_same(own, attribute) for thing in called for own in thing.attributes):
                said |= {thing.id: (*said.get(thing.id, ()), attribute) for thing in called}
        return replace(self, named=frozenset(item.name for item in objects), said=said)


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _geometry(subject: Box | None, object: Box | None) -> Iterator[frozenset[str]]:
    """What two boxes apart say: beside, above or below."""
    if subject is None or object is None:
        return
    if subject.x + subject.width <= object.x:
        yield relations.situations("left of")
    elif object.x + object.width <= subject.x:
        yield relations.situations("right of")
    elif subject.y + subject.height <= object.y:
        yield relations.situations("above")
    elif object.y + object.height <= subject.y:
        yield relations.situations("below")


@lru_cache(maxsize=64)
def closure(graph: SceneGraph) -> Facts:
    """The facts of an image's whole scene graph, annotations of one thing merged.

    Synonyms, converses and implications are worked out when a claim is checked: storing them would lose who said what.
    """
    merged: list[Thing] = []
    owner: dict[str, str] = {}
    for item in (replace(item, name=noun_lemma(item.name)) for item in graph.objects):
        at = next((at for at, thing in enumerate(merged) if _is_same(thing, item)), len(merged))
        old = merged[at] if at < len(merged) else Thing(item.id, (), (), item.box)
        thing = replace(old, names=_union(old.names, (item.name,)), attributes=_union(old.attributes, item.attributes))
        merged[at : at + 1] = [thing]
        owner[item.id] = thing.id
    stated: dict[tuple[str, str], tuple[str, ...]] = {}
    for edge in graph.relations:
        pair = owner[edge.subject], owner[edge.object]
        if pair[0] != pair[1]:
            stated[pair] = _union(stated.get(pair, ()), (edge.predicate,))
    return Facts(tuple(merged), stated)


def _is_same(thing: Thing, item: SceneObject) -> bool:
    if thing.box is None or item.box is None:
        return False
    return thing.is_called(item.name) and thing.box.intersection_over_union(item.box) >= SAME_THING
