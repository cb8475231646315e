from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.graphs.walks import COMPLEXITIES, abstract_modifiers, describable, redundant, walk, walks
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

CUP = SceneObject("1", "cup", ("red", "small"), Box(0, 0, 200, 200))
TABLE = SceneObject("2", "table", ("wooden",), Box(0, 150, 300, 150))
CAT = SceneObject("3", "cat", ("black",), Box(400, 100, 100, 200))
ON = Relation("1", "on", "2")
PAIR = SceneGraph((CUP, TABLE, CAT), (ON, Relation("2", "supporting", "1"), Relation("1", "above", "2")))


@st.composite
def graphs(draw: st.DrawFn) -> SceneGraph:
    names = draw(st.lists(st.sampled_from(["cup", "table", "cat", "bus"]), min_size=2, max_size=6))
    looks = st.lists(st.sampled_from(["red", "blue", "small", "striped"]), max_size=3, unique=True)
    objects = tuple(
        SceneObject(str(at), name, tuple(draw(looks)), Box(50 * at, 10 * at, 60, 60)) for at, name in enumerate(names)
    )
    ends = st.integers(0, len(names) - 1).map(str)
    edges = st.builds(Relation, ends, st.sampled_from(["on", "above", "below", "next to", "left of"]), ends)
    return SceneGraph(objects, tuple(draw(st.lists(edges, max_size=12))))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from(COMPLEXITIES), st.integers())
def test_walk_has_exactly_n_atoms_of_the_graph(graph: SceneGraph, size: int, seed: int) -> None:
    described = describable(graph, lambda predicate: True)
    found = walk(described, size, Random(seed))
    if found is None:
        return
    assert found.complexity == size
    assert set(found.relations) <= set(graph.relations)
    for item in found.objects:
        assert set(item.attributes) <= set(graph.by_id[item.id].attributes)
        assert len(set(item.attributes)) == len(item.attributes)


def test_walk_that_cannot_reach_n_is_discarded() -> None:
    # cup, red, small, table, wooden, on: six atoms, one more for the cat and its black; the converses add nothing.
    assert PAIR.complexity == 10
    described = describable(PAIR, lambda predicate: True)
    assert all(walk(described, 8, Random(seed)) is not None for seed in range(20))
    assert all(walk(described, 9, Random(seed)) is None for seed in range(20))


def test_a_fact_is_not_restated_by_its_converse_or_by_what_follows_from_it() -> None:
    described = describable(PAIR, lambda predicate: True)
    assert all(len(found.relations) == 1 for seed in range(20) if (found := walk(described, 6, Random(seed))))


def test_a_second_relation_of_a_pair_says_something_new() -> None:
    both = SceneGraph((CUP, TABLE), (ON, Relation("1", "in front of", "2")))
    found = walk(both, 7, Random(0))
    assert found is not None
    assert {edge.predicate for edge in found.relations} == {"on", "in front of"}


def test_walk_jumps_only_when_its_component_is_exhausted() -> None:
    described = describable(PAIR, lambda predicate: True)
    found = [walk(described, 7, Random(seed)) for seed in range(20)]
    orders = {tuple(item.id for item in graph.objects) for graph in found if graph is not None}
    # Cup and table with what belongs to them are six atoms, the cat and its black two.
    assert orders == {("1", "2", "3"), ("2", "1", "3"), ("3", "1", "2"), ("3", "2", "1")}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("red",), ("blue",), False),
        (("red",), ("red",), True),
        ((), (), True),  # a lamb and a lamb
        (("red",), (), True),
        (("red", "small"), ("red", "large"), False),
    ],
)
def test_redundant(one: tuple[str, ...], other: tuple[str, ...], expected: bool) -> None:
    graph = SceneGraph((SceneObject("1", "lamb", one), SceneObject("2", "lamb", other), SceneObject("3", "dog")))
    assert redundant(graph) is expected


def test_one_thing_annotated_twice_is_redundant() -> None:
    white = SceneObject("1", "car", ("white",), Box(0, 0, 100, 100))
    parked = SceneObject("2", "car", ("parked",), Box(0, 0, 100, 90))  # intersection over union 0.9
    assert redundant(SceneGraph((white, parked)))


