"""The grammar of negations in captions that a language model wrote (HN-Neg under both rules)."""

import pytest

from compeval.base.schemas.scene_graph import (
    AtomKind,
    Mention,
    Relation,
    SceneGraph,
    SceneObject,
)
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.graphs.entailment import Negated


def make_caption(
    text: str, graph: SceneGraph, *atoms: tuple[AtomKind, str, str, str, str]
) -> ParsedCaption:
    """Return a caption; atoms are given as kind, text, words in the caption, tag and object."""
    mentions = (
        Mention(kind, word, text.find(words), text.find(words) + len(words), tag, key)
        for kind, word, words, tag, key in atoms
    )
    return ParsedCaption(graph, text, tuple(mentions), "llm:")


COUCH = make_caption(
    "a cat on a red and wooden couch.",
    SceneGraph(
        (SceneObject("1", "cat"), SceneObject("2", "couch", ("red", "wooden"))),
        (Relation("1", "on", "2"),),
    ),
    ("object", "cat", "cat", "NN", "1"),
    ("attribute", "red", "red", "JJ", "2"),
    ("attribute", "wooden", "wooden", "JJ", "2"),
    ("object", "couch", "couch", "NN", "2"),
)
CHAIRS = make_caption(
    "two lights above empty chairs. another cat on 3 mats",
    SceneGraph(
        (
            SceneObject("1", "light"),
            SceneObject("2", "chair", ("empty",)),
            SceneObject("3", "cat"),
            SceneObject("4", "mat", ("3",)),
        ),
        (Relation("1", "above", "2"), Relation("3", "on", "4")),
    ),
    ("object", "light", "lights", "NNS", "1"),
    ("attribute", "empty", "empty", "JJ", "2"),
    ("object", "chair", "chairs", "NNS", "2"),
    ("object", "cat", "cat", "NN", "3"),
    ("attribute", "3", "3", "CD", "4"),
    ("object", "mat", "mats", "NNS", "4"),
)


@pytest.mark.parametrize(
    ("caption", "atom", "expected"),
    [
        (COUCH, Negated("attribute", "2", "red"), "a cat on a wooden couch. the couch is not red."),
        (
            COUCH,
            Negated("attribute", "2", "wooden"),
            "a cat on a red couch. the couch is not wooden.",
        ),
        (
            COUCH,
            Negated("object", "2", "couch"),
            "a cat on something. there is no red and wooden couch.",
        ),
        (
            COUCH,
            Negated("object", "1", "cat"),
            "something on a red and wooden couch. there is no cat.",
        ),
        (CHAIRS, Negated("object", "1", "light"), None),  # several
        (CHAIRS, Negated("object", "3", "cat"), None),  # "another something"
        (CHAIRS, Negated("attribute", "4", "3"), None),
    ],
)
def test_negations_are_grammatical(caption: ParsedCaption, atom: Negated, expected: str | None):
    assert caption.negate(atom) == expected


def test_the_verb_agrees_with_its_noun():
    caption = make_caption(
        "lights above empty chairs",
        SceneGraph(
            (SceneObject("1", "light"), SceneObject("2", "chairs", ("empty",))),
            (Relation("1", "above", "2"),),
        ),
        ("object", "light", "lights", "NNS", "1"),
        ("attribute", "empty", "empty", "JJ", "2"),
        ("object", "chairs", "chairs", "NNS", "2"),
    )
    negated = caption.negate(Negated("attribute", "2", "empty"))
    assert negated == "lights above chairs. the chairs are not empty"
