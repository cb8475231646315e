"""Every case of CREPE's appendix A.4, as properties of random subgraphs of four to twelve atoms."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random

from hypothesis import assume, given, settings

from generators.captioner.captioner import GrammarCaption, GrammarCaptioner, Request
from generators.graphs.facts import image_facts
from generators.hard_negatives.swap import (
    Edit,
    move_attributes,
    permute_attributes,
    permute_objects,
    permute_relations,
    swap_attributes,
    swap_negatives,
    swap_objects,
    swaps,
)
from generators.language.grammar import same_kind
from generators.schemas.scene_graph import SceneGraph, SceneObject
from tests.generators.captioner.test_realiser import subgraphs

WORD = re.compile(r"[a-z]+")
Case = Callable[[SceneGraph], Iterator[Edit]]
CASES: tuple[Case, ...] = (
    swap_objects,
    swap_attributes,
    move_attributes,
    permute_objects,
    permute_attributes,
    permute_relations,
)


def changed(graph: SceneGraph, edited: SceneGraph) -> list[tuple[SceneObject, SceneObject]]:
    """The objects that an edit touched, before and after."""
    return [(old, new) for old, new in zip(graph.objects, edited.objects, strict=True) if old != new]


def shows_two_of_a_kind(texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(one == other or same_kind(one, other) for at, one in enumerate(texts) for other in texts[:at])


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_every_case_keeps_the_atoms_and_the_places(graph: SceneGraph) -> None:
    for case in CASES:
        for edited, foil in case(graph):
            assert foil.type == "swap"
            assert Counter(edited.atoms) == Counter(graph.atoms)
            assert [(item.id, item.box) for item in edited.objects] == [(item.id, item.box) for item in graph.objects]
            ends = [(edge.subject, edge.object) for edge in graph.relations]
            assert [(edge.subject, edge.object) for edge in edited.relations] == ends


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_two_objects_change_places_related_or_not(graph: SceneGraph) -> None:
    pairs = set()
    for edited, foil in swap_objects(graph):
        (one, one_now), (other, other_now) = changed(graph, edited)
        assert (one.name, other.name) == (other_now.name, one_now.name)
        assert (one.attributes, other.attributes) == (one_now.attributes, other_now.attributes)
        assert edited.relations == graph.relations
        assert (foil.original, foil.replacement) == (f"{one.name}, {other.name}", f"{other.name}, {one.name}")
        pairs.add(frozenset((one.id, other.id)))
    everyone = graph.objects
    assert pairs == {frozenset((a.id, b.id)) for a in everyone for b in everyone if a.name != b.name}


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_attributes_are_exchanged_where_neither_object_has_the_others(graph: SceneGraph) -> None:
    for edited, foil in swap_attributes(graph):
        (one, one_now), (other, other_now) = changed(graph, edited)
        mine, theirs = Counter([foil.original]), Counter([foil.replacement])
        assert Counter(one_now.attributes) == Counter(one.attributes) - mine + theirs
        assert Counter(other_now.attributes) == Counter(other.attributes) - theirs + mine
        assert foil.original not in other.attributes
        assert foil.replacement not in one.attributes


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_an_attribute_moves_to_an_object_that_has_none_of_its_kind(graph: SceneGraph) -> None:
    for edited, foil in move_attributes(graph):
        (one, one_now), (other, other_now) = changed(graph, edited)
        if len(one.attributes) < len(one_now.attributes):
            (one, one_now), (other, other_now) = (other, other_now), (one, one_now)
        (text,) = set(one.attributes) - set(one_now.attributes)
        assert other_now.attributes == (*other.attributes, text)
        assert not any(text == mine or same_kind(text, mine) for mine in other.attributes)
        assert foil[1:] == (f"{text} {one.name}", f"{text} {other.name}")


@settings(max_examples=30, deadline=None)
@given(subgraphs(sizes=(4, 4)))
def test_four_atoms_of_one_type_take_every_order(graph: SceneGraph) -> None:
    names = {tuple(item.name for item in edited.objects) for edited, _ in permute_objects(graph)}
    assert names == {tuple(order) for order in _orders([item.name for item in graph.objects])}
    for edited, _ in permute_attributes(graph):
        assert [len(item.attributes) for item in edited.objects] == [len(item.attributes) for item in graph.objects]
        assert not any(shows_two_of_a_kind(item.attributes) for item in edited.objects)
    predicates = {tuple(edge.predicate for edge in edited.relations) for edited, _ in permute_relations(graph)}
    assert predicates == {tuple(order) for order in _orders([edge.predicate for edge in graph.relations])}


def _orders(texts: list[str]) -> Iterator[list[str]]:
    if not texts:
        yield []
    for at, text in enumerate(texts):
        yield from ([text, *rest] for rest in _orders(texts[:at] + texts[at + 1 :]))


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_no_swap_restates_the_graph_or_another_swap(graph: SceneGraph) -> None:
    signatures = [edited.signature for edited, _ in swaps(graph)]
    assert len({graph.signature, *signatures}) == len(signatures) + 1


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negatives_are_false_of_the_image_and_have_its_words_in_another_order(graph: SceneGraph) -> None:
    (true,) = GrammarCaptioner().captions([Request(graph, "0")])
    assert isinstance(true, GrammarCaption)
    found = list(swap_negatives(graph, image_facts(graph), true, Random(0)))
    assume(found)
    facts = image_facts(graph)
    false = {true.edit(edited) for edited, _ in swaps(graph) if facts.is_false(edited)}
    captions = [negative.caption for negative in found]
    assert set(captions) <= false - {true.text}
    assert len(set(captions)) == len(captions)
    said = {text for atom in graph.atoms for text in atom.text.split()}
    for caption in captions:
        assert said & set(WORD.findall(caption)) == said & set(WORD.findall(true.text))
