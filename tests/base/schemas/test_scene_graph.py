from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

# tall and blue boy on green grass: 2 objects + 3 attributes + 1 relation = 6 atoms, 3 ao + 1 oro = 4 compounds
BOY = SceneGraph(
    (
        SceneObject("a", "boy", ("tall", "blue")),
        SceneObject("b", "grass", ("green",), Box(0, 1, 2, 3)),
    ),
    (Relation("a", "on", "b"),),
)


def test_atoms_and_compounds_of_the_papers_example():
    assert BOY.complexity == 6
    kinds = {
        "boy": "object",
        "tall": "attribute",
        "blue": "attribute",
        "grass": "object",
        "green": "attribute",
    }
    assert BOY.atoms == (*((kind, text) for text, kind in kinds.items()), ("relation", "on"))
    pairs = [("boy", "tall"), ("boy", "blue"), ("grass", "green")]
    assert BOY.compounds == (
        *(("ao", noun, None, text) for noun, text in pairs),
        ("oro", "boy", "on", "grass"),
    )
    assert SceneGraph.from_row(BOY.to_row()) == BOY


def test_signature_ignores_ids_and_order_but_not_direction():
    renamed = SceneGraph(
        (SceneObject("y", "grass", ("green",)), SceneObject("x", "boy", ("blue", "tall"))),
        (Relation("x", "on", "y"),),
    )
    reversed_graph = SceneGraph(BOY.objects, (Relation("b", "on", "a"),))
    assert renamed.signature == BOY.signature
    assert reversed_graph.signature != BOY.signature


def test_union_and_overlap():
    # [0,4]x[0,2] and [2,6]x[1,3]: shared 2x1 = 2, joint 8 + 8 - 2 = 14
    first, second = Box(0, 0, 4, 2), Box(2, 1, 4, 2)
    assert first.union(second) == Box(0, 0, 6, 3)
    assert first.intersection_over_union(second) == 2 / 14
    assert first.intersection_over_union(Box(10, 10, 1, 1)) == 0
    assert Box(0, 0, 0, 0).intersection_over_union(Box(0, 0, 0, 0)) == 0


side = st.integers(0, 50)
boxes = st.builds(Box, side, side, st.integers(1, 50), st.integers(1, 50))


@given(boxes, boxes)
def test_overlap_is_symmetric_and_union_contains_both(first: Box, second: Box):
    assert first.intersection_over_union(second) == second.intersection_over_union(first)
    assert first.intersection_over_union(first) == 1
    joint = first.union(second)
    assert joint == second.union(first)
    assert joint.union(first) == joint
