from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.graphs.walks import (
    COMPLEXITIES,
    is_redundant,
    load_abstract_modifiers,
    random_walk,
    sample_walks,
    select_describable,
)

CUP = SceneObject("1", "cup", ("red", "small"), Box(0, 0, 200, 200))
TABLE = SceneObject("2", "table", ("wooden",), Box(0, 150, 300, 150))
CAT = SceneObject("3", "cat", ("black",), Box(400, 100, 100, 200))
ON = Relation("1", "on", "2")
PAIR = SceneGraph(
    (CUP, TABLE, CAT), (ON, Relation("2", "supporting", "1"), Relation("1", "above", "2"))
)


@st.composite
def graphs(draw: st.DrawFn) -> SceneGraph:
    names = draw(st.lists(st.sampled_from(["cup", "table", "cat", "bus"]), min_size=2, max_size=6))
    adjectives = st.lists(
        st.sampled_from(["red", "blue", "small", "striped"]), max_size=3, unique=True
    )
    objects = tuple(
        SceneObject(
            str(number), name, tuple(draw(adjectives)), Box(50 * number, 10 * number, 60, 60)
        )
        for number, name in enumerate(names)
    )
    ends = st.integers(0, len(names) - 1).map(str)
    edges = st.builds(
        Relation, ends, st.sampled_from(["on", "above", "below", "next to", "left of"]), ends
    )
    return SceneGraph(objects, tuple(draw(st.lists(edges, max_size=12))))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from(COMPLEXITIES), st.integers())
def test_walk_has_exactly_n_atoms_of_the_graph(graph: SceneGraph, size: int, seed: int) -> None:
    described = select_describable(graph, lambda predicate: True)
    subgraph = random_walk(described, size, Random(seed))
    if subgraph is None:
        return
    assert subgraph.complexity == size
    assert set(subgraph.relations) <= set(graph.relations)
    for item in subgraph.objects:
        assert set(item.attributes) <= set(graph.by_id[item.id].attributes)
        assert len(set(item.attributes)) == len(item.attributes)


DESCRIBED = select_describable(PAIR, lambda predicate: True)


def test_walk_that_cannot_reach_n_is_discarded_and_walks_have_no_converse_or_implied_relations() -> (
    None
):
    # Cup, red, small, table, wooden, on: six atoms. Cat and black: two atoms. Converses are not added.
    assert PAIR.complexity == 10
    assert all(random_walk(DESCRIBED, 8, Random(seed)) is not None for seed in range(20))
    assert all(random_walk(DESCRIBED, 9, Random(seed)) is None for seed in range(20))
    walks = filter(None, (random_walk(DESCRIBED, 6, Random(seed)) for seed in range(20)))
    assert {len(walk.relations) for walk in walks} == {1}


def test_second_relation_of_a_pair_is_not_implied() -> None:
    both = SceneGraph((CUP, TABLE), (ON, Relation("1", "in front of", "2")))
    subgraph = random_walk(both, 7, Random(0))
    assert subgraph is not None
    assert {edge.predicate for edge in subgraph.relations} == {"on", "in front of"}


def test_walk_jumps_only_when_its_component_is_exhausted() -> None:
    subgraphs = [random_walk(DESCRIBED, 7, Random(seed)) for seed in range(20)]
    orders = {tuple(item.id for item in graph.objects) for graph in subgraphs if graph is not None}
    # The component of cup and table has six atoms, and the component of the cat has two.
    assert orders == {("1", "2", "3"), ("2", "1", "3"), ("3", "1", "2"), ("3", "2", "1")}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("red",), ("blue",), False),
        (("red",), ("red",), True),
        ((), (), True),  # a lamb and a lamb
        (("red",), (), True),
        (("red", "small"), ("red", "large"), False),
    ],
)
def test_redundant(first: tuple[str, ...], second: tuple[str, ...], expected: bool) -> None:
    graph = SceneGraph(
        (SceneObject("1", "lamb", first), SceneObject("2", "lamb", second), SceneObject("3", "dog"))
    )
    assert is_redundant(graph) is expected


HERE, NEAR, THERE = Box(0, 0, 100, 100), Box(0, 0, 100, 90), Box(300, 0, 100, 100)


