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
from functools import cached_property, lru_cache, partial

from compeval.base.schemas.scene_graph import Box, SceneGraph, SceneObject
from compeval.generators.graphs.assignments import Constraint, SearchLimitError, find_assignments
from compeval.generators.graphs.presence import Presence, cached_method
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import attributes, nouns, relations
from compeval.generators.language.wordnet import is_color

SAME_ENTITY_IOU = 0.7
"""Annotations with related names are one entity if the intersection over union of their boxes is at least this."""
LEVEL = 0.1
"""Two edges are at the same height if they differ by at most this fraction of the smaller box."""
WITHOUT_POSITION = frozenset({"holding", "held by", "with", "without", "near", "far from"})
"""Relation groups that do not constrain the positions of two boxes: a kite may be far from the hand that holds it."""


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
        return any(attributes.exclude(own, attribute) for own in self.attributes) and not any(
            attributes.may_hold_together(own, attribute) for own in (*self.attributes, *mentioned)
        )

    def matches(self, item: SceneObject, mentioned: Sequence[str] = ()) -> bool:
        """Return True if an object of a statement may be this entity."""
        return self.may_have_name(item.name) and not any(
            self.excludes(text, mentioned) for text in item.attributes
        )


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

    @cached_property
    def _annotated(self) -> Presence:
        return _make_presence(tuple(name for entity in self.entities for name in entity.names))

    @cached_property
    def _named_in_texts(self) -> Presence:
        return _make_presence(tuple(sorted(self.mentioned)))

    def is_absent(self, noun: str) -> bool:
        """Return True if nothing in the image can be the noun, a part of it, or its whole.

        A mentioned noun implies its parts but not its wholes: a mentioned "socket" may belong to a lamp, an eye or a
        tree.
        """
        return not (self._annotated.implies(noun) or self._named_in_texts.includes(noun))

    def excludes_relation(self, subject: Entity, predicate: str, object: Entity) -> bool:
        """Return True if the predicates or the boxes of two entities exclude a relation between them."""
        forward = self.predicates.get((subject.id, object.id), ())
        backward = self.predicates.get((object.id, subject.id), ())
        sense = relations.find_sense(predicate)
        if sense is None:
            verb = relations.verb_lemma(predicate)
            return any(
                verb in relations.contrasting_verbs(relations.verb_lemma(predicate_text))
                for predicate_text in forward
            )
        names = subject.name, object.name
        situations = relations.situations(sense.group, *names)
        constraints = (
            []
            if sense.group in WITHOUT_POSITION
            else list(_box_situations(subject.box, object.box))
        )
        for predicate_text, reverse in (
            *((text, False) for text in forward),
            *((text, True) for text in backward),
        ):
            if sense_of_predicate := relations.find_sense(predicate_text):
                own_situations = relations.situations(
                    sense_of_predicate.group, *names, reverse=reverse
                )
                postures = {
                    relations.find_posture(sense_of_predicate.verb),
                    relations.find_posture(sense.verb),
                } - {None}
                if len(postures) == 2 and not reverse:
                    constraints.append(frozenset())
                elif own_situations <= situations:
                    return False
                constraints.append(own_situations)
        return any(situations.isdisjoint(constraint) for constraint in constraints)

    def constrain(
        self, statement: SceneGraph
    ) -> tuple[dict[str, tuple[str, ...]], list[Constraint]]:
        """Return the ids of the entities that each object of a statement may be, and the constraints of its relations.

        The facts exclude every other reading of the statement.
        """
        domains = {
            item.id: self._find_matches(item.name, item.attributes) for item in statement.objects
        }
        constraints = [
            Constraint(edge.subject, edge.object, partial(self._may_relate, edge.predicate))
            for edge in statement.relations
        ]
        return domains, constraints

    def is_false(self, statement: SceneGraph) -> bool:
        """Return True if the facts exclude every reading of the statement.

        A reading assigns the objects of the statement to different entities. Raises SearchLimitError if there are too
        many partial readings.
        """
        return next(find_assignments(*self.constrain(statement)), None) is None

    @cached_method  # the statements about an image are alike
    def _find_matches(self, name: str, attributes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the ids of the entities that an object of a statement may be."""
        item = SceneObject("", name, attributes)
        mentioned = self.mentioned_attributes
        named = self._find_named(name)
        return tuple(
            entity.id for entity in named if entity.matches(item, mentioned.get(entity.id, ()))
        )

    @cached_method
    def _find_named(self, name: str) -> tuple[Entity, ...]:
        """Return the entities that may have a name."""
        return tuple(entity for entity in self.entities if entity.may_have_name(name))

    @cached_method
    def _may_relate(self, predicate: str, subject: str, object: str) -> bool:
        """Return True if the facts do not exclude a relation between two entities, given by their ids."""
        return not self.excludes_relation(self.by_id[subject], predicate, self.by_id[object])

    def with_caption(self, caption: SceneGraph) -> ImageFacts:
        """Return the facts extended by a true caption.

        An object of the caption that matches no entity becomes a new entity. The attributes and relations of an object
        are added to an entity if it is the same entity in every reading of the caption.
        """
        new_objects = [
            item
            for item in caption.objects
            if not any(entity.matches(item) for entity in self.entities)
        ]
        entities = (
            *self.entities,
            *(Entity(f"caption:{item.id}", (item.name,)) for item in new_objects),
        )
        extended = replace(self, entities=entities)
        try:
            certain = replace(extended, mentioned_attributes={})._find_certain(caption)
        except SearchLimitError:
            return extended
        texts = {
            certain[item.id]: item.attributes for item in caption.objects if item.id in certain
        }
        predicates = dict(self.predicates)
        for edge in caption.relations:
            if edge.subject in certain and edge.object in certain:
                pair = certain[edge.subject], certain[edge.object]
                predicates[pair] = _join_unique(predicates.get(pair, ()), (edge.predicate,))
        entities = tuple(
            replace(entity, attributes=_join_unique(entity.attributes, texts.get(entity.id, ())))
            for entity in entities
        )
        return replace(self, entities=entities, predicates=predicates)

    def _find_certain(self, caption: SceneGraph) -> dict[str, str]:
        """Return the entity of each object of a caption that is the same in every reading, by their ids."""
        domains, constraints = self.constrain(caption)
        reading = next(find_assignments(domains, constraints), None)
        if reading is None:
            return {}
        certain = set(reading)
        for key in reading:
            if key in certain:
                others = tuple(entity for entity in domains[key] if entity != reading[key])
                other = next(find_assignments(domains | {key: others}, constraints), reading)
                certain -= {key for key in certain if other[key] != reading[key]}
        return {key: reading[key] for key in reading if key in certain}

    def with_texts(self, texts: Iterable[SceneGraph]) -> ImageFacts:
        """Return the facts with the objects that texts about the image mention.

        If no entity with that name has a mentioned attribute, the attribute may be true of each of these entities. A
        colour that is annotated in the image is not a noun: parsers read "orange pear" as a pear and an orange.
        """
        colors = {text for entity in self.entities for text in entity.attributes if is_color(text)}
        objects = [item for text in texts for item in text.objects if item.name not in colors]
        objects = [replace(item, name=lemmatise_noun(item.name)) for item in objects]
        mentioned: dict[str, tuple[str, ...]] = {}
        for noun, attribute in dict.fromkeys(
            (item.name, text) for item in objects for text in item.attributes
        ):
            entities = [entity for entity in self.entities if entity.may_have_name(noun)]
            own_attributes = {own for entity in entities for own in entity.attributes}
            if not any(attributes.may_hold_together(own, attribute) for own in own_attributes):
                mentioned |= {
                    entity.id: (*mentioned.get(entity.id, ()), attribute) for entity in entities
                }
        return replace(
            self, mentioned=frozenset(item.name for item in objects), mentioned_attributes=mentioned
        )


_make_presence = lru_cache(maxsize=64)(Presence)
"""The captions of an image share the presence of its names, with its answers."""


def _join_unique(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _box_situations(subject: Box | None, object: Box | None) -> Iterator[frozenset[str]]:
    """Yield the situations of two boxes that do not overlap: side by side, above or below."""
    if subject is None or object is None:
        return
    if subject.x + subject.width <= object.x:
        yield relations.situations("left of") - _find_excluded_heights(subject, object)
    elif object.x + object.width <= subject.x:
        yield relations.situations("right of") - _find_excluded_heights(subject, object)
    elif subject.y + subject.height <= object.y:
        yield relations.situations("above")
    elif object.y + object.height <= subject.y:
        yield relations.situations("below")


def _find_excluded_heights(subject: Box, object: Box) -> frozenset[str]:
    """Return the situations of boxes side by side that their heights exclude.

    The subject is higher if its upper and its lower edge are.
    """
    margin = LEVEL * min(subject.height, object.height)
    top = object.y - subject.y
    bottom = object.y + object.height - subject.y - subject.height
    excluded = set[str]()
    if min(top, bottom) <= margin:
        excluded |= {"high left", "high right"}
    if max(top, bottom) >= -margin:
        excluded |= {"low left", "low right"}
    return frozenset(excluded)


@lru_cache(maxsize=64)
def collect_facts(graph: SceneGraph) -> ImageFacts:
    """Return the facts of an image's whole scene graph, with the annotations of one entity merged.

    The facts keep the words of the annotators. Synonyms, converses and implications are derived when a statement is
    checked.
    """
    merged: list[Entity] = []
    entity_ids: dict[str, str] = {}
    for item in (replace(item, name=lemmatise_noun(item.name)) for item in graph.objects):
        index = next(
            (index for index, entity in enumerate(merged) if _is_same_entity(entity, item)),
            len(merged),
        )
        entity_so_far = merged[index] if index < len(merged) else Entity(item.id, (), (), item.box)
        names = _join_unique(entity_so_far.names, (item.name,))
        texts = _join_unique(entity_so_far.attributes, item.attributes)
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
    return entity.box.intersection_over_union(item.box) >= SAME_ENTITY_IOU and entity.may_have_name(
        item.name
    )
