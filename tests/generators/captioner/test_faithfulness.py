"""The alignment of a caption's objects with those of its graph, compared with a search over all permutations, and the
captions that state another graph.
"""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.faithfulness import align_mentions, is_elliptical
from compeval.generators.captioner.misread_relations import is_restated
from compeval.generators.graphs.entailment import entails
from compeval.generators.language.lexicon.attributes import may_hold_together
from compeval.generators.language.lexicon.nouns import may_name_same_object
from compeval.generators.parser.caption_parser import CaptionParser, make_parser
from tests.generators.graphs.test_proofs import scenes


def may_be_one_object(first: SceneObject, second: SceneObject) -> bool:
    """Return True if two names fit one object, and each attribute has one of the other object that fits."""
    pairs = ((first.attributes, second.attributes), (second.attributes, first.attributes))
    return may_name_same_object(first.name, second.name) and all(
        any(may_hold_together(text, candidate) for candidate in candidates)
        for texts, candidates in pairs
        for text in texts
    )


def imply_all(edges: list[Relation], conclusions: tuple[Relation, ...]) -> bool:
    """Return True if each conclusion follows from an edge, or does so with one of its ends replaced."""
    return all(
        any(
            entails([edge], conclusion)
            or entails([edge], replace(conclusion, subject=edge.subject))
            or entails([edge], replace(conclusion, object=edge.object))
            for edge in edges
        )
        for conclusion in conclusions
    )


def align(stated: SceneGraph, graph: SceneGraph) -> dict[str, str] | None:
    """Return the graph's id of each object of a caption that mentions its objects one after another, or None."""
    mentions = tuple(
        Mention("object", item.name, start, start + 1, "NN", item.id)
        for start, item in enumerate(stated.objects)
    )
    aligned = align_mentions(Parse("x" * len(mentions), stated, mentions), graph)
    if aligned is None:
        return None
    return {item.id: mention.object for item, mention in zip(stated.objects, aligned, strict=True)}


def align_by_permutations(stated: SceneGraph, graph: SceneGraph) -> list[dict[str, str]]:
    """Return all alignments."""
    alignments = []
    for order in permutations(graph.objects) if len(stated.objects) == len(graph.objects) else ():
        pairs = list(zip(stated.objects, order, strict=True))
        ids = {first.id: second.id for first, second in pairs}
        edges = [
            Relation(ids[edge.subject], edge.predicate, ids[edge.object])
            for edge in stated.relations
        ]
        required = [edge for edge in edges if edge.predicate != "with"]
        if (
            all(may_be_one_object(*pair) for pair in pairs)
            and all(is_restated(graph, edge) for edge in required)
            and imply_all(edges, graph.relations)
        ):
            alignments.append(ids)
    return alignments


@given(scenes(), st.permutations(range(4)), st.sampled_from(["with", "on", "below"]))
def test_objects_are_aligned_if_one_permutation_aligns_them(
    graph: SceneGraph, order: list[int], text: str
) -> None:
    objects = [graph.objects[index] for index in order if index < len(graph.objects)]
    edges = (
        replace(edge, predicate=text) if index else edge
        for index, edge in enumerate(graph.relations)
    )
    stated = SceneGraph(tuple(objects), tuple(edges))
    alignments = align_by_permutations(stated, graph)
    aligned = align(stated, graph)
    assert aligned in alignments if alignments else aligned is None


@given(scenes(), scenes())
def test_different_graphs_are_not_aligned(stated: SceneGraph, graph: SceneGraph) -> None:
    assert (align(stated, graph) is None) == (not align_by_permutations(stated, graph))


CAT_ON_TABLE, DOG_BY_TABLE = ("cat", "on", "table"), ("dog", "next to", "table")


@pytest.fixture(scope="module")
def parser() -> CaptionParser:
    return make_parser("rules")


@pytest.mark.parametrize(
    ("text", "relations", "expected"),
    [
        ("a cat on a table. a dog is next to the table", [CAT_ON_TABLE, DOG_BY_TABLE], True),
        ("a dog on a table. a cat is next to the table", [CAT_ON_TABLE, DOG_BY_TABLE], False),
        ("a table with a cat on it and a dog next to it", [CAT_ON_TABLE, DOG_BY_TABLE], True),
        ("a table with a dog on it and a cat next to it", [CAT_ON_TABLE, DOG_BY_TABLE], False),
        (  # only two of the three relations are swapped
            "a dog is on a table. a cat is next to the table. a bird is above the cat",
            [CAT_ON_TABLE, DOG_BY_TABLE, ("bird", "above", "cat")],
            False,
        ),
        ("a cat on a table and a dog on a chair", [CAT_ON_TABLE, ("dog", "on", "chair")], True),
        ("a dog on a table and a cat on a chair", [CAT_ON_TABLE, ("dog", "on", "chair")], False),
        # The parser attaches "on" to the dog. It may stand on the table, unless "behind" shows which animal is meant.
        ("a cat behind a dog on a table", [CAT_ON_TABLE, ("cat", "behind", "dog")], True),
        ("a cat next to a dog on a table", [CAT_ON_TABLE, ("cat", "next to", "dog")], False),
        ("a cat is next to a dog and on a table", [CAT_ON_TABLE, ("cat", "next to", "dog")], True),
        ("a dog on a table is behind a cat", [CAT_ON_TABLE, ("dog", "behind", "cat")], False),
        (
            "a dog on a table. a cat is behind the dog",
            [CAT_ON_TABLE, ("cat", "behind", "dog")],
            False,
        ),
        # The relation belongs to the noun before it.
        (
            "a boat next to a pier with a gull above the boat",
            [("boat", "next to", "pier"), ("gull", "above", "boat")],
            True,
        ),
        (
            "a gull next to a pier with a boat above the gull",
            [("boat", "next to", "pier"), ("gull", "above", "boat")],
            False,
        ),
        (
            "a clock is on a tower and a flag is above the tower",
            [("clock", "on", "tower"), ("flag", "above", "tower")],
            True,
        ),
        (
            "a flag is on a tower and a clock is above the tower",
            [("clock", "on", "tower"), ("flag", "above", "tower")],
            False,
        ),
        (
            "a woman is in front of a basket with a pumpkin in it",
            [("woman", "in front of", "basket"), ("pumpkin", "in", "basket")],
            True,
        ),
    ],
)
def test_captions_with_swapped_objects_are_not_faithful(
    parser: CaptionParser, text: str, relations: list[tuple[str, str, str]], expected: bool
) -> None:
    names = dict.fromkeys(end for subject, _, object in relations for end in (subject, object))
    graph = SceneGraph(
        tuple(SceneObject(name, name) for name in names),
        tuple(Relation(*edge) for edge in relations),
    )
    (parse,) = parser.parse([text])
    assert (align_mentions(parse, graph) is not None) == expected


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