@pytest.mark.parametrize(
    ("first", "second", "box", "expected"),
    [
        (["car", ("white",)], ["car", ("parked",)], NEAR, True),  # intersection over union 0.9
        (["hair", ()], ["black hair", ()], THERE, True),
        (["chair", ()], ["chairs", ()], THERE, True),
        (["man", ("tall",)], ["guy", ("old",)], HERE, True),
        (["man", ("tall",)], ["guy", ("old",)], THERE, False),
        (["wooden desk", ()], ["white desk", ()], THERE, False),
        (["street", ()], ["street light", ()], HERE, False),
    ],
)
def test_objects_annotated_twice_or_with_related_names_are_redundant(
    first, second, box, expected
) -> None:
    graph = SceneGraph((SceneObject("1", *first, HERE), SceneObject("2", *second, box)))
    assert is_redundant(graph) is expected


@pytest.mark.parametrize(
    ("adjectives", "predicate", "complexity"),
    [
        (("grey", "gray"), "on", 4),  # grey car, road, on
        (("parked",), "parked on", 3),  # a parked car, or a car parked on a road
        (("brick", "made of bricks"), "on", 4),
        (("grey", "small"), "on", 5),
    ],
)
def test_attribute_restates_neither_relation_nor_attribute(
    adjectives: tuple[str, ...], predicate: str, complexity: int
) -> None:
    car, road = (
        SceneObject("1", "car", adjectives, Box(0, 0, 9, 9)),
        SceneObject("2", "road", (), Box(0, 5, 9, 9)),
    )
    graph = select_describable(
        SceneGraph((car, road), (Relation("1", predicate, "2"),)), lambda text: True
    )
    assert graph.complexity == 3 + len(adjectives)
    assert all(random_walk(graph, complexity + 1, Random(seed)) is None for seed in range(20))
    assert any(random_walk(graph, complexity, Random(seed)) is not None for seed in range(20))


@pytest.mark.parametrize("name", ["pluged", "color", "colour", "multiple outlet", "area"])
def test_invisible_objects_are_omitted(name: str) -> None:
    assert not select_describable(
        SceneGraph((SceneObject("1", name, (), Box(0, 0, 9, 9)),)), lambda text: True
    ).objects


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        *((text, True) for text in ("red", "wood", "parked", "made of bricks", "snow covered")),
        *((text, False) for text in ("tennis", "multi-line phone", "cream colour", "woods")),
    ],
)
def test_attributes_that_do_not_describe_objects_are_omitted(text: str, is_kept: bool) -> None:
    cup = SceneObject("1", "cup", (text,), Box(0, 0, 9, 9))
    (item,) = select_describable(SceneGraph((cup,)), lambda predicate: True).objects
    assert item.attributes == ((text,) if is_kept else ())


def test_select_describable_omits_nodes_that_captions_cannot_express() -> None:
    lampposts = SceneObject(
        "1", "lamppost", ("many", "tall", "tall", 'lit "walk"'), Box(0, 0, 9, 9)
    )
    unseen = SceneObject("2", "dog", (), None)
    coded = SceneObject("3", "no. 7", (), Box(0, 0, 9, 9))
    street = SceneObject("4", "street", (), Box(0, 0, 9, 9))
    along = Relation("1", "along", "4")
    edges = (
        along,
        along,
        Relation("1", "have been", "4"),
        Relation("1", "on", "1"),
        Relation("2", "on", "4"),
    )
    selected = select_describable(
        SceneGraph((lampposts, unseen, coded, street), edges), lambda text: text != "have been"
    )
    assert [item.id for item in selected.objects] == ["1", "4"]
    assert selected.by_id["1"].attributes == ("tall",)
    assert selected.relations == (along,)
    assert {"many", "several", "another"} <= load_abstract_modifiers()


def _sample_walks(key: str, dropped: Counter[str], fault: str | None = None) -> list:
    draws = {"visible": 0.5, "attempts": 30, "limit": 3, "dropped": dropped}
    return list(sample_walks(DESCRIBED, 4, key=key, fault=lambda walk: fault, **draws))


def test_crops_of_an_image_differ_and_failed_attempts_are_counted() -> None:
    dropped: Counter[str] = Counter()
    walks = _sample_walks("a", dropped)
    assert all(
        one.box.intersection_over_union(other.box) < 0.75
        for one in walks
        for other in walks
        if one != other
    )
    assert dropped["crop overlaps an earlier one"] > 0
    assert _sample_walks("a", dropped, fault="too small") == []
    assert dropped["too small"] > 0
    # The union of cup (0, 0, 200, 200) and table (0, 150, 300, 150).
    assert Box(0, 0, 300, 300) in [walk.box for walk in walks if "3" not in walk.graph.by_id]


def test_walks_depend_only_on_their_key() -> None:
    assert _sample_walks("a", Counter()) == _sample_walks("a", Counter())
    assert len({str(_sample_walks(key, Counter())) for key in "abcdef"}) > 1