def test_kindred_names_repeat_each_other() -> None:
    here, there = Box(0, 0, 100, 100), Box(300, 0, 100, 100)

    def both(one: SceneObject, other: SceneObject) -> bool:
        return redundant(SceneGraph((one, other)))

    assert both(SceneObject("1", "hair", (), here), SceneObject("2", "black hair", (), there))
    assert both(SceneObject("1", "chair", (), here), SceneObject("2", "chairs", (), there))
    assert both(SceneObject("1", "man", ("tall",), here), SceneObject("2", "guy", ("old",), here))
    assert not both(SceneObject("1", "man", ("tall",), here), SceneObject("2", "guy", ("old",), there))
    assert not both(SceneObject("1", "wooden desk", (), here), SceneObject("2", "white desk", (), there))
    assert not both(SceneObject("1", "street", (), here), SceneObject("2", "street light", (), here))


@pytest.mark.parametrize(
    ("looks", "predicate", "complexity"),
    [
        (("grey", "gray"), "on", 4),  # grey car, road, on
        (("parked",), "parked on", 3),  # a parked car, or a car parked on a road
        (("brick", "made of bricks"), "on", 4),
        (("grey", "small"), "on", 5),
    ],
)
def test_an_attribute_restates_nothing(looks: tuple[str, ...], predicate: str, complexity: int) -> None:
    car, road = SceneObject("1", "car", looks, Box(0, 0, 9, 9)), SceneObject("2", "road", (), Box(0, 5, 9, 9))
    graph = describable(SceneGraph((car, road), (Relation("1", predicate, "2"),)), lambda text: True)
    assert graph.complexity == 3 + len(looks)
    assert all(walk(graph, complexity + 1, Random(seed)) is None for seed in range(20))
    assert any(walk(graph, complexity, Random(seed)) is not None for seed in range(20))


@pytest.mark.parametrize("name", ["pluged", "color", "colour", "multiple outlet", "area"])
def test_what_is_no_thing_to_see_is_left_out(name: str) -> None:
    assert not describable(SceneGraph((SceneObject("1", name, (), Box(0, 0, 9, 9)),)), lambda text: True).objects


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("red", True),
        ("wood", True),
        ("parked", True),
        ("made of bricks", True),
        ("snow covered", True),
        ("tennis", False),
        ("multi-line phone", False),
        ("cream colour", False),
        ("woods", False),
    ],
)
def test_an_attribute_can_be_said_of_a_thing(text: str, kept: bool) -> None:
    thing = SceneObject("1", "cup", (text,), Box(0, 0, 9, 9))
    (found,) = describable(SceneGraph((thing,)), lambda predicate: True).objects
    assert found.attributes == ((text,) if kept else ())


def test_describable_leaves_out_what_no_caption_can_say() -> None:
    lampposts = SceneObject("1", "lamppost", ("many", "tall", "tall", 'lit "walk"'), Box(0, 0, 9, 9))
    unseen = SceneObject("2", "dog", (), None)
    coded = SceneObject("3", "no. 7", (), Box(0, 0, 9, 9))
    street = SceneObject("4", "street", (), Box(0, 0, 9, 9))
    along = Relation("1", "along", "4")
    edges = (along, along, Relation("1", "have been", "4"), Relation("1", "on", "1"), Relation("2", "on", "4"))
    found = describable(SceneGraph((lampposts, unseen, coded, street), edges), lambda text: text != "have been")
    assert [item.id for item in found.objects] == ["1", "4"]
    assert found.by_id["1"].attributes == ("tall",)
    assert found.relations == (along,)
    assert {"many", "several", "another"} <= abstract_modifiers()


def _walks(graph: SceneGraph, key: str, dropped: Counter[str], limit: int = 3, fault: str | None = None) -> list:
    found = walks(graph, 4, key=key, visible=0.5, attempts=30, limit=limit, fault=lambda box: fault, dropped=dropped)
    return list(found)


def test_crops_of_an_image_differ_and_drops_are_counted() -> None:
    described = describable(PAIR, lambda predicate: True)
    dropped: Counter[str] = Counter()
    found = _walks(described, "a", dropped)
    assert all(one.box.intersection_over_union(other.box) < 0.75 for one in found for other in found if one != other)
    assert dropped["crop overlaps an earlier one"] > 0
    assert _walks(described, "a", dropped, fault="too small") == []
    assert dropped["too small"] > 0
    # The union of cup (0, 0, 200, 200) and table (0, 150, 300, 150).
    assert Box(0, 0, 300, 300) in [walk.box for walk in found if "3" not in walk.graph.by_id]


def test_walks_depend_on_their_key_alone() -> None:
    described = describable(PAIR, lambda predicate: True)
    assert _walks(described, "a", Counter()) == _walks(described, "a", Counter())
    assert len({str(_walks(described, key, Counter())) for key in "abcdef"}) > 1
