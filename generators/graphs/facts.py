"""The facts of an image, and the statements that they prove false.

Scene graphs are incomplete, so a statement is false only if the graph excludes it. Objects count as complete: a
statement that names an absent object is false. Otherwise, every object with the stated name must have an attribute or a
relation that excludes the statement. Anything else may be true: a dog that is annotated as white may also be furry
(CREPE, arXiv:2212.07796, section 4.1).
Objects that texts about the image mention (such as Visual Genome's region phrases) count as present even if they are
not annotated (:meth:`ImageFacts.with_texts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice

from generators.language.inflection import lemmatise_noun
from generators.language.lexicon import attributes, nouns, relations
from generators.language.wordnet import is_color
from generators.schemas.scene_graph import Box, SceneGraph, SceneObject

SAME_ENTITY_IOU = 0.7
"""Annotations with related names are one entity if the intersection over union of their boxes is at least this."""
WITHOUT_POSITION = frozenset({"holding", "held by", "with", "without", "near", "far from"})
"""Relation groups that do not constrain the positions of two boxes: a kite may be far from the hand that holds it."""
MAX_READINGS = 1000
"""Maximum number of readings of a caption that are examined. A caption with more readings adds no facts."""


@dataclass(frozen=True)
class Entity:
    """One object in an image, merged from all its annotations."""

    id: str
    names: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    box: Box | None = None

    @property
    def name(self) -> str:
        return self.names[0]

    def may_have_name(self, noun: str) -> bool:
        return any(nouns.may_name_same_object(name, noun) for name in self.names)

    def excludes(self, attribute: str, mentioned: Sequence[str] = ()) -> bool:
        """Return True if one of the entity's attributes excludes the given attribute.

        The result is False if another attribute of the entity, or one of ``mentioned``, has the same meaning.
        """
        return any(attributes.exclude(known, attribute) for known in self.attributes) and not any(
            attributes.may_hold_together(known, attribute) for known in (*self.attributes, *mentioned)
        )

    def matches(self, item: SceneObject, mentioned: Sequence[str] = ()) -> bool:
        """Return True if an object of a statement may be this entity."""
        return self.may_have_name(item.name) and not any(self.excludes(text, mentioned) for text in item.attributes)


@dataclass(frozen=True)
class ImageFacts:
    """The entities of an image, and the predicates between each ordered pair of entity ids.

    ``mentioned`` are nouns in texts about the image; they count as present. ``mentioned_attributes`` maps the id of an
    entity to the attributes that texts state of an object with the same name; they may be true of the entity.
    """

    entities: tuple[Entity, ...]
    predicates: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()
    mentioned_attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> Mapping[str, Entity]:
        return {entity.id: entity for entity in self.entities}

    def is_absent(self, noun: str) -> bool:
        """Return True if nothing in the image can be the noun, a part of it, or its whole.

        A mentioned noun implies its parts but not its wholes: a mentioned "socket" may belong to a lamp, an eye or a
        tree.
        """
        return not (
            any(nouns.implies_presence(name, noun) for entity in self.entities for name in entity.names)
            or any(nouns.includes(name, noun) for name in self.mentioned)
        )

    def excludes_relation(self, subject: Entity, predicate: str, object: Entity) -> bool:
        """Return True if the predicates or the boxes of two entities exclude a relation between them."""
        forward = self.predicates.get((subject.id, object.id), ())
        backward = self.predicates.get((object.id, subject.id), ())
        sense = relations.find_sense(predicate)
        if sense is None:
            verb = relations.verb_lemma(predicate)
            return any(verb in relations.contrasting_verbs(relations.verb_lemma(known)) for known in forward)
        names = subject.name, object.name
        situations = relations.situations(sense.group, *names)
        constraints = [] if sense.group in WITHOUT_POSITION else list(_box_situations(subject.box, object.box))
        for known, reverse in (*((text, False) for text in forward), *((text, True) for text in backward)):
            if known_sense := relations.find_sense(known):
                known_situations = relations.situations(known_sense.group, *names, reverse=reverse)
                postures = {relations.find_posture(known_sense.verb), relations.find_posture(sense.verb)} - {None}
                if len(postures) == 2 and not reverse:
                    constraints.append(frozenset())
                elif known_situations <= situations:
                    return False
                constraints.append(known_situations)
        return any(situations.isdisjoint(constraint) for constraint in constraints)

    def find_readings(self, statement: SceneGraph) -> Iterator[Mapping[str, Entity]]:
        """Yield all assignments of the statement's objects to different entities that the facts do not exclude."""

        def extend(assigned: dict[str, Entity], rest: Sequence[SceneObject]) -> Iterator[Mapping[str, Entity]]:
            if not rest:
                yield assigned
                return
            for entity in self.entities:
                mentioned = self.mentioned_attributes.get(entity.id, ())
                if entity not in assigned.values() and entity.matches(rest[0], mentioned):
                    extended = assigned | {rest[0].id: entity}
                    if not self._contradicts(statement, extended, rest[0].id):
                        yield from extend(extended, rest[1:])

        yield from extend({}, statement.objects)

    def is_false(self, statement: SceneGraph) -> bool:
        """Return True if the facts exclude every reading of the statement."""
        return next(self.find_readings(statement), None) is None

    def _contradicts(self, statement: SceneGraph, assigned: Mapping[str, Entity], newest: str) -> bool:
        return any(
            self.excludes_relation(assigned[edge.subject], edge.predicate, assigned[edge.object])
            for edge in statement.relations
            if newest in (edge.subject, edge.object) and edge.subject in assigned and edge.object in assigned
        )

    def with_caption(self, caption: SceneGraph) -> ImageFacts:
        """Return the facts extended by a true caption.

        An object of the caption that matches no entity becomes a new entity. The attributes and relations of an object
        are added to an entity if it is the same entity in every reading of the caption.
        """
        new_objects = [item for item in caption.objects if not any(entity.matches(item) for entity in self.entities)]
        entities = (*self.entities, *(Entity(f"caption:{item.id}", (item.name,)) for item in new_objects))
        extended = replace(self, entities=entities)
        readings = list(islice(replace(extended, mentioned_attributes={}).find_readings(caption), MAX_READINGS))
        if not readings or len(readings) == MAX_READINGS:
            return extended
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
                predicates[pair] = _join_unique(predicates.get(pair, ()), (edge.predicate,))
        entities = tuple(
            replace(entity, attributes=_join_unique(entity.attributes, texts.get(entity.id, ()))) for entity in entities
        )
        return replace(self, entities=entities, predicates=predicates)

    def with_texts(self, texts: Iterable[SceneGraph]) -> ImageFacts:
        """Return the facts with the objects that texts about the image mention.

        If no entity with that name has a mentioned attribute, the attribute may be true of each of these entities. A
        colour that is annotated in the image is not a noun: parsers read "orange pear" as a pear and an orange.
        """
        colors = {text for entity in self.entities for text in entity.attributes if is_color(text)}
        objects = [
            replace(item, name=lemmatise_noun(item.name))
            for text in texts
            for item in text.objects
            if item.name not in colors
        ]
        mentioned: dict[str, tuple[str, ...]] = {}
        for noun, attribute in dict.fromkeys((item.name, text) for item in objects for text in item.attributes):
            entities = [entity for entity in self.entities if entity.may_have_name(noun)]
            if not any(
                attributes.may_hold_together(known, attribute) for entity in entities for known in entity.attributes
            ):
                mentioned |= {entity.id: (*mentioned.get(entity.id, ()), attribute) for entity in entities}
        return replace(self, mentioned=frozenset(item.name for item in objects), mentioned_attributes=mentioned)


