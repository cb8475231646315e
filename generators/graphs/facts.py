"""The facts of an image, what follows from them, and which statements they prove false.

Scene graphs are incomplete, so a statement is false only if the graph rules it out: it names an object that is absent
(objects count as complete), or every entity of that name has an attribute, or a relation, that excludes the statement.
Whatever the graph does not mention may be true (CREPE, arXiv:2212.07796, section 4.1: a dog that is annotated as white
may be furry, too). Objects are not quite complete, either: objects that texts about the image name, such as Visual
Genome's region phrases, are present as well (:meth:`ImageFacts.with_texts`).
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

SAME_ENTITY_IOU = 0.7
"""Annotations with related names whose boxes overlap (IoU) at least this much are one entity."""
WITHOUT_PLACE = frozenset({"holding", "held by", "with", "without", "near", "far from"})
"""Relation groups that do not constrain where two boxes are: a kite is far from the hand that holds it."""
MAX_READINGS = 1000
"""Readings of a caption that are examined; with more it counts as undecided."""


@dataclass(frozen=True)
class Entity:
    """One thing in an image, merged from its annotations; ``attributes`` in the order in which they are annotated."""

    id: str
    names: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    box: Box | None = None

    @property
    def name(self) -> str:
        return self.names[0]

    def is_called(self, noun: str) -> bool:
        return any(nouns.may_name_the_same(name, noun) for name in self.names)

    def excludes(self, attribute: str, mentioned: Sequence[str] = ()) -> bool:
        """Whether an attribute of the entity excludes this one, and neither its own nor ``mentioned`` ones imply it."""
        return any(attributes.exclude(own, attribute) for own in self.attributes) and not any(
            attributes.may_mean_the_same(own, attribute) for own in (*self.attributes, *mentioned)
        )

    def matches(self, item: SceneObject, mentioned: Sequence[str] = ()) -> bool:
        """Whether the object of a statement may be this entity."""
        return self.is_called(item.name) and not any(self.excludes(text, mentioned) for text in item.attributes)


@dataclass(frozen=True)
class ImageFacts:
    """The entities of an image, and the predicates of each ordered pair of their ids.

    ``mentioned`` are nouns in texts about the image: they are present, whether annotated or not.
    ``mentioned_attributes`` are attributes that texts give something with an entity's name, by the entity's id: they
    may be true of it.
    """

    entities: tuple[Entity, ...]
    predicates: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()
    mentioned_attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> Mapping[str, Entity]:
        return {entity.id: entity for entity in self.entities}

    def is_absent(self, noun: str) -> bool:
        """Whether nothing in the image may be the noun, a part of it, or have it as a part.

        Mentioned nouns imply their parts, but not their wholes: a "socket" may belong to a lamp, an eye, a tree ...
        """
        return not (
            any(nouns.implies_presence(name, noun) for entity in self.entities for name in entity.names)
            or any(nouns.includes(name, noun) for name in self.mentioned)
        )

    def excludes_relation(self, subject: Entity, predicate: str, object: Entity) -> bool:
        """Whether the predicates or the boxes of two entities exclude a relation between them."""
        forward = self.predicates.get((subject.id, object.id), ())
        backward = self.predicates.get((object.id, subject.id), ())
        sense = relations.sense(predicate)
        if sense is None:
            verb = relations.verb_lemma(predicate)
            return any(verb in relations.contrasting_verbs(relations.verb_lemma(known)) for known in forward)
        names = subject.name, object.name
        situations = relations.situations(sense.group, *names)
        constraints = [] if sense.group in WITHOUT_PLACE else list(_box_situations(subject.box, object.box))
        for known, reverse in (*((text, False) for text in forward), *((text, True) for text in backward)):
            if known_sense := relations.sense(known):
                known_situations = relations.situations(known_sense.group, *names, reverse=reverse)
                postures = {relations.posture(known_sense.verb), relations.posture(sense.verb)} - {None}
                if len(postures) == 2 and not reverse:
                    constraints.append(frozenset())
                elif known_situations <= situations:
                    return False
                constraints.append(known_situations)
        return any(situations.isdisjoint(constraint) for constraint in constraints)

    def readings(self, statement: SceneGraph) -> Iterator[Mapping[str, Entity]]:
        """Every assignment of the statement's objects to different entities that the facts do not exclude."""

        def extend(assigned: dict[str, Entity], rest: Sequence[SceneObject]) -> Iterator[Mapping[str, Entity]]:
            if not rest:
                yield assigned
                return
            for entity in self.entities:
                mentioned = self.mentioned_attributes.get(entity.id, ())
                if entity not in assigned.values() and entity.matches(rest[0], mentioned):
                    wider = assigned | {rest[0].id: entity}
                    if not self._contradicts(statement, wider, rest[0].id):
                        yield from extend(wider, rest[1:])

        yield from extend({}, statement.objects)

    def is_false(self, statement: SceneGraph) -> bool:
        """Whether the facts exclude every reading of the statement."""
        return next(self.readings(statement), None) is None

    def _contradicts(self, statement: SceneGraph, assigned: Mapping[str, Entity], newest: str) -> bool:
        return any(
            self.excludes_relation(assigned[edge.subject], edge.predicate, assigned[edge.object])
            for edge in statement.relations
            if newest in (edge.subject, edge.object) and edge.subject in assigned and edge.object in assigned
        )

    def with_caption(self, caption: SceneGraph) -> ImageFacts:
        """The facts with those of a true caption: new entities, and what it states of the only entity that matches."""
        new = [item for item in caption.objects if not any(entity.matches(item) for entity in self.entities)]
        entities = (*self.entities, *(Entity(f"caption:{item.id}", (item.name,)) for item in new))
        wider = replace(self, entities=entities)
        readings = list(islice(replace(wider, mentioned_attributes={}).readings(caption), MAX_READINGS))
        if not readings or len(readings) == MAX_READINGS:
            return wider
        certain = {
            item.id: readings[0][item.id].id
            for item in caption.objects
            if all(reading[item.id] == readings[0][item.id] for reading in readings)
        }
        texts = {certain[item.id]: item.attributes for item in caption.objects if item.id in certain}
        predicates = dict(self.predicates)
        for edge in caption.relations:
            if edge.subject in certain and edge.object in certain:
                pair = certain[edge.subject], certain[edge.object]
                predicates[pair] = _union(predicates.get(pair, ()), (edge.predicate,))
        entities = tuple(
            replace(entity, attributes=_union(entity.attributes, texts.get(entity.id, ()))) for entity in entities
        )
        return replace(self, entities=entities, predicates=predicates)

    def with_texts(self, texts: Iterable[SceneGraph]) -> ImageFacts:
        """The facts with the objects that texts about the image mention, and nothing else that they state.

        An attribute that no entity of that name is annotated with may be true of each of them. A colour that an entity
        is annotated with is not a noun: parsers read "orange pear" as a pear and an orange.
        """
        colors = {text for entity in self.entities for text in entity.attributes if is_color(text)}
        objects = [
            replace(item, name=noun_lemma(item.name))
            for text in texts
            for item in text.objects
            if item.name not in colors
        ]
        mentioned: dict[str, tuple[str, ...]] = {}
        for noun, attribute in dict.fromkeys((item.name, text) for item in objects for text in item.attributes):
            called = [entity for entity in self.entities if entity.is_called(noun)]
            if not any(attributes.may_mean_the_same(own, attribute) for entity in called for own in entity.attributes):
                mentioned |= {entity.id: (*mentioned.get(entity.id, ()), attribute) for entity in called}
        return replace(self, mentioned=frozenset(item.name for item in objects), mentioned_attributes=mentioned)


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _box_situations(subject: Box | None, object: Box | None) -> Iterator[frozenset[str]]:
    """The situations of two boxes that do not overlap: side by side, above or below."""
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
def image_facts(graph: SceneGraph) -> ImageFacts:
    """The facts of an image's whole scene graph, with the annotations of one entity merged.

    Synonyms, converses and implications are derived when a statement is checked, so that the facts keep the annotators'
    words.
    """
    merged: list[Entity] = []
    entity_ids: dict[str, str] = {}
    for item in (replace(item, name=noun_lemma(item.name)) for item in graph.objects):
        at = next((at for at, entity in enumerate(merged) if _is_same(entity, item)), len(merged))
        old = merged[at] if at < len(merged) else Entity(item.id, (), (), item.box)
        names, texts = _union(old.names, (item.name,)), _union(old.attributes, item.attributes)
        merged[at : at + 1] = [replace(old, names=names, attributes=texts)]
        entity_ids[item.id] = old.id
    predicates: dict[tuple[str, str], tuple[str, ...]] = {}
    for edge in graph.relations:
        pair = entity_ids[edge.subject], entity_ids[edge.object]
        if pair[0] != pair[1]:
            predicates[pair] = _union(predicates.get(pair, ()), (edge.predicate,))
    return ImageFacts(tuple(merged), predicates)


def _is_same(entity: Entity, item: SceneObject) -> bool:
    if entity.box is None or item.box is None:
        return False
    return entity.is_called(item.name) and entity.box.intersection_over_union(item.box) >= SAME_ENTITY_IOU
