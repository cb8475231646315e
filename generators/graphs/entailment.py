"""Proofs that a statement about an image is false, for a graph with swapped words or with one negated atom.

A graph states that objects with these names, attributes and relations exist. A reading assigns its objects to the
image's objects such that the image's facts do not exclude it (facts.py). A statement without a reading is false. A
negation is false if the facts assert the negated atom in every reading.
Difference from the paper (CREPE, arXiv:2212.07796, A.4): the paper's checks assume that the scene graph is complete, so
that a cup without the annotation "red" counts as not red. The proofs here do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Literal, NamedTuple

from compeval.base.schemas.scene_graph import AtomKey, Relation, SceneGraph
from compeval.generators.graphs.assignments import Constraint, find_assignments
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.language.lexicon import relations

NegationKind = Literal["object", "attribute", "relation"]


class Negated(NamedTuple):
    """An atom that a statement negates.

    ``object`` is the id of the object, of the attribute's object, or of the relation's subject.
    """

    kind: NegationKind
    object: str
    text: str
    relation: Relation | None = None

    @property
    def atom_key(self) -> AtomKey:
        """Equal to the key of the atom's mentions."""
        return self.kind, self.text, self.object, self.relation and self.relation.object

    def remove_from(self, graph: SceneGraph) -> SceneGraph:
        """Return the graph without the negated atom, and without the relations of a negated object."""
        objects = graph.objects
        edges = graph.relations
        if self.kind == "relation":
            return SceneGraph(objects, tuple(edge for edge in edges if edge != self.relation))
        if self.kind == "object":
            edges = tuple(edge for edge in edges if self.object not in (edge.subject, edge.object))
            return SceneGraph(tuple(item for item in objects if item.id != self.object), edges)
        attributes = tuple(
            text for text in graph.by_id[self.object].attributes if text != self.text
        )
        changed = (
            replace(item, attributes=attributes) if item.id == self.object else item
            for item in objects
        )
        return SceneGraph(tuple(changed), edges)


def remove_atoms(graph: SceneGraph, negated: Iterable[Negated]) -> SceneGraph:
    """Return the graph without the negated atoms, and without the relations of negated objects."""
    return reduce(lambda rest, atom: atom.remove_from(rest), negated, graph)


def find_counterpart(negated: Negated, graph: SceneGraph, edited: SceneGraph) -> Negated:
    """Return the atom of ``edited`` at the position of the negated atom in ``graph``."""
    if negated.relation is not None:
        edge = edited.relations[graph.relations.index(negated.relation)]
        return Negated("relation", edge.subject, edge.predicate, edge)
    item = edited.by_id[negated.object]
    if negated.kind == "object":
        return negated._replace(text=item.name)
    return negated._replace(
        text=item.attributes[graph.by_id[negated.object].attributes.index(negated.text)]
    )


def entails(relations: Iterable[Relation], conclusion: Relation) -> bool:
    """Return True if a known relation entails the conclusion ("on" entails "above", and "below" in reverse)."""
    return any(_entails(edge, conclusion) for edge in relations)


def _entails(edge: Relation, conclusion: Relation) -> bool:
    reverse = (edge.subject, edge.object) == (conclusion.object, conclusion.subject)
    if not reverse and (edge.subject, edge.object) != (conclusion.subject, conclusion.object):
        return False
    premise_sense = relations.find_sense(edge.predicate)
    conclusion_sense = relations.find_sense(conclusion.predicate)
    if premise_sense is None or conclusion_sense is None:
        return not reverse and _lemmatise_verb(edge.predicate) == _lemmatise_verb(
            conclusion.predicate
        )
    return relations.situations(premise_sense.group, reverse=reverse) <= relations.situations(
        conclusion_sense.group
    )


def _lemmatise_verb(predicate: str) -> str:
    """Return the predicate with its verb as a lemma, so that "flying over" and "fly over" are equal."""
    first, *rest = predicate.split()
    return " ".join((relations.verb_lemma(first), *rest))


def proves_false(image: ImageFacts, graph: SceneGraph, negated: Negated) -> bool:
    """Return True if ``graph`` with one atom negated is false: the image has that atom in every reading of the rest.

    A negated object must be present in the image, with its attributes and relations, in addition to the objects of the
    reading. Raises SearchLimitError if there are too many partial readings.
    """
    return next(_find_counterexamples(image, graph, negated), None) is None


def _find_counterexamples(
    image: ImageFacts, graph: SceneGraph, negated: Negated
) -> Iterator[Mapping[str, str]]:
    """Yield the readings of the rest in which the facts do not assert the negated atom."""
    domains, constraints = image.constrain(negated.remove_from(graph))
    if negated.kind == "attribute":
        lacking = (
            key
            for key in domains[negated.object]
            if negated.text not in image.by_id[key].attributes
        )
        domains[negated.object] = tuple(lacking)
    elif (edge := negated.relation) is not None:
        is_unknown = partial(_is_not_asserted, image, edge.predicate)
        constraints = [*constraints, Constraint(edge.subject, edge.object, is_unknown)]
    else:
        item = graph.by_id[negated.object]
        alike = [
            entity.id
            for entity in image.entities
            if item.name in entity.names and set(item.attributes) <= set(entity.attributes)
        ]
        edges = [edge for edge in graph.relations if item.id in (edge.subject, edge.object)]
        if len(alike) > len(domains) and not edges:
            return iter(())  # every reading leaves one of them over
        readings = find_assignments(domains, constraints)
        return (
            reading
            for reading in readings
            if not _has_another(image, item.id, alike, edges, reading)
        )
    return find_assignments(domains, constraints)


def _has_another(
    image: ImageFacts,
    key: str,
    alike: Iterable[str],
    edges: Iterable[Relation],
    reading: Mapping[str, str],
) -> bool:
    """Return True if the facts assert the relations of an object for one of the entities outside of a reading."""
    used = set(reading.values())
    return any(
        not any(
            _is_not_asserted(image, edge.predicate, ids[edge.subject], ids[edge.object])
            for edge in edges
        )
        for ids in ({**reading, key: entity} for entity in alike if entity not in used)
    )


def _is_not_asserted(image: ImageFacts, predicate: str, subject: str, target: str) -> bool:
    """Return True if no relation of two entities, given by their ids, entails the predicate."""
    asserted = [
        Relation(start, asserted_predicate, end)
        for start, end in ((subject, target), (target, subject))
        for asserted_predicate in image.predicates.get((start, end), ())
    ]
    return not entails(asserted, Relation(subject, predicate, target))
