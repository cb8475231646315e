"""The alignment of a caption's objects with those of its graph, compared with a search over all permutations."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.captioner.faithfulness import _align_objects, _imply, _may_be_same_object, is_elliptical
from generators.schemas.scene_graph import Relation, SceneGraph
from tests.generators.graphs.test_proofs import scenes


def align_by_permutations(stated: SceneGraph, graph: SceneGraph) -> list[dict[str, str]]:
    """Return all alignments."""
    alignments = []
    for order in permutations(graph.objects) if len(stated.objects) == len(graph.objects) else ():
        pairs = list(zip(stated.objects, order, strict=True))
        ids = {first.id: second.id for first, second in pairs}
        edges = [Relation(ids[edge.subject], edge.predicate, ids[edge.object]) for edge in stated.relations]
        required = [edge for edge in edges if edge.predicate != "with"]
        if (
            all(_may_be_same_object(*pair) for pair in pairs)
            and _imply(graph.relations, required)
            and _imply(edges, graph.relations)
        ):
            alignments.append(ids)
    return alignments


@given(scenes(), st.permutations(range(4)), st.sampled_from(["with", "on", "below"]))
def test_objects_are_aligned_if_one_permutation_aligns_them(graph: SceneGraph, order: list[int], text: str) -> None:
    objects = [graph.objects[index] for index in order if index < len(graph.objects)]
    edges = (replace(edge, predicate=text) if index else edge for index, edge in enumerate(graph.relations))
    stated = SceneGraph(tuple(objects), tuple(edges))
    alignments = align_by_permutations(stated, graph)
    aligned = _align_objects(stated, graph)
    assert aligned in alignments if alignments else aligned is None


@given(scenes(), scenes())
def test_different_graphs_are_not_aligned(stated: SceneGraph, graph: SceneGraph) -> None:
    assert (_align_objects(stated, graph) is None) == (not align_by_permutations(stated, graph))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a pear is right of the cactus too, and the pear is next to the basket", True),
        ("a sock is to the left of a suitcase, and so is a boy", True),
        ("the woman is left of the cup, and the cake is left of the cup as well", True),
        ("a boy and a clock are each to the left of a suitcase", True),
        ("a boy as well as a clock. the two are next to each other", False),
        ("there is also a purple sock, so the boy is tall", False),
    ],
)
def test_elliptical_captions(text: str, expected: bool) -> None:
    assert is_elliptical(text) == expected
