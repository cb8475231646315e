"""What graphs of a few objects prove, by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.graphs.facts import Entity, image_facts
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

CUP, TABLE = SceneObject("c", "cup"), SceneObject("t", "table")


def claim(subject: str, predicate: str, target: str) -> SceneGraph:
    return SceneGraph((SceneObject("s", subject), SceneObject("o", target)), (Relation("s", predicate, "o"),))


@pytest.mark.parametrize(
    ("stated", "claimed", "false"),
    [
        ("on", "on top of", False),  # a synonym
        ("on", "above", False),  # implied
        ("on", "in front of", True),
        ("on", "below", True),
        ("on", "sitting on", False),
        ("sitting on", "standing on", True),  # postures exclude each other
        ("above", "on", False),  # may be so
        ("left of", "next to", False),
        ("left of", "right of", True),
        ("holding", "without", True),
        ("with", "without", True),
        ("admiring", "under", False),  # the lexicon does not know what it means
        ("riding", "feed", True),
    ],
)
def test_one_relation_decides_others(stated: str, claimed: str, false: bool):
    facts = image_facts(SceneGraph((CUP, TABLE), (Relation("c", stated, "t"),)))
    assert facts.is_false(claim("cup", claimed, "table")) is false


def test_a_relation_decides_its_converse():
    facts = image_facts(SceneGraph((CUP, TABLE), (Relation("t", "supporting", "c"),)))
    assert facts.is_false(claim("cup", "under", "table"))
    assert not facts.is_false(claim("cup", "on", "table"))
    assert facts.is_false(claim("table", "above", "cup"))


def test_silence_proves_nothing_about_relations_and_attributes():
    facts = image_facts(SceneGraph((CUP, TABLE)))
    assert not facts.is_false(claim("cup", "under", "table"))
    assert not facts.is_false(SceneGraph((SceneObject("x", "cup", ("red",)),)))
    assert facts.is_false(SceneGraph((SceneObject("x", "horse"),)))


def test_two_claimed_objects_are_two_things():
    facts = image_facts(SceneGraph((CUP,)))
    assert facts.is_false(SceneGraph((SceneObject("x", "cup"), SceneObject("y", "cup"))))


def test_absence_covers_kin_parts_and_other_names():
    facts = image_facts(SceneGraph((SceneObject("1", "man"), SceneObject("2", "car"), SceneObject("3", "grasses"))))
    present = ["man", "person", "player", "hand", "vehicle", "wheel", "grass", "field"]
    assert [facts.is_absent(noun) for noun in present] == [False] * len(present)
    assert [facts.is_absent(noun) for noun in ("woman", "bus", "cup")] == [True] * 3


def test_annotations_of_one_thing_are_merged():
    boxes = Box(0, 0, 10, 10), Box(0, 0, 10, 9), Box(0, 0, 10, 10)
    graph = SceneGraph(
        (
            SceneObject("1", "cup", ("red",), boxes[0]),
            SceneObject("2", "mugs", ("small",), boxes[1]),  # IoU 0.9, and a mug may be called a cup
            SceneObject("3", "table", (), boxes[2]),  # the same place, another thing
        ),
        (Relation("2", "on", "3"),),
    )
    facts = image_facts(graph)
    assert facts.entities == (
        Entity("1", ("cup", "mug"), ("red", "small"), boxes[0]),
        Entity("3", ("table",), (), boxes[2]),
    )
    assert facts.predicates == {("1", "3"): ("on",)}


def test_a_caption_adds_what_it_says_of_the_only_thing_that_fits():
    facts = image_facts(SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "cup"), TABLE)))
    red_on_table = SceneGraph(
        (SceneObject("a", "cup", ("red",)), SceneObject("b", "table")), (Relation("a", "on", "b"),)
    )
    wider = facts.with_caption(red_on_table)
    assert wider.by_id["2"].attributes == ("red",)  # the other one is blue
    assert wider.predicates == {("2", "t"): ("on",)}


def test_a_caption_adds_nothing_where_two_things_fit():
    facts = image_facts(SceneGraph((SceneObject("1", "cup"), SceneObject("2", "cup"))))
    assert facts.with_caption(SceneGraph((SceneObject("a", "cup", ("red",)),))).entities == facts.entities


def test_a_caption_adds_the_things_that_nobody_annotated():
    facts = image_facts(SceneGraph((SceneObject("1", "cup", ("blue",)),)))
    wider = facts.with_caption(SceneGraph((SceneObject("a", "cup", ("red",)),)))
    assert [entity.attributes for entity in wider.entities] == [("blue",), ("red",)]


def test_the_relation_lexicon_is_consistent():
    lexicon = relations.read("relations")
    names = {name for pair in lexicon["situations"].items() for name in pair}
    for group, entry in lexicon["groups"].items():
        assert set(entry["holds"]) <= names, group
        assert set(entry["foils"]) <= lexicon["groups"].keys() - {group}, group
        for words in (group, *entry["words"]):
            found = relations.sense(words)
            assert found is not None, words
            assert found.group == group, words


PAIRS = ("on supporting", "above below", "left_of right_of", "in_front_of behind", "wearing worn_by", "next_to next_to")


@pytest.mark.parametrize("pair", PAIRS)
def test_converses_share_a_situation_and_exclude_each_other(pair: str):
    one, other = (name.replace("_", " ") for name in pair.split())
    assert relations.converse(one) & relations.situations(other)
    assert one == other or not relations.situations(one) & relations.situations(other)


def text(*objects: SceneObject) -> list[SceneGraph]:
    return [SceneGraph(objects)]


def test_what_a_text_names_is_present_with_its_kin_and_its_parts():
    facts = image_facts(SceneGraph((CUP,)))
    wider = facts.with_texts(text(SceneObject("o0", "chairs"), SceneObject("o1", "wheel")))
    named = ["chair", "armchair", "seat", "furniture", "wheel"]
    assert [facts.is_absent(noun) for noun in named] == [True] * len(named)
    assert [wider.is_absent(noun) for noun in named] == [False] * len(named)
    assert wider.is_absent("table")
    # The whole of a part counts where the part is annotated, not where a text names it.
    assert wider.is_absent("car")
    assert not image_facts(SceneGraph((SceneObject("1", "wheel"),))).is_absent("car")
    tree = facts.with_texts(text(SceneObject("o0", "tree")))
    assert facts.is_absent("branch")
    assert not tree.is_absent("branch")


def test_an_attribute_that_a_text_says_of_a_thing_so_called_is_not_ruled_out():
    facts = image_facts(SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "table", ("blue",)))))
    wider = facts.with_texts(text(SceneObject("o0", "mug", ("red",))))  # a mug may be called a cup
    red_cup, red_table, green_cup = (
        SceneGraph((SceneObject("x", name, (color,)),))
        for name, color in (("cup", "red"), ("table", "red"), ("cup", "green"))
    )
    assert facts.is_false(red_cup)
    assert not wider.is_false(red_cup)
    assert wider.is_false(red_table)
    assert wider.is_false(green_cup)
    # "A red cup" may be about the one that is red, and says nothing of the blue one.
    two = image_facts(SceneGraph((SceneObject("1", "cup", ("blue",)), SceneObject("2", "mug", ("red",)))))
    assert two.with_texts(text(SceneObject("o0", "cup", ("red",)))).mentioned_attributes == {}


def test_a_colour_that_is_annotated_is_no_noun_of_a_text():
    graph = SceneGraph((SceneObject("1", "pear", ("orange",)), TABLE))
    assert (
        image_facts(graph).with_texts(text(SceneObject("o0", "orange"))).is_absent("tree")
    )  # WordNet: an orange is a tree
    assert not image_facts(SceneGraph((TABLE,))).with_texts(text(SceneObject("o0", "orange"))).is_absent("orange")


NAMES, LOOKS = st.sampled_from(("cup", "mug", "table", "chair", "tree", "wheel")), st.sampled_from(("red", "blue"))
GRAPHS = st.lists(st.tuples(NAMES, st.frozensets(LOOKS, max_size=1)), max_size=3).map(
    lambda looks: SceneGraph(tuple(SceneObject(str(at), name, tuple(of)) for at, (name, of) in enumerate(looks)))
)


@settings(max_examples=50, deadline=None)
@given(GRAPHS, st.lists(GRAPHS, max_size=2), GRAPHS)
def test_texts_prove_nothing_absent_or_false(graph: SceneGraph, texts: list[SceneGraph], claim: SceneGraph):
    facts = image_facts(graph)
    wider = facts.with_texts(texts)
    assert all(facts.is_absent(noun) for noun in ("cup", "bowl", "seat", "branch", "car") if wider.is_absent(noun))
    assert facts.is_false(claim) or not wider.is_false(claim)
    assert not any(wider.is_absent(item.name) for text in texts for item in text.objects)
    # What a caption says is no more certain for it, and what is then false was false without the texts.
    assert wider.with_caption(claim).entities == facts.with_caption(claim).entities
    assert wider.with_caption(claim).mentioned == wider.mentioned
