"""Mining of VG-Relation and VG-Attribution: captions, boxes and the reasons for rejecting a pair."""

from collections import Counter

import pytest

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.hard_negatives.aro.swapped_pairs import (
    AttestedPairs,
    mine_attribute_pairs,
    mine_relation_pairs,
    select_large_objects,
)
from compeval.generators.language.lexicon import load_lexicon, relations
from compeval.generators.language.lexicon.relations import is_asymmetric, kind_of_relation
from compeval.loaders.papers.figures import figures

LEFT, RIGHT, TOP = Box(0, 40, 30, 60), Box(60, 40, 40, 60), Box(0, 0, 100, 30)
"""Boxes in an image of 100 x 100 pixels."""


def make_image(*objects: SceneObject, relations: tuple[Relation, ...] = ()) -> AnnotatedImage:
    return AnnotatedImage("1", 100, 100, SceneGraph(objects, relations))


def make_object(name: str, *attributes: str, box: Box = LEFT, number: int = 0) -> SceneObject:
    return SceneObject(f"{name}{number}", name, attributes, box)


def make_pair(subject: str, relation: str, target: str) -> AnnotatedImage:
    """Return an image of two related objects, the first one on the left."""
    objects = make_object(subject), make_object(target, box=RIGHT)
    return make_image(*objects, relations=(Relation(f"{subject}0", relation, f"{target}0"),))


def pairs(
    miner, image: AnnotatedImage, *others: AnnotatedImage
) -> tuple[list[tuple[str, str]], Counter[str]]:
    dropped = Counter[str]()
    attested = AttestedPairs.from_graphs(each.graph for each in (image, *others))
    return [(pair.true, pair.false) for pair in miner(image, attested, dropped)], dropped


def test_large_objects() -> None:
    sides = {"wide": Box(0, 0, 25, 25), "narrow": Box(0, 0, 24, 90), "flat": Box(0, 0, 90, 24)}
    image = make_image(
        *(make_object(name, box=box) for name, box in sides.items()), SceneObject("x", "boxless")
    )
    assert [item.name for item in select_large_objects(image)] == ["wide"]


def test_a_relation_and_its_box() -> None:
    image = make_pair("horse", "eating", "grass")
    (pair,) = mine_relation_pairs(image, AttestedPairs.from_graphs([image.graph]), Counter())
    assert pair.true == "the horse is eating the grass"
    assert pair.false == "the grass is eating the horse"
    assert pair.box == Box(0, 40, 100, 60)
    assert pair.category == "eating"


@pytest.mark.parametrize(
    "relation", ["near", "next to", "standing next to", "with", "sitting beside", "sitting by"]
)
def test_symmetric_relations_are_dropped(relation) -> None:
    image = make_pair("man", relation, "car")
    assert pairs(mine_relation_pairs, image) == ([], Counter({"symmetric relation": 1}))


@pytest.mark.parametrize("relation", figures("aro")["relations"])
def test_every_relation_of_the_papers_macro_accuracy_is_mined(relation) -> None:
    image = make_pair("man", relation, "car")
    assert pairs(mine_relation_pairs, image)[0] == [
        (f"the man is {relation} the car", f"the car is {relation} the man")
    ]


def test_objects_of_one_category_are_dropped() -> None:
    image = make_image(
        make_object("man"),
        make_object("man", box=RIGHT, number=1),
        relations=(Relation("man0", "behind", "man1"),),
    )
    assert pairs(mine_relation_pairs, image)[1] == Counter({"objects of one category": 1})


def test_a_swap_that_another_pair_makes_true_is_dropped() -> None:
    # The dog is left of the cat; a second dog is right of it, so "the cat is to the left of the dog" is true as well.
    objects = (
        make_object("dog"),
        make_object("cat", box=Box(35, 40, 25, 60)),
        make_object("dog", box=Box(70, 40, 30, 60), number=1),
    )
    edge = Relation("dog0", "to the left of", "cat0")
    other = Relation("cat0", "to the left of", "dog1")
    assert pairs(mine_relation_pairs, make_image(*objects, relations=(edge, other))) == (
        [],
        Counter({"the swapped caption may be true": 2}),
    )
    # The second relation is not annotated, but follows from the boxes.
    other_image = make_image(
        make_object("cat"),
        make_object("dog"),
        relations=(Relation("cat0", "to the left of", "dog0"),),
    )
    assert pairs(mine_relation_pairs, make_image(*objects, relations=(edge,)), other_image)[0] == []


def test_attribute_captions_are_exchanged() -> None:
    image = make_image(make_object("cat", "crouched"), make_object("door", "open", box=RIGHT))
    assert pairs(mine_attribute_pairs, image)[0] == [
        ("the crouched cat and the open door", "the open cat and the crouched door")
    ]


def test_an_exchange_that_the_graph_states_is_dropped() -> None:
    image = make_image(
        make_object("ball", "red", "small"), make_object("box", "small", "red", box=RIGHT)
    )
    texts, dropped = pairs(mine_attribute_pairs, image)
    assert texts == []
    assert dropped == Counter({"one attribute": 2, "the swapped caption may be true": 2})


def test_an_unattested_attribute_counts_as_impossible() -> None:
    # A red ball is not blue. A swap of red and striped may be true if the source has a striped ball and a red box.
    blue = make_image(make_object("ball", "red"), make_object("box", "blue", box=RIGHT))
    assert len(pairs(mine_attribute_pairs, blue)[0]) == 1
    striped = make_image(make_object("ball", "red"), make_object("box", "striped", box=RIGHT))
    assert len(pairs(mine_attribute_pairs, striped)[0]) == 1
    other_image = make_image(make_object("ball", "striped"), make_object("box", "red", box=RIGHT))
    assert pairs(mine_attribute_pairs, striped, other_image)[0] == []


def test_shades_of_a_colour_are_one_attribute() -> None:
    image = make_image(make_object("ball", "blue"), make_object("box", "dark blue", box=RIGHT))
    assert pairs(mine_attribute_pairs, image)[1] == Counter({"one attribute": 1})


def test_not_asymmetric_has_reasons_and_includes_the_symmetric_groups() -> None:
    listed = {
        name: reason
        for kind in load_lexicon("not_asymmetric").values()
        for name, reason in kind.items()
    }
    assert all(isinstance(reason, str) and len(reason) > 5 for reason in listed.values())
    groups = load_lexicon("relations")["groups"]
    symmetric = [
        group
        for group in groups
        if relations.converse_situations(group) == relations.situations(group)
    ]
    assert {"next to", "near", "far from", "with"} == set(symmetric)
    assert all(not is_asymmetric(group) for group in symmetric)


def test_only_standing_by_is_not_asymmetric_among_published_relations() -> None:
    relations = figures("aro")["relations"]
    assert len(relations) == 45
    assert sum(relations.values()) == 21_917
    assert [name for name in relations if not is_asymmetric(name)] == ["standing by"]
    spatial = [name for name in relations if kind_of_relation(name) == "spatial"]
    assert len(spatial) == 13
