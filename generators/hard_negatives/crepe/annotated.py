"""Check hard negatives against the scene graph of an image, as in CREPE's appendix A.4 (``rules: paper``).

Source: CREPE (arXiv:2212.07796), appendix A.4. A swap is a hard negative if the graph G of the image does not have what
it states. A negation is one unless another object or pair of G could be meant. Both take the graph for complete; our
own rules prove that a statement is false (graphs/entailment.py, graphs/facts.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compeval.base.schemas.scene_graph import SceneGraph, SceneObject
from compeval.generators.graphs.entailment import Negated


def is_new(edited: SceneGraph, graph: SceneGraph, image: SceneGraph) -> bool:
    """Return True if a swap in a subgraph ``graph`` of ``image`` states something that the image's graph does not have.

    No moved attribute is one of its new object's in the image's graph; of swapped objects or relations, one compound
    must be new.
    """
    if [item.name for item in edited.objects] == [item.name for item in graph.objects] and (
        edited.relations == graph.relations
    ):
        moved = [
            text in image.by_id[item.id].attributes
            for item in edited.objects
            for text in Counter(item.attributes) - Counter(graph.by_id[item.id].attributes)
        ]
        return bool(moved) and not any(moved)
    return any(
        compound not in image.compounds for compound in set(edited.compounds) - set(graph.compounds)
    )


def may_be_negated(negated: Negated, graph: SceneGraph, image: SceneGraph) -> bool:
    """Return True if no other object or pair of the image's graph makes the negation true (A.4)."""
    if (edge := negated.relation) is not None:
        names = image.by_id[edge.subject].name, image.by_id[edge.object].name
        return not any(
            (image.by_id[other.subject].name, image.by_id[other.object].name) == names
            and (other.subject, other.object) != (edge.subject, edge.object)
            and other.predicate != edge.predicate
            for other in image.relations
        )
    item = graph.by_id[negated.object]
    attributes = set(item.attributes) - {negated.text}
    relations = set(_describe_relations(item, graph))
    return not any(
        other.id != item.id
        and other.name == item.name
        and attributes <= set(other.attributes)
        and relations <= set(_describe_relations(other, image))
        and (negated.kind == "object" or negated.text not in other.attributes)
        for other in image.objects
    )


def _describe_relations(item: SceneObject, graph: SceneGraph) -> Iterator[tuple[str, str, bool]]:
    """Yield the relations of an object: the predicate, the name of the other end, and whether it is the subject."""
    for edge in graph.relations:
        if item.id == edge.subject:
            yield edge.predicate, graph.by_id[edge.object].name, True
        if item.id == edge.object:
            yield edge.predicate, graph.by_id[edge.subject].name, False
