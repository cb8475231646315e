"""Which statements about an image its scene graph proves false: a graph with words exchanged, or with one atom denied.

A graph is read as "there are such objects, so related". generators/graphs/facts.py finds the readings that an image's
graph
leaves open; a statement without one is false, and so is a denial if in all of them the graph says what it denies. This
is stricter than CREPE's checks (arXiv:2212.07796, A.4), which take the graph for complete: there a cup that nobody
called red counts as not red.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from generators.graphs.facts import Facts, Thing
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

NegationKind = Literal["object", "attribute", "relation"]


class Negated(NamedTuple):
    """The one atom that a statement denies: an object by id, an attribute by object id and text, or a relation."""

    kind: NegationKind
    object: str
    text: str
    relation: Relation | None = None

    def rest(self, graph: SceneGraph) -> SceneGraph:
        """What the statement still asserts: the graph without the denied atom (and what hangs on a denied object)."""
        match self.kind:
            case "attribute":
                objects = tuple(
                    SceneObject(
                        item.id, item.name, tuple(text for text in item.attributes if text != self.text), item.box
                    )
                    if item.id == self.object
                    else item
                    for item in graph.objects
                )
                return SceneGraph(objects, graph.relations)
            case "relation":
                return SceneGraph(graph.objects, tuple(edge for edge in graph.relations if edge != self.relation))
            case "object":
                return SceneGraph(
                    tuple(item for item in graph.objects if item.id != self.object),
                    tuple(edge for edge in graph.relations if self.object not in (edge.subject, edge.object)),
                )


def counterpart(negated: Negated, graph: SceneGraph, edited: SceneGraph) -> Negated:
    """The atom that stands in ``edited`` where the denied one stands in ``graph``."""
    match negated.kind:
        case "object":
            return negated._replace(text=edited.by_id[negated.object].name)
        case "attribute":
            place = graph.by_id[negated.object].attributes.index(negated.text)
            return negated._replace(text=edited.by_id[negated.object].attributes[place])
        case "relation":
            assert negated.relation is not None
            edge = edited.relations[graph.relations.index(negated.relation)]
            return Negated("relation", edge.subject, edge.predicate, edge)


def entails(known: Iterable[Relation], claim: Relation) -> bool:
    """Whether one of the known relations says the same as the claim or more: "on" entails "above", and "below" back."""
    return any(_entails(edge, claim) for edge in known)


def _entails(edge: Relation, claim: Relation) -> bool:
    reverse = (edge.subject, edge.object) == (claim.object, claim.subject)
    if not reverse and (edge.subject, edge.object) != (claim.subject, claim.object):
        return False
    said, claimed = relations.sense(edge.predicate), relations.sense(claim.predicate)
    if said is None or claimed is None:
        return not reverse and _lemmas(edge.predicate) == _lemmas(claim.predicate)
    return relations.situations(said.group, reverse=reverse) <= relations.situations(claimed.group)


def _lemmas(predicate: str) -> str:
    """The predicate with its verb as a lemma: "flying over" and "fly over" are one."""
    first, *rest = predicate.split()
    return " ".join((relations.verb_lemma(first), *rest))


def proves_false(image: Facts, graph: SceneGraph, negated: Negated) -> bool:
    """Whether ``graph`` with one atom denied is false: all readings of the rest have that atom.

    A denied object must be there, with its attributes and relations, beside the objects of each reading.
    """
    rest = negated.rest(graph)
    return all(_has(image, graph, negated, found) for found in image.readings(rest))


def _has(image: Facts, graph: SceneGraph, negated: Negated, found: Mapping[str, Thing]) -> bool:
    if negated.kind == "attribute":
        return negated.text in found[negated.object].attributes
    if negated.relation is not None:
        return _says(image, negated.relation, found)
    item = graph.by_id[negated.object]
    edges = [edge for edge in graph.relations if item.id in (edge.subject, edge.object)]
    return any(
        item.name in thing.names
        and set(item.attributes) <= set(thing.attributes)
        and all(_says(image, edge, {**found, item.id: thing}) for edge in edges)
        for thing in image.things
        if thing not in found.values()
    )


def _says(image: Facts, edge: Relation, found: Mapping[str, Thing]) -> bool:
    subject, target = found[edge.subject].id, found[edge.object].id
    stated = [
        Relation(one, predicate, other)
        for one, other in ((subject, target), (target, subject))
        for predicate in image.stated.get((one, other), ())
    ]
    return entails(stated, Relation(subject, edge.predicate, target))
