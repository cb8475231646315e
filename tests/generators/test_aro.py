"""VG-Relation and VG-Attribution: what is mined, and what is left out and why."""

from collections import Counter
from pathlib import Path

import pytest

from generators.aro import MINERS, Said, attribute_pairs, large_objects, mine, relation_pairs
from generators.language.lexicon import read, relations
from generators.language.lexicon.relations import is_asymmetric, kind_of_relation
from generators.readers import gqa
from generators.readers.records import Flaws
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from loaders.papers.figures import figures

LEFT, RIGHT, TOP = Box(0, 40, 30, 60), Box(60, 40, 40, 60), Box(0, 0, 100, 30)
"""In an image of 100 x 100."""


def image(*objects: SceneObject, relations: tuple[Relation, ...] = ()) -> AnnotatedImage:
    return AnnotatedImage("1", 100, 100, SceneGraph(objects, relations))


def thing(name: str, *attributes: str, box: Box = LEFT, number: int = 0) -> SceneObject:
    return SceneObject(f"{name}{number}", name, attributes, box)


def pairs(miner, found: AnnotatedImage, *others: AnnotatedImage) -> tuple[list[tuple[str, str]], Counter[str]]:
    dropped = Counter[str]()
    said = Said.by(each.graph for each in (found, *others))
    return [(pair.true, pair.false) for pair in miner(found, said, dropped)], dropped


def test_large_objects() -> None:
    sides = {"wide": Box(0, 0, 25, 25), "narrow": Box(0, 0, 24, 90), "flat": Box(0, 0, 90, 24)}
    found = image(*(thing(name, box=box) for name, box in sides.items()), SceneObject("x", "boxless"))
    assert [item.name for item in large_objects(found)] == ["wide"]


def test_a_relation_and_its_box() -> None:
    found = image(thing("horse"), thing("grass", box=RIGHT), relations=(Relation("horse0", "eating", "grass0"),))
    (pair,) = relation_pairs(found, Said.by([found.graph]), Counter())
    assert pair.true == "the horse is eating the grass"
    assert pair.false == "the grass is eating the horse"
    assert pair.box == Box(0, 40, 100, 60)
    assert pair.category == "eating"


@pytest.mark.parametrize("relation", ["near", "next to", "standing next to", "with", "sitting beside", "standing by"])
def test_symmetric_relations_go(relation) -> None:
    found = image(thing("man"), thing("car", box=RIGHT), relations=(Relation("man0", relation, "car0"),))
    assert pairs(relation_pairs, found) == ([], Counter({"symmetric relation": 1}))


def test_two_men_are_one_category() -> None:
    found = image(thing("man"), thing("man", box=RIGHT, number=1), relations=(Relation("man0", "behind", "man1"),))
    assert pairs(relation_pairs, found)[1] == Counter({"objects of one category": 1})


def test_a_swap_that_another_pair_makes_true_is_dropped() -> None:
    # The dog is left of the cat; a second dog is right of it, so "the cat is to the left of the dog" is true as well.
    things = (thing("dog"), thing("cat", box=Box(35, 40, 25, 60)), thing("dog", box=Box(70, 40, 30, 60), number=1))
    edge = Relation("dog0", "to the left of", "cat0")
    other = Relation("cat0", "to the left of", "dog1")
    assert pairs(relation_pairs, image(*things, relations=(edge, other))) == (
        [],
        Counter({"the swapped caption may be true": 2}),
    )
    # Not annotated, but the boxes show it.
    somewhere = image(thing("cat"), thing("dog"), relations=(Relation("cat0", "to the left of", "dog0"),))
    assert pairs(relation_pairs, image(*things, relations=(edge,)), somewhere)[0] == []


def test_attributes_are_exchanged() -> None:
    found = image(thing("cat", "crouched"), thing("door", "open", box=RIGHT))
    assert pairs(attribute_pairs, found)[0] == [
        ("the crouched cat and the open door", "the open cat and the crouched door")
    ]


def test_an_exchange_that_the_graph_states_is_dropped() -> None:
    found = image(thing("ball", "red", "small"), thing("box", "small", "red", box=RIGHT))
    texts, dropped = pairs(attribute_pairs, found)
    assert texts == []
    assert dropped == Counter({"one attribute": 2, "the swapped caption may be true": 2})


def test_what_a_colour_excludes_and_what_nobody_says() -> None:
    # A red ball is not blue: kept. A striped box may be red, a red ball striped, once somebody says such things.
    blue = image(thing("ball", "red"), thing("box", "blue", box=RIGHT))
    assert len(pairs(attribute_pairs, blue)[0]) == 1
    striped = image(thing("ball", "red"), thing("box", "striped", box=RIGHT))
    assert len(pairs(attribute_pairs, striped)[0]) == 1
    elsewhere = image(thing("ball", "striped"), thing("box", "red", box=RIGHT))
    assert pairs(attribute_pairs, striped, elsewhere)[0] == []


def test_shades_are_one_attribute() -> None:
    found = image(thing("ball", "blue"), thing("box", "dark blue", box=RIGHT))
    assert pairs(attribute_pairs, found)[1] == Counter({"one attribute": 1})


def test_the_list_has_a_reason_for_each_relation_and_every_symmetric_one_of_the_lexicon() -> None:
    listed = {name: reason for kind in read("not_asymmetric").values() for name, reason in kind.items()}
    assert all(isinstance(reason, str) and len(reason) > 5 for reason in listed.values())
    groups = read("relations")["groups"]
    symmetric = [group for group in groups if relations.converse(group) == relations.situations(group)]
    assert {"next to", "near", "far from", "with"} == set(symmetric)
    assert all(not is_asymmetric(group) for group in symmetric)


def test_the_published_relations_but_nearness_are_asymmetric() -> None:
    relations = figures("aro")["relations"]
    assert len(relations) == 45
    assert sum(relations.values()) == 21_917
    assert [name for name in relations if not is_asymmetric(name)] == ["standing by"]
    spatial = [name for name in relations if kind_of_relation(name) == "spatial"]
    assert len(spatial) == 13


def test_real_graphs(real_data) -> None:
    images = list(gqa.read(real_data / "gqa" / "sceneGraphs.debug.json", Path(), Flaws()))
    found = {config: list(mine(config, images, Counter())) for config in MINERS}
    assert {config: len(rows) for config, rows in found.items()} == {"vg_relation": 10, "vg_attribution": 31}
    assert "the food is in the bowl" in {pair.true for pair in found["vg_relation"]}
    # The paint is on the side of the building, so the white building's paint is white.
    assert "the peeling paint and the white building" not in {pair.true for pair in found["vg_attribution"]}
