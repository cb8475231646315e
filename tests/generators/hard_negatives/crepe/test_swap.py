"""Every case of CREPE's appendix A.4, as properties of random subgraphs of four to twelve atoms."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from math import comb
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.captioner.captioner import Request, TemplateCaption, TemplateCaptioner
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.hard_negatives.crepe.swap import (
    Edit,
    make_orbits,
    make_swaps,
    move_attributes,
    permute_attributes,
    permute_objects,
    permute_relations,
    swap_attributes,
    swap_described_objects,
    swap_objects,
)
from compeval.generators.language.grammar import are_same_kind
from tests.generators.captioner.test_captioner import make_swap_negatives, write_grammar_caption
from tests.generators.captioner.test_realiser import subgraphs

WORD = re.compile(r"[a-z]+")
NAMES = ("cup", "table", "cat", "bus", "umbrella")
Case = Callable[[SceneGraph], Iterator[Edit]]
CASES: tuple[Case, ...] = (
    swap_objects,
    swap_described_objects,
    swap_attributes,
    move_attributes,
    permute_objects,
    permute_attributes,
    permute_relations,
)


def list_changed(graph: SceneGraph, edited: SceneGraph) -> list[tuple[SceneObject, SceneObject]]:
    """Return the objects that an edit changed, before and after."""
    return [
        (old, new) for old, new in zip(graph.objects, edited.objects, strict=True) if old != new
    ]


def has_two_of_a_kind(texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(
        first == second or are_same_kind(first, second)
        for index, first in enumerate(texts)
        for second in texts[:index]
    )


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_each_case_keeps_the_atoms_and_their_positions(graph: SceneGraph) -> None:
    for case in CASES:
        for edited, foil in case(graph):
            assert foil.type == "swap"
            assert Counter(edited.atoms) == Counter(graph.atoms)
            assert [(item.id, item.box) for item in edited.objects] == [
                (item.id, item.box) for item in graph.objects
            ]
            ends = [(edge.subject, edge.object) for edge in graph.relations]
            assert [(edge.subject, edge.object) for edge in edited.relations] == ends


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_objects_are_swapped_related_or_not(graph: SceneGraph) -> None:
    pairs = set()
    for edited, foil in swap_objects(graph):
        (first, first_after), (second, second_after) = list_changed(graph, edited)
        assert (first.name, second.name) == (second_after.name, first_after.name)
        assert (first.attributes, second.attributes) == (
            first_after.attributes,
            second_after.attributes,
        )
        assert edited.relations == graph.relations
        assert (foil.original, foil.replacement) == (
            f"{first.name}, {second.name}",
            f"{second.name}, {first.name}",
        )
        pairs.add(frozenset((first.id, second.id)))
    objects = graph.objects
    assert pairs == {frozenset((a.id, b.id)) for a in objects for b in objects if a.name != b.name}


def test_the_swaps_of_table_2() -> None:
    """Yellow vase on top of television: with the attribute in its position, and carried along."""
    vase, television = SceneObject("1", "vase", ("yellow",)), SceneObject("2", "television")
    graph = SceneGraph((vase, television), (Relation("1", "on top of", "2"),))
    (caption,) = TemplateCaptioner().captions([Request(graph, "0")])
    assert isinstance(caption, TemplateCaption)
    captions = {negative.caption for negative in make_swap_negatives(graph, caption)}
    # "Vase on top of yellow television" may be true, since the television may be yellow as well.
    assert captions == {"yellow television on top of vase", "television on top of yellow vase"}


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_attributes_that_only_one_object_has_are_swapped(graph: SceneGraph) -> None:
    for edited, foil in swap_attributes(graph):
        (first, first_after), (second, second_after) = list_changed(graph, edited)
        first_text, second_text = Counter([foil.original]), Counter([foil.replacement])
        assert (
            Counter(first_after.attributes) == Counter(first.attributes) - first_text + second_text
        )
        assert (
            Counter(second_after.attributes)
            == Counter(second.attributes) - second_text + first_text
        )
        assert foil.original not in second.attributes
        assert foil.replacement not in first.attributes


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_attributes_move_to_objects_without_an_attribute_of_the_kind(graph: SceneGraph) -> None:
    for edited, foil in move_attributes(graph):
        (first, first_after), (second, second_after) = list_changed(graph, edited)
        if len(first.attributes) < len(first_after.attributes):
            (first, first_after), (second, second_after) = (
                (second, second_after),
                (first, first_after),
            )
        (text,) = set(first.attributes) - set(first_after.attributes)
        assert second_after.attributes == (*second.attributes, text)
        assert not any(
            text == attribute or are_same_kind(text, attribute) for attribute in second.attributes
        )
        assert foil[1:] == (f"{text} {first.name}", f"{text} {second.name}")


@settings(max_examples=30, deadline=None)
@given(subgraphs(sizes=(4, 4)))
def test_atoms_of_one_type_are_permuted_for_four_atoms(graph: SceneGraph) -> None:
    names = {tuple(item.name for item in edited.objects) for edited, _ in permute_objects(graph)}
    assert names == set(permutations(item.name for item in graph.objects))
    for edited, _ in permute_attributes(graph):
        assert [len(item.attributes) for item in edited.objects] == [
            len(item.attributes) for item in graph.objects
        ]
        assert not any(has_two_of_a_kind(item.attributes) for item in edited.objects)
    predicates = {
        tuple(edge.predicate for edge in edited.relations) for edited, _ in permute_relations(graph)
    }
    assert predicates == set(permutations(edge.predicate for edge in graph.relations))


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_swaps_differ_from_the_graph_and_from_each_other(graph: SceneGraph) -> None:
    signatures = [edited.signature for edited, _ in make_swaps(graph)]
    assert len({graph.signature, *signatures}) == len(signatures) + 1


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negatives_are_false_and_have_the_same_words(graph: SceneGraph) -> None:
    caption_of_graph = write_grammar_caption(graph)
    facts = collect_facts(graph)
    negatives = make_swap_negatives(graph, caption_of_graph)
    assume(negatives)
    false = {
        caption_of_graph.edit(edited) for edited, _ in make_swaps(graph) if facts.is_false(edited)
    }
    captions = [negative.caption for negative in negatives]
    assert set(captions) <= false - {caption_of_graph.text}
    assert len(set(captions)) == len(captions)
    atom_words = {text for atom in graph.atoms for text in atom.text.split()}
    for caption in captions:
        assert atom_words & set(WORD.findall(caption)) == atom_words & set(
            WORD.findall(caption_of_graph.text)
        )


def test_an_orbit_has_the_five_other_orders_of_three_names():
    cup, table, cat = (
        SceneObject("1", "cup", ("red",)),
        SceneObject("2", "table"),
        SceneObject("3", "cat"),
    )
    graph = SceneGraph(
        (cup, table, cat), (Relation("1", "left of", "2"), Relation("3", "behind", "2"))
    )
    (orbit,) = make_orbits(graph, Random(0))
    assert {tuple(item.name for item in edited.objects) for edited, _ in orbit} == {
        *(("cup", "cat", "table"), ("table", "cup", "cat"), ("table", "cat", "cup")),
        *(("cat", "cup", "table"), ("cat", "table", "cup")),
    }
    assert all(edited.objects[0].attributes == ("red",) for edited, _ in orbit)
    assert {edited.relations for edited, _ in orbit} == {graph.relations}
    assert (
        list(make_orbits(SceneGraph((cup, table, SceneObject("3", "cup", ("blue",)))), Random(0)))
        == []
    )


@pytest.mark.parametrize(("attributes", "count"), [((), 1), (("striped",), 0)])
def test_no_orbit_gives_the_attributes_of_a_thing_to_a_person(
    attributes: tuple[str, ...], count: int
):
    """ "A woman left of a cup and a cat" has an orbit. With a striped cup, one order would be "a striped woman"."""
    woman, cup, cat = (
        SceneObject("1", "woman"),
        SceneObject("2", "cup", attributes),
        SceneObject("3", "cat"),
    )
    relations = (Relation("1", "left of", "2"), Relation("1", "left of", "3"))
    assert len(list(make_orbits(SceneGraph((woman, cup, cat), relations), Random(0)))) == count


@pytest.mark.parametrize(
    ("attribute", "predicate", "count"),
    [
        ("red", "left of", 1),
        ("open", "left of", 0),
        ("red", "sitting on", 0),
        ("red", "wearing", 0),
        ("red", "above", 0),
    ],
)
def test_no_orbit_tells_readers_which_noun_belongs_where(
    attribute: str, predicate: str, count: int
):
    """An open box or a dog in a hat is plausible, an open hat or a hat that wears a dog is not. Hats are above dogs."""
    objects = (
        SceneObject("1", "dog"),
        SceneObject("2", "hat"),
        SceneObject("3", "box", (attribute,)),
    )
    relations = Relation("1", predicate, "2"), Relation("1", "behind", "3")
    assert len(list(make_orbits(SceneGraph(objects, relations), Random(0)))) == count


def test_other_objects_of_a_caption_may_act():
    """The dog, the box and the lamp change places, and the hat stays on the cat."""
    names = ("dog", "box", "lamp", "cat", "hat")
    objects = tuple(SceneObject(str(number), name) for number, name in enumerate(names))
    relations = (
        Relation("0", "left of", "1"),
        Relation("2", "behind", "1"),
        Relation("3", "wearing", "4"),
    )
    trios = [
        {foil.original for _, foil in orbit}
        for orbit in make_orbits(SceneGraph(objects, relations), Random(0))
    ]
    assert len(trios) == 1
    assert "dog, box, lamp" in trios[0]


def test_orbits_of_which_the_relations_tell_least_come_first():
    """Who is behind a bicycle can be guessed; who is left of it cannot."""
    objects = tuple(SceneObject(name, name) for name in ("house", "bicycle", "box", "lamp", "cat"))
    relations = (
        Relation("house", "behind", "bicycle"),
        Relation("box", "left of", "lamp"),
        Relation("cat", "near", "lamp"),
    )
    graph = SceneGraph(objects, relations)
    for seed in range(5):
        first, *others = make_orbits(graph, Random(seed))
        assert "box, lamp, cat" in {foil.original for _, foil in first}
        assert len(others) == comb(5, 3) - 1


@given(
    st.lists(st.sampled_from(NAMES), min_size=3, max_size=5, unique=True),
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["behind", "next to"]), st.integers(0, 2)),
        max_size=4,
    ),
)
def test_the_captions_of_an_orbit_have_the_same_distances_to_the_others(
    names: list[str], edges: list[tuple]
):
    """The number of objects with another name is the same from each caption, so that none is the medoid."""
    objects = tuple(SceneObject(str(number), name, ("red",)) for number, name in enumerate(names))
    relations = tuple(
        Relation(str(first), predicate, str(second)) for first, predicate, second in edges
    )
    graph = SceneGraph(objects, relations)
    orbits = list(make_orbits(graph, Random(0)))
    assert len(orbits) == comb(len(names), 3)
    for orbit in orbits:
        names_of = [
            tuple(item.name for item in edited.objects)
            for edited in (graph, *(edited for edited, _ in orbit))
        ]
        distances = [
            sorted(sum(a != b for a, b in zip(one, other, strict=True)) for other in names_of)
            for one in names_of
        ]
        assert distances == [[0, 2, 2, 2, 3, 3]] * 6


def test_described_objects_are_swapped_if_their_names_differ_and_one_has_attributes() -> None:
    red_cup, cup, table = (
        SceneObject("1", "cup", ("red",)),
        SceneObject("2", "cup"),
        SceneObject("3", "table"),
    )
    (edited,) = (edited for edited, _ in swap_described_objects(SceneGraph((red_cup, table))))
    assert [(item.name, item.attributes) for item in edited.objects] == [
        ("table", ()),
        ("cup", ("red",)),
    ]
    assert not list(swap_described_objects(SceneGraph((red_cup, cup))))
    assert not list(swap_described_objects(SceneGraph((cup, table))))


def test_attributes_are_permuted_in_every_order() -> None:
    graph = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table", ("big",))))
    orders = [
        [item.attributes for item in edited.objects] for edited, _ in permute_attributes(graph)
    ]
    assert orders == [[("red",), ("big",)], [("big",), ("red",)]]


@pytest.mark.parametrize(("attributes", "most_changed"), [((), 3), (("red",), 2)])
def test_only_subgraphs_of_four_atoms_have_permutations(
    attributes: tuple[str, ...], most_changed: int
) -> None:
    objects = (
        SceneObject("1", "cup", attributes),
        SceneObject("2", "table"),
        SceneObject("3", "cat"),
    )
    graph = SceneGraph(objects, (Relation("1", "on", "2"),))
    edits = [edited for edited, _ in make_swaps(graph, strict=False)]
    assert max(len(list_changed(graph, edited)) for edited in edits) == most_changed