def _join_unique(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _box_situations(subject: Box | None, object: Box | None) -> Iterator[frozenset[str]]:
    """Yield the situations of two boxes that do not overlap: side by side, above or below."""
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
def collect_facts(graph: SceneGraph) -> ImageFacts:
    """Return the facts of an image's whole scene graph, with the annotations of one entity merged.

    The facts keep the words of the annotators. Synonyms, converses and implications are derived when a statement is
    checked.
    """
    merged: list[Entity] = []
    entity_ids: dict[str, str] = {}
    for item in (replace(item, name=lemmatise_noun(item.name)) for item in graph.objects):
        index = next((index for index, entity in enumerate(merged) if _is_same_entity(entity, item)), len(merged))
        entity_so_far = merged[index] if index < len(merged) else Entity(item.id, (), (), item.box)
        names, texts = (
            _join_unique(entity_so_far.names, (item.name,)),
            _join_unique(entity_so_far.attributes, item.attributes),
        )
        merged[index : index + 1] = [replace(entity_so_far, names=names, attributes=texts)]
        entity_ids[item.id] = entity_so_far.id
    predicates: dict[tuple[str, str], tuple[str, ...]] = {}
    for edge in graph.relations:
        pair = entity_ids[edge.subject], entity_ids[edge.object]
        if pair[0] != pair[1]:
            predicates[pair] = _join_unique(predicates.get(pair, ()), (edge.predicate,))
    return ImageFacts(tuple(merged), predicates)


def _is_same_entity(entity: Entity, item: SceneObject) -> bool:
    if entity.box is None or item.box is None:
        return False
    return entity.may_have_name(item.name) and entity.box.intersection_over_union(item.box) >= SAME_ENTITY_IOU
