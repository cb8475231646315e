import re
from itertools import combinations
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.realiser import (
    can_express_predicate,
    negate_all,
    write_caption,
    write_text,
)
from compeval.generators.graphs.entailment import Negated
from compeval.generators.graphs.walks import is_redundant, random_walk, select_describable
from compeval.generators.language.grammar import is_plural, predicate_kind
from compeval.generators.microworld.world import NOUNS

CUP = SceneObject("1", "cup", ("red",))
TABLE = SceneObject("2", "table", ("wooden",))
APPLE = SceneObject("3", "apple", ("orange",))
ON, NEXT_TO = Relation("1", "on", "2"), Relation("3", "next to", "1")
CHAIN = SceneGraph((CUP, TABLE, APPLE), (ON, NEXT_TO))


def write_captions(graph: SceneGraph, *negated: Negated) -> set[str]:
    return {write_text(graph, str(seed), negated) for seed in range(60)}


def test_openings_and_later_sentences() -> None:
    captions = write_captions(CHAIN)
    assert "a red cup on a wooden table. an orange apple is next to the cup" in captions
    assert "there is an orange apple next to a red cup that is on a wooden table" in captions
    assert "a red cup is on a wooden table. next to the cup is an orange apple" in captions
    assert "an orange apple is next to a red cup. the cup is on a wooden table" in captions


def test_references_are_unambiguous() -> None:
    cups = (CUP, SceneObject("4", "cup", ("blue",)), TABLE)
    graph = SceneGraph(cups, (ON, Relation("4", "next to", "1")))
    captions = write_captions(graph)
    assert "a red cup on a wooden table. a blue cup is next to the red cup" in captions
    assert not [text for text in captions if "the cup" in text]


def test_objects_without_relations() -> None:
    graph = SceneGraph((CUP, TABLE, SceneObject("3", "apple")))
    assert write_captions(graph) == {
        "a red cup, a wooden table and an apple",
        "there is a red cup, a wooden table and an apple",
    }


def test_verbs_agree_and_mass_nouns_have_no_article() -> None:
    people, bread = SceneObject("1", "people", ("young",)), SceneObject("2", "bread", ("brown",))
    captions = write_captions(SceneGraph((people, bread), (Relation("1", "have", "2"),)))
    assert captions == {
        "young people with brown bread",
        "there are young people with brown bread",
        "young people have brown bread",
    }


def test_verbs_take_the_form_of_their_position() -> None:
    man, hat, bench = (
        SceneObject("1", "man", ("tall",)),
        SceneObject("2", "hat"),
        SceneObject("3", "bench"),
    )
    wears, wearing, sits = (
        Relation("1", *predicate_and_object)
        for predicate_and_object in (("wears", "2"), ("wearing", "3"), ("sitting on", "3"))
    )
    assert write_captions(
        SceneGraph((man, hat, SceneObject("3", "coat", ("red",))), (wears, wearing))
    ) == {
        "a tall man wearing a hat and a red coat",
        "there is a tall man wearing a hat and a red coat",
        "a tall man is wearing a hat and a red coat",
    }
    sitting = write_captions(SceneGraph((man, hat, bench), (wears, sits)))
    assert "a tall man is wearing a hat and sitting on a bench" in sitting
    box, into = SceneObject("2", "box", ("red",)), Relation("2", "containing", "1")
    assert write_captions(SceneGraph((SceneObject("1", "cup", ("red",)), box), (into,))) == {
        "a red box containing a red cup",
        "there is a red box containing a red cup",
        "a red box contains a red cup",
    }
    owner = SceneGraph((man, hat, bench), (Relation("1", "has", "2"), Relation("1", "on", "3")))
    assert write_captions(owner) == {"a tall man with a hat is on a bench"}


def test_several_colours_are_joined_as_a_list() -> None:
    chair = SceneObject("1", "chair", ("purple", "slender", "black", "blue"))
    captions = write_captions(SceneGraph((chair, TABLE), (ON,)))
    assert "a slender purple, black and blue chair is on a wooden table" in captions


def test_consecutive_sentences_differ_and_lists_are_short() -> None:
    others = tuple(
        SceneObject(str(number), name)
        for number, name in enumerate(("cup", "cat", "bus", "key", "hat", "bed"), 3)
    )
    graph = SceneGraph(
        (SceneObject("1", "man"), SceneObject("2", "car"), *others), (Relation("1", "near", "2"),)
    )
    assert write_captions(graph) == {
        "a man near a car. there is also a cup, a cat and a bus. a key, a hat and a bed are also visible",
        "there is a man near a car. a cup, a cat and a bus are also visible. there is also a key, a hat and a bed",
        "a man is near a car. there is also a cup, a cat and a bus. a key, a hat and a bed are also visible",
    }


def test_negations() -> None:
    assert (
        "an orange apple is next to a cup. the cup is on a wooden table. the cup is not red"
        in write_captions(CHAIN, Negated("attribute", "1", "red"))
    )
    assert (
        "a red cup is on a wooden table. there is also an orange apple. the apple is not next to the cup"
        in write_captions(CHAIN, Negated("relation", "3", "next to", NEXT_TO))
    )
    assert (
        "a red cup is on a wooden table. there is no orange apple next to the cup"
        in write_captions(CHAIN, Negated("object", "3", "apple"))
    )
    not_red, not_wooden = Negated("attribute", "1", "red"), Negated("attribute", "2", "wooden")
    assert (
        "an orange apple is next to a cup. the cup is on a table. the cup is not red, and the table is not wooden"
        in write_captions(CHAIN, not_red, not_wooden)
    )
    assert (
        "an orange apple is next to a cup. there is also a wooden table. the cup is not red and is not on the table"
        in (write_captions(CHAIN, not_red, Negated("relation", "1", "on", ON)))
    )
    unrelated = SceneGraph((CUP, SceneObject("2", "table"), SceneObject("3", "trees")))
    no_table, no_trees = Negated("object", "2", "table"), Negated("object", "3", "trees")
    assert "a red cup. there is no table, and there are no trees" in write_captions(
        unrelated, no_table, no_trees
    )
    one_tree = SceneGraph((CUP, SceneObject("2", "table"), SceneObject("3", "tree")))
    assert "a red cup. there is no table and no tree" in (
        write_captions(one_tree, no_table, Negated("object", "3", "tree"))
    )
    wearing = Relation("1", "wear", "2")
    worn = SceneGraph(
        (SceneObject("1", "man", ("tall", "old")), SceneObject("2", "hat")), (wearing,)
    )
    assert "a tall old man and a hat. the man is not wearing the hat" in write_captions(
        worn, Negated("relation", "1", "wear", wearing)
    )


