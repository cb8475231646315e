"""Statements that small hand-written graphs prove false."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.graphs.facts import Entity, collect_facts
from compeval.generators.language.lexicon import relations

CUP, TABLE = SceneObject("c", "cup"), SceneObject("t", "table")


def make_statement(subject: str, predicate: str, target: str) -> SceneGraph:
    return SceneGraph(
        (SceneObject("s", subject), SceneObject("o", target)), (Relation("s", predicate, "o"),)
    )


@pytest.mark.parametrize(
    ("known", "stated", "is_false"),
    [
        ("on", "on top of", False),  # a synonym
        ("on", "above", False),  # implied
        ("on", "in front of", True),
        ("on", "below", True),
        ("on", "sitting on", False),
        ("sitting on", "standing on", True),  # postures exclude each other
        ("above", "on", False),  # may be true
        ("left of", "next to", False),
        ("left of", "right of", True),
        ("left of", "above", False),  # the cup may be higher as well
        ("left of", "under", False),
        ("above", "right of", False),
        ("left of", "on", True),
        ("holding", "without", True),
        ("with", "without", True),
        ("admiring", "under", False),  # not in the lexicon
        ("riding", "feed", True),
    ],
)
def test_known_relation_proves_others_false(known: str, stated: str, is_false: bool):
    facts = collect_facts(SceneGraph((CUP, TABLE), (Relation("c", known, "t"),)))
    assert facts.is_false(make_statement("cup", stated, "table")) is is_false


def test_known_relation_proves_converses_false_but_missing_relations_and_attributes_may_be_true():
    facts = collect_facts(SceneGraph((CUP, TABLE), (Relation("t", "supporting", "c"),)))
    assert facts.is_false(make_statement("cup", "under", "table"))
    assert not facts.is_false(make_statement("cup", "on", "table"))
    assert facts.is_false(make_statement("table", "above", "cup"))
    assert not collect_facts(SceneGraph((CUP, TABLE))).is_false(
        make_statement("cup", "under", "table")
    )
    assert not facts.is_false(SceneGraph((SceneObject("x", "cup", ("red",)),)))
    assert facts.is_false(SceneGraph((SceneObject("x", "horse"),)))


@pytest.mark.parametrize(
    ("cup", "above", "below"),
    [
        (Box(0, 50, 10, 20), True, True),  # at the height of the table: neither above nor below it
        (Box(0, 10, 10, 20), False, True),  # higher and to the left: may be called above
        (Box(0, 35, 10, 40), False, True),  # the same, although the heights overlap
        (Box(0, 90, 10, 20), True, False),  # lower and to the left
        (Box(0, 30, 10, 80), True, True),  # the table is within its height
    ],
)
def test_boxes_side_by_side_exclude_above_only_at_one_height(cup: Box, above: bool, below: bool):
    objects = SceneObject("c", "cup", (), cup), SceneObject("t", "table", (), Box(50, 40, 60, 60))
    facts = collect_facts(SceneGraph(objects, (Relation("c", "left of", "t"),)))
    assert facts.is_false(make_statement("cup", "above", "table")) is above
    assert facts.is_false(make_statement("cup", "under", "table")) is below
    assert facts.is_false(make_statement("cup", "right of", "table"))


def test_related_nouns_and_parts_are_not_absent():
    facts = collect_facts(
        SceneGraph((SceneObject("1", "man"), SceneObject("2", "car"), SceneObject("3", "grasses")))
    )
    present = ["man", "person", "player", "hand", "vehicle", "wheel", "grass", "field"]
    assert [facts.is_absent(noun) for noun in present] == [False] * len(present)
    assert [facts.is_absent(noun) for noun in ("woman", "bus", "cup")] == [True] * 3


def test_annotations_of_one_object_are_merged():
    boxes = Box(0, 0, 10, 10), Box(0, 0, 10, 9), Box(0, 0, 10, 10)
    cup, table = (
        SceneObject("1", "cup", ("red",), boxes[0]),
        SceneObject("3", "table", (), boxes[2]),
    )
    mugs = SceneObject("2", "mugs", ("small",), boxes[1])  # IoU 0.9, and a mug may be called a cup
    facts = collect_facts(SceneGraph((cup, mugs, table), (Relation("2", "on", "3"),)))
    merged = Entity("1", ("cup", "mug"), ("red", "small"), boxes[0])
    assert facts.entities == (merged, Entity("3", ("table",), (), boxes[2]))
    assert facts.predicates == {("1", "3"): ("on",)}


def test_caption_adds_facts_of_an_object_with_one_match():
    facts = collect_facts(
        SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "cup"), TABLE))
    )
    objects = SceneObject("a", "cup", ("red",)), SceneObject("b", "table")
    extended = facts.with_caption(SceneGraph(objects, (Relation("a", "on", "b"),)))
    assert extended.by_id["2"].attributes == ("red",)  # the other one is blue
    assert extended.predicates == {("2", "t"): ("on",)}


def test_caption_adds_objects_without_a_match():
    facts = collect_facts(SceneGraph((SceneObject("1", "cup", ("blue",)),)))
    extended = facts.with_caption(SceneGraph((SceneObject("a", "cup", ("red",)),)))
    assert [entity.attributes for entity in extended.entities] == [("blue",), ("red",)]


def test_relation_lexicon_is_consistent():
    lexicon = relations.load_lexicon("relations")
    names = {name for pair in lexicon["situations"].items() for name in pair}
    for group, entry in lexicon["groups"].items():
        assert set(entry["holds"]) <= names, group
        assert set(entry["foils"]) <= lexicon["groups"].keys() - {group}, group
        for words in (group, *entry["words"]):
            sense = relations.find_sense(words)
            assert sense is not None, words
            assert sense.group == group, words


PAIRS = (
    "on supporting",
    "above below",
    "left_of right_of",
    "in_front_of behind",
    "wearing worn_by",
    "next_to next_to",
)


@pytest.mark.parametrize("pair", PAIRS)
def test_converses_exclude_each_other(pair: str):
    first, second = (name.replace("_", " ") for name in pair.split())
    assert relations.converse_situations(first) & relations.situations(second)
    assert first == second or not relations.situations(first) & relations.situations(second)


def test_mentioned_nouns_are_present_with_related_nouns_and_parts():
    facts = collect_facts(SceneGraph((CUP,)))
    extended = facts.with_texts(
        [SceneGraph((SceneObject("o0", "chairs"), SceneObject("o1", "wheel")))]
    )
    named = ["chair", "armchair", "seat", "furniture", "wheel"]
    assert [facts.is_absent(noun) for noun in named] == [True] * len(named)
    assert [extended.is_absent(noun) for noun in named] == [False] * len(named)
    assert extended.is_absent("table")
    # An annotated part implies its whole, but a mentioned part does not.
    assert extended.is_absent("car")
    assert not collect_facts(SceneGraph((SceneObject("1", "wheel"),))).is_absent("car")
    tree = facts.with_texts([SceneGraph((SceneObject("o0", "tree"),))])
    assert facts.is_absent("branch")
    assert not tree.is_absent("branch")


def test_mentioned_attributes_may_be_true():
    facts = collect_facts(
        SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "table", ("blue",))))
    )
    # A mug may be called a cup.
    extended = facts.with_texts([SceneGraph((SceneObject("o0", "mug", ("red",)),))])
    red_cup, red_table, green_cup = (
        SceneGraph((SceneObject("x", name, (color,)),))
        for name, color in (("cup", "red"), ("table", "red"), ("cup", "green"))
    )
    assert facts.is_false(red_cup)
    assert not extended.is_false(red_cup)
    assert extended.is_false(red_table)
    assert extended.is_false(green_cup)
    # "A red cup" may describe the red cup, so it does not change the facts of the blue cup.
    two = collect_facts(
        SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "mug", ("red",))))
    )
    assert (
        two.with_texts([SceneGraph((SceneObject("o0", "cup", ("red",)),))]).mentioned_attributes
        == {}
    )


def test_annotated_colour_is_not_a_noun_in_texts():
    graph = SceneGraph((SceneObject("1", "pear", ("orange",)), TABLE))
    # In WordNet, an orange is also a tree.
    assert (
        collect_facts(graph)
        .with_texts([SceneGraph((SceneObject("o0", "orange"),))])
        .is_absent("tree")
    )
    assert (
        not collect_facts(SceneGraph((TABLE,)))
        .with_texts([SceneGraph((SceneObject("o0", "orange"),))])
        .is_absent("orange")
    )


NAMES, COLORS = (
    st.sampled_from(("cup", "mug", "table", "chair", "tree", "wheel")),
    st.sampled_from(("red", "blue")),
)
GRAPHS = st.lists(st.tuples(NAMES, st.frozensets(COLORS, max_size=1)), max_size=3).map(
    lambda pairs: SceneGraph(
        tuple(
            SceneObject(str(number), name, tuple(colors))
            for number, (name, colors) in enumerate(pairs)
        )
    )
)


@settings(max_examples=50, deadline=None)
@given(GRAPHS, st.lists(GRAPHS, max_size=2), GRAPHS)
def test_texts_never_prove_absence_or_falsehood(
    graph: SceneGraph, texts: list[SceneGraph], statement: SceneGraph
):
    facts = collect_facts(graph)
    extended = facts.with_texts(texts)
    assert all(
        facts.is_absent(noun)
        for noun in ("cup", "bowl", "seat", "branch", "car")
        if extended.is_absent(noun)
    )
    assert facts.is_false(statement) or not extended.is_false(statement)
    assert not any(extended.is_absent(item.name) for text in texts for item in text.objects)
    # Texts do not change the facts that a caption adds.
    assert extended.with_caption(statement).entities == facts.with_caption(statement).entities
    assert extended.with_caption(statement).mentioned == extended.mentioned
