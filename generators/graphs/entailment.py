"""Proofs that a statement about an image is false: a graph with exchanged words, or a graph with one atom denied.

A graph is read as "there are such objects, so related". facts.py lists the readings that an image's facts do not
exclude. A statement without a reading is false, and a denial is false if the facts assert the denied atom in every
reading. This is stricter than CREPE's checks (arXiv:2212.07796, A.4), which assume that the graph is complete: there a
cup that nobody annotated as red counts as not red.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from generators.graphs.facts import Entity, ImageFacts
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Relation, SceneGraph

NegationKind = Literal["object", "attribute", "relation"]


class Negated(NamedTuple):
    """The one atom that a statement denies: an object by id, an attribute by object id and text, or a relation."""

    kind: NegationKind
    object: str
    text: str
    relation: Relation | None = None

    def rest(self, graph: SceneGraph) -> SceneGraph:
        """The graph that is still asserted: without the denied atom, and without the relations of a denied object."""
        objects, edges = graph.objects, graph.relations
        if self.kind == "relation":
            return SceneGraph(objects, tuple(edge for edge in edges if edge != self.relation))
        if self.kind == "object":
            edges = tuple(edge for edge in edges if self.object not in (edge.subject, edge.object))
            return SceneGraph(tuple(item for item in objects if item.id != self.object), edges)
        attributes = tuple(text for text in graph.by_id[self.object].attributes if text != self.text)
        changed = (replace(item, attributes=attributes) if item.id == self.object else item for item in objects)
        return SceneGraph(tuple(changed), edges)


def counterpart(negated: Negated, graph: SceneGraph, edited: SceneGraph) -> Negated:
    """The atom of ``edited`` in the place of the denied atom of ``graph``."""
    if negated.relation is not None:
        edge = edited.relations[graph.relations.index(negated.relation)]
        return Negated("relation", edge.subject, edge.predicate, edge)
    item = edited.by_id[negated.object]
    if negated.kind == "object":
        return negated._replace(text=item.name)
    return negated._replace(text=item.attributes[graph.by_id[negated.object].attributes.index(negated.text)])


def entails(known: Iterable[Relation], conclusion: Relation) -> bool:
    """Whether one known relation states at least the conclusion: "on" entails "above", and "below" in reverse."""
    return any(_entails(edge, conclusion) for edge in known)


def _entails(edge: Relation, conclusion: Relation) -> bool:
    reverse = (edge.subject, edge.object) == (conclusion.object, conclusion.subject)
    if not reverse and (edge.subject, edge.object) != (conclusion.subject, conclusion.object):
        return False
    premise, concluded = relations.sense(edge.predicate), relations.sense(conclusion.predicate)
    if premise is None or concluded is None:
        return not reverse and _lemmatized(edge.predicate) == _lemmatized(conclusion.predicate)
    return relations.situations(premise.group, reverse=reverse) <= relations.situations(concluded.group)


def _lemmatized(predicate: str) -> str:
    """The predicate with its verb as a lemma: "flying over" and "fly over" are equal."""
    first, *rest = predicate.split()
    return " ".join((relations.verb_lemma(first), *rest))


def proves_false(image: ImageFacts, graph: SceneGraph, negated: Negated) -> bool:
    """Whether ``graph`` with one atom denied is false: every reading of the rest has that atom.

    A denied object must be present, with its attributes and relations, in addition to the objects of each reading.
    """
    return all(_has(image, graph, negated, reading) for reading in image.readings(negated.rest(graph)))


def _has(image: ImageFacts, graph: SceneGraph, negated: Negated, reading: Mapping[str, Entity]) -> bool:
    if negated.kind == "attribute":
        return negated.text in reading[negated.object].attributes
    if negated.relation is not None:
        return _asserts(image, negated.relation, reading)
    item = graph.by_id[negated.object]
    edges = [edge for edge in graph.relations if item.id in (edge.subject, edge.object)]
    return any(
        item.name in entity.names
        and set(item.attributes) <= set(entity.attributes)
        and all(_asserts(image, edge, {**reading, item.id: entity}) for edge in edges)
        for entity in image.entities
        if entity not in reading.values()
    )


def _asserts(image: ImageFacts, edge: Relation, reading: Mapping[str, Entity]) -> bool:
    subject, target = reading[edge.subject].id, reading[edge.object].id
    known = [
        Relation(one, predicate, other)
        for one, other in ((subject, target), (target, subject))
        for predicate in image.predicates.get((one, other), ())
    ]
    return entails(known, Relation(subject, edge.predicate, target))