def test_negations_of_whole_captions_have_one_relation_per_clause() -> None:
    graph = SceneGraph((CUP, TABLE, SceneObject("3", "cat")), (ON, Relation("1", "behind", "3")))
    assert negate_all(graph, "0") == [
        "it is not true that there is a red cup on a wooden table and that the cup is behind a cat"
    ]
    assert negate_all(SceneGraph((CUP, TABLE), (ON,)), "0") == [
        "it is not true that there is a red cup on a wooden table",
        "there is no red cup on a wooden table",
    ]
    leaves = SceneGraph((SceneObject("1", "leaves", ("red",)), TABLE), (ON,))
    assert negate_all(leaves, "0") == [
        "it is not true that there are red leaves on a wooden table",
        "there are no red leaves on a wooden table",
    ]


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        ("on", "preposition"),
        ("to the left of", "preposition"),
        ("wearing", "participle"),
        ("worn by", "participle"),
        ("partly hidden by", "participle"),
        ("parked on", "participle"),
        ("has", "verb"),
        ("hold", "verb"),
        ("have been", None),
        ("are fully", None),
        ("to", None),
    ],
)
def test_predicate_kind(predicate: str, kind: str | None) -> None:
    assert predicate_kind(predicate) == kind
    assert can_express_predicate(predicate) is (kind is not None)


def test_no_microworld_noun_counts_as_a_plural() -> None:
    assert not [noun for nouns in NOUNS.values() for noun in nouns if is_plural(noun)]
    assert is_plural("street signs")
    assert not is_plural("bus stop")


@st.composite
def subgraphs(draw: st.DrawFn, sizes: tuple[int, int] = (4, 12)) -> SceneGraph:
    names = draw(
        st.lists(
            st.sampled_from(["cup", "umbrella", "cat", "bus", "leaves"]), min_size=3, max_size=6
        )
    )
    adjectives = st.lists(
        st.sampled_from(["red", "orange", "small", "striped", "old"]),
        min_size=1,
        max_size=3,
        unique=True,
    )
    predicates = st.sampled_from(
        ["on", "above", "wearing", "next to", "has", "partly hidden by", "to the left of"]
    )
    ends = st.integers(0, len(names) - 1).map(str)
    edges = draw(st.lists(st.builds(Relation, ends, predicates, ends), max_size=12))
    objects = (
        SceneObject(str(number), name, tuple(draw(adjectives)), Box(9 * number, 0, 5, 5))
        for number, name in enumerate(names)
    )
    graph = select_describable(SceneGraph(tuple(objects), tuple(edges)), can_express_predicate)
    subgraph = random_walk(graph, draw(st.integers(*sizes)), Random(draw(st.integers())))
    assume(subgraph is not None)
    assert subgraph is not None
    assume(not is_redundant(subgraph))
    return subgraph


STYLE = re.compile(r"[a-z-]+(?: [a-z-]+|, [a-z-]+|\. [a-z-]+)*")
"""Lower-case words, separated by single spaces, commas and full stops, without a final mark."""


@settings(max_examples=40, deadline=None)
@given(subgraphs(), st.integers())
def test_mentions_have_the_positions_of_all_atoms(graph: SceneGraph, seed: int) -> None:
    caption = write_caption(graph, str(seed))
    assert STYLE.fullmatch(caption.text), caption.text
    assert " a o" not in caption.text  # "an orange"
    nodes = {
        (mention.kind, mention.text, mention.object, mention.target) for mention in caption.mentions
    }
    expected = {("object", item.name, item.id, None) for item in graph.objects}
    expected |= {
        ("attribute", text, item.id, None) for item in graph.objects for text in item.attributes
    }
    expected |= {
        ("relation", edge.predicate, edge.subject, edge.object) for edge in graph.relations
    }
    assert nodes == expected
    for mention in caption.mentions:
        if mention.kind != "relation":
            assert caption.text[mention.start : mention.end] == mention.text
    assert write_caption(graph, str(seed)) == caption
    assert write_text(graph, str(seed)) == caption.text


@settings(max_examples=40, deadline=None)
@given(subgraphs(), st.integers())
def test_negations_keep_the_style(graph: SceneGraph, seed: int) -> None:
    item = graph.objects[-1]
    atoms = [Negated("object", item.id, item.name)] if len(graph.objects) > 1 else []
    atoms += [Negated("attribute", item.id, text) for text in item.attributes]
    atoms += [Negated("relation", edge.subject, edge.predicate, edge) for edge in graph.relations]
    pairs = combinations([atom for atom in atoms if atom.kind != "object"], 2)
    texts = [write_text(graph, str(seed), negated) for negated in (*zip(atoms), *pairs)]
    texts += negate_all(graph, str(seed))
    for text in texts:
        assert STYLE.fullmatch(text), text
        assert re.search(r"\b(?:no|not)\b", text), text
