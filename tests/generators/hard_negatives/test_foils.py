"""Hard negatives of hand-made parses and graphs; which words are kin is noted in test_wordnet.py."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.graphs.facts import image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.foils import atom_foils, comp_foils, one_compound
from generators.hard_negatives.hard_negative import Foil, HardNegative
from generators.language.texts import fold_case_and_space
from generators.microworld.world import COLORS, NOUNS, PATTERNS, RELATIONS
from generators.schemas.scene_graph import Box, Mention, Parse, Relation, SceneGraph, SceneObject

ALL_NOUNS = [noun for cluster in NOUNS.values() for noun in cluster]
MICROWORLD = Vocabulary(
    dict.fromkeys(ALL_NOUNS, 2),
    dict.fromkeys((*COLORS, *PATTERNS[1:], "small", "large"), 2),
    dict.fromkeys(RELATIONS, 2),
)


def parse(marked: str, *relations: tuple[str, str, str, str]) -> Parse:
    """A parse from "A [red:JJ>c] [cup:NN=c] [on:IN] a [table:NN=t]": ``=`` names an object, ``>`` its attribute.

    A surface that is not its lemma is written "boxes|box". ``relations`` are (subject, predicate, object, surface).
    """
    caption, mentions, objects = "", [], {}
    attributes: dict[str, list[str]] = {}
    edges = {surface: (subject, predicate, target) for subject, predicate, target, surface in relations}
    for plain, marks in re.findall(r"([^\[\]]+)|\[([^\]]+)\]", marked):
        caption += plain
        if not marks:
            continue
        surface, rest = marks.split(":")
        surface, lemma = (surface.split("|") * 2)[:2]
        tag, sign, name = re.fullmatch(r"(\w+)([=>]?)(\w*)", rest).groups()  # type: ignore[union-attr]
        start, end = len(caption), len(caption) + len(surface)
        caption += surface
        if sign == "=":
            objects[name] = lemma
            mentions.append(Mention("object", lemma, start, end, tag, name))
        elif sign == ">":
            attributes.setdefault(name, []).append(lemma)
            mentions.append(Mention("attribute", lemma, start, end, tag, name))
        else:
            subject, predicate, target = edges[surface]
            mentions.append(Mention("relation", predicate, start, end, tag, subject, target))
    nodes = tuple(SceneObject(name, noun, tuple(attributes.get(name, ()))) for name, noun in objects.items())
    graph = SceneGraph(nodes, tuple(Relation(*edge) for edge in edges.values()))
    return Parse(caption, graph, tuple(mentions))


def captions(negatives: list[HardNegative]) -> list[str]:
    return [negative.caption for negative in negatives]


def replacements(negatives: list[HardNegative], original: str) -> list[str]:
    return [foil.replacement for negative in negatives for foil in negative.foils if foil.original == original]


RED_CUP = parse("A [red:JJ>c] [cup:NN=c] [on:IN] a [table:NN=t].", ("c", "on", "t", "on"))


def test_one_atom_is_replaced_and_the_rest_fits():
    negatives = atom_foils(RED_CUP, image_facts(RED_CUP.graph), MICROWORLD)
    assert HardNegative("An orange cup on a table.", (Foil("attribute", "red", "orange"),)) in negatives
    assert HardNegative("A red bowl on a table.", (Foil("object", "cup", "bowl"),)) in negatives
    assert HardNegative("A red cup under a table.", (Foil("relation", "on", "under"),)) in negatives
    assert len({fold_case_and_space(caption) for caption in captions(negatives)}) == len(negatives)


def test_a_colour_is_replaced_by_a_colour_only():
    assert set(replacements(atom_foils(RED_CUP, image_facts(RED_CUP.graph), MICROWORLD), "red")) == set(COLORS) - {
        "red"
    }


def test_nothing_that_is_anywhere_in_the_image_is_a_foil():
    # a bowl is there; a mug is a cup: drinking vessels; the plant is what a flower is
    image = SceneGraph(
        (*RED_CUP.graph.objects, SceneObject("1", "bowl"), SceneObject("2", "plant")), RED_CUP.graph.relations
    )
    words = replacements(atom_foils(RED_CUP, image_facts(image), MICROWORLD), "cup")
    assert not {"bowl", "flower", "tree"} & set(words)
    assert {"bottle", "bucket"} <= set(words)


def test_nothing_that_a_text_about_the_image_names_is_a_foil():
    desk = parse("a [red:JJ>d] [desk:NN=d]")
    image, words = (
        image_facts(desk.graph),
        Vocabulary.of(SceneGraph((SceneObject(n, n),)) for n in ("sofa", "couch", "lamp")),
    )
    text = SceneGraph((SceneObject("o0", "couch"), SceneObject("o1", "desk", ("blue",))))
    before, after = (atom_foils(desk, facts, words) for facts in (image, image.with_texts([text])))
    assert {"sofa", "couch"} <= set(replacements(before, "desk"))  # furniture, as the desk is
    assert not {"sofa", "couch"} & set(replacements(after, "desk"))
    assert set(replacements(before, "red")) - set(replacements(after, "red")) == {"blue"}


@pytest.mark.parametrize(
    ("other", "allowed"),
    [
        (SceneObject("1", "cup", ("blue",)), False),  # a blue cup is there
        (SceneObject("1", "cup"), False),  # its colour is not said: it may be blue
        (SceneObject("1", "mug", ("blue",)), False),  # drinking vessels: the mug may be called a cup
        (SceneObject("1", "cup", ("navy",)), False),  # a shade of blue
        (SceneObject("1", "cup", ("green",)), True),
        (SceneObject("1", "cup", ("green", "blue")), False),
        (SceneObject("1", "ball", ("blue",)), True),
    ],
)
def test_an_attribute_is_false_of_every_object_of_that_name(other: SceneObject, allowed: bool):
    image = SceneGraph((*RED_CUP.graph.objects, other), RED_CUP.graph.relations)
    assert ("A blue cup on a table." in captions(atom_foils(RED_CUP, image_facts(image), MICROWORLD))) is allowed


def test_attributes_that_can_hold_at_once_are_never_foils():
    dog = parse("a [white:JJ>d] [dog:NN=d]")
    words = replacements(atom_foils(dog, image_facts(dog.graph)), "white")
    assert "black" in words
    assert not {"furry", "large", "snowy", "ivory", "off-white"} & set(words)


def test_relations_that_the_graph_leaves_open_are_never_foils():
    words = replacements(atom_foils(RED_CUP, image_facts(RED_CUP.graph), MICROWORLD), "on")
    assert {"under", "next to", "to the left of", "to the right of", "behind", "support", "contain"} == set(words)
    assert "above" not in words  # what is on a thing is above it


def test_a_cup_in_a_box_is_not_on_it_but_a_dog_in_the_street_is():
    box = parse("a [cup:NN=c] [in:IN] a [box:NN=b]", ("c", "in", "b", "in"))
    street = parse("a [dog:NN=d] [in:IN] the [street:NN=s]", ("d", "in", "s", "in"))
    assert "a cup on a box" in captions(atom_foils(box, image_facts(box.graph), MICROWORLD))
    assert "a dog on the street" not in captions(atom_foils(street, image_facts(street.graph), MICROWORLD))


def test_a_relation_is_false_of_every_pair_of_that_name():
    table, cups = SceneObject("t", "table"), (SceneObject("1", "cup"), SceneObject("2", "cup"))
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    both = (Relation("1", "on", "t"), Relation("2", "supporting", "t"))
    assert "a cup under a table" not in captions(
        atom_foils(plain, image_facts(SceneGraph((table, *cups), both)), MICROWORLD)
    )
    same = (Relation("1", "on", "t"), Relation("t", "supporting", "2"))
    assert "a cup under a table" in captions(
        atom_foils(plain, image_facts(SceneGraph((table, *cups), same)), MICROWORLD)
    )


def test_boxes_rule_out_what_no_annotation_says():
    """Two cups, one on the table, one 100 pixels to its right with no relation: it is not below the table either."""
    table = SceneObject("t", "table", (), Box(0, 50, 100, 50))
    cups = (SceneObject("1", "cup", (), Box(10, 30, 20, 20)), SceneObject("2", "cup", (), Box(200, 80, 20, 20)))
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    image = SceneGraph((table, *cups), (Relation("1", "on", "t"),))
    words = replacements(atom_foils(plain, image_facts(image), MICROWORLD), "on")
    assert {"under", "to the left of", "support", "contain"} <= set(words)
    assert not {"to the right of", "next to"} & set(words)


@pytest.mark.parametrize(
    ("marked", "relation", "expected", "unexpected"),
    [
        ("the [hat:NN=h] [worn:VBN] by a [cat:NN=c]", "c wear h", "the hat under a cat", "the hat worn under a cat"),
        ("a [cat:NN=c] [wearing:VBG] a [hat:NN=h]", "c wear h", "a cat on a hat", "a cat under a hat"),
        ("a [cat:NN=c] [wears:VBZ] a [hat:NN=h]", "c wear h", "a cat contains a hat", "a cat on a hat"),
        (
            "a [cup:NN=c] [sitting on:VBG] a [box:NN=b]",
            "c sit-on b",
            "a cup sitting next to a box",
            "a cup next to a box",
        ),
        ("a [cup:NN=c] [is on:VBZ] a [box:NN=b]", "c on b", "a cup is supporting a box", "a cup supports a box"),
        (
            "a [cup:NN=c] [to the left of:IN] a [box:NN=b]",
            "c left-of b",
            "a cup to the right of a box",
            "a cup on a cup",
        ),
        (
            "a [cup:NN=c] [left of:IN] a [box:NN=b]",
            "c left-of b",
            "a cup right of a box",
            "a cup to the right of a box",
        ),
        (
            "a [bus:NN=b] partly [hidden:VBN] by a [car:NN=c]",
            "c hide b",
            "a bus in front of a car",
            "a bus behind a car",
        ),
        ("[men|man:NNS=m] [riding:VBG] [mules|mule:NNS=h]", "m ride h", "men feeding mules", "men on mules"),
    ],
)
def test_relation_foils_keep_the_form(marked: str, relation: str, expected: str, unexpected: str):
    subject, predicate, target = relation.split()
    surface = re.findall(r"\[([^\]:=]+):(?:VB.?|IN)\]", marked)[0]
    parsed = parse(marked, (subject, predicate.replace("-", " "), target, surface))
    found = captions(atom_foils(parsed, image_facts(parsed.graph)))
    assert expected in found
    assert unexpected not in found


def test_number_degree_case_and_mass_nouns():
    boxes = parse("Two [larger|large:JJR>b] [boxes|box:NNS=b]")
    found = captions(atom_foils(boxes, image_facts(boxes.graph), MICROWORLD))
    assert "Two smaller boxes" in found
    assert "Two larger baskets" in found
    tree = parse("a [tree:NN=t]")
    vocabulary = Vocabulary({"grass": 9, "jeans": 9, "cactus": 1})
    assert captions(atom_foils(tree, image_facts(tree.graph), vocabulary))[0] == "a cactus"
    assert not {"grass", "jeans"} & set(replacements(atom_foils(tree, image_facts(tree.graph), vocabulary), "tree"))


def test_shouting_and_titles():
    shouting, title = parse("A [RED|red:JJ>c] [CAR|car:NN=c]"), parse("The [Red|red:JJ>c] [Car|car:NN=c]")
    assert "A BLUE CAR" in captions(atom_foils(shouting, image_facts(shouting.graph), MICROWORLD))
    assert "The Blue Car" in captions(atom_foils(title, image_facts(title.graph), MICROWORLD))
    acronym = parse("a [TV|tv:NN=t] [on:IN] a [table:NN=b]", ("t", "on", "b", "on"))
    assert all(
        caption.islower()
        for caption in captions(atom_foils(acronym, image_facts(acronym.graph), MICROWORLD))
        if "TV" not in caption
    )


def test_the_paper_s_compound_foils():
    """Table 2: "a pink car" becomes "a blue car and a pink toy"."""
    car = parse("A [pink:JJ>c] [car:NN=c].")
    vocabulary = Vocabulary({"truck": 1}, {"blue": 1})
    negatives = comp_foils(car, image_facts(car.graph), vocabulary)
    assert negatives[0] == HardNegative(
        "A blue car and a pink truck.", (Foil("attribute", "pink", "blue"), Foil("object", "car", "truck"))
    )
    assert all(len(negative.foils) == 2 for negative in negatives)


def test_compound_foils_replace_two_different_atoms_of_a_relation():
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    negatives = comp_foils(plain, image_facts(plain.graph), MICROWORLD)
    kinds = {tuple(sorted((foil.type, foil.original) for foil in negative.foils)) for negative in negatives}
    assert kinds == {
        (("object", "cup"), ("relation", "on")),
        (("object", "cup"), ("object", "table")),
        (("object", "table"), ("relation", "on")),
    }


def test_only_one_compound_makes_compound_foils():
    assert comp_foils(RED_CUP, image_facts(RED_CUP.graph), MICROWORLD) == []
    with_tree = parse("a [red:JJ>c] [car:NN=c] and a [tree:NN=t]")
    core = one_compound(with_tree)
    assert core is not None
    assert core.caption == "a red car"
    assert [core.caption[mention.start : mention.end] for mention in core.mentions] == ["red", "car"]


def test_what_with_says_may_be_completed_by_a_pronoun():
    plain = parse("a [table:NN=t] [with:IN] a [cup:NN=c]", ("t", "with", "c", "with"))
    completed = parse("a [table:NN=t] [with:IN] a [cup:NN=c] on it", ("t", "with", "c", "with"))
    assert "a table without a cup" in captions(atom_foils(plain, image_facts(plain.graph)))
    assert replacements(atom_foils(completed, image_facts(completed.graph)), "with") == []


@pytest.mark.parametrize("noun", ALL_NOUNS)
def test_every_noun_of_the_microworld_has_three_known_foils(noun: str):
    parsed = parse(f"the [{noun}:NN=n]")
    assert len(set(replacements(atom_foils(parsed, image_facts(parsed.graph), MICROWORLD), noun)) & set(ALL_NOUNS)) >= 3


@pytest.mark.parametrize("attribute", [*COLORS, *PATTERNS[1:], "small", "large"])
def test_every_attribute_of_the_microworld_has_a_known_foil(attribute: str):
    """Colours have seven, patterns two ("plain" is never said), sizes one."""
    parsed = parse(f"the [{attribute}:JJ>n] [ball:NN=n]")
    known = set(replacements(atom_foils(parsed, image_facts(parsed.graph), MICROWORLD), attribute)) & set(
        MICROWORLD.attributes
    )
    assert len(known) == (7 if attribute in COLORS else 2 if attribute in PATTERNS else 1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_of_the_microworld_has_three_foils(relation: str):
    parsed = parse(f"a [cat:NN=c] [{relation}:IN] a [hat:NN=h]", ("c", relation, "h", relation))
    assert len(replacements(atom_foils(parsed, image_facts(parsed.graph), MICROWORLD), relation)) >= 3


def test_a_vocabulary_counts_lemmas_and_synonyms_together():
    things = (SceneObject("1", "cups", ("red",)), SceneObject("2", "cup"), SceneObject("3", "grey keys"))
    edges = (Relation("1", "under", "2"), Relation("2", "is below", "1"), Relation("1", "eating", "2"))
    known = Vocabulary.of([SceneGraph(things, edges)])
    assert known.nouns == {"cup": 2}  # WordNet has no "grey key"
    assert known.attributes == {"red": 1}
    assert known.relations == {"below": 2, "eat": 1}
    assert Vocabulary.of([SceneGraph(things, edges)], at_least=2).attributes == {}


def test_no_noun_of_a_real_image_is_a_foil_in_it(real_data: Path):
    objects = json.loads((real_data / "visual_genome/v1.2.0/objects.json").read_text())
    for record in objects[:2]:
        names = sorted({name for item in record["objects"] for name in item["names"]})
        image = SceneGraph(tuple(SceneObject(str(at), name) for at, name in enumerate(names)))
        vocabulary = Vocabulary.of([image, SceneGraph(tuple(SceneObject(noun, noun) for noun in ALL_NOUNS))])
        for name in names[::8]:
            caption = Parse(
                name, SceneGraph((SceneObject("n", name),)), (Mention("object", name, 0, len(name), "NN", "n"),)
            )
            assert not set(replacements(atom_foils(caption, image_facts(image), vocabulary), name)) & set(names)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Parse, SceneGraph]:
    """A caption of two described things and the graph of an image that has them among up to three others."""
    nouns = draw(st.lists(st.sampled_from(ALL_NOUNS), min_size=2, max_size=5, unique=True))
    looks = [draw(st.sampled_from(list(COLORS))) for _ in nouns]
    relation = draw(st.sampled_from(["on", "under", "to the left of", "in front of", "next to"]))
    parsed = parse(
        f"a [{looks[0]}:JJ>a] [{nouns[0]}:NN=a] [{relation}:IN] a [{looks[1]}:JJ>b] [{nouns[1]}:NN=b]",
        ("a", relation, "b", relation),
    )
    things = tuple(
        SceneObject(f"{n}", *pair) for n, pair in enumerate(zip(nouns, ((look,) for look in looks), strict=True))
    )
    return parsed, SceneGraph(things, (Relation("0", relation, "1"),))


@settings(max_examples=20, deadline=None)
@given(scenes())
def test_a_foil_differs_in_exactly_its_atom_and_is_not_in_the_image(scene: tuple[Parse, SceneGraph]):
    parsed, image = scene
    negatives = atom_foils(parsed, image_facts(image), MICROWORLD)
    assert (
        len({fold_case_and_space(caption) for caption in (parsed.caption, *captions(negatives))}) == len(negatives) + 1
    )
    for caption, ((kind, original, replacement),) in negatives:
        old, new = difference(parsed.caption, caption)
        assert old in original
        assert new.removesuffix("ing") in replacement
        assert kind != "object" or replacement not in {item.name for item in image.objects}


def difference(one: str, other: str) -> tuple[str, str]:
    """Where two texts differ, in whole words and articles apart: what the one has there, and the other."""
    words = [[word for word in text.split() if word not in ("a", "an")] for text in (one, other)]
    for end in (0, -1):
        while words[0] and words[1] and words[0][end] == words[1][end]:
            for text in words:
                del text[end]
    return " ".join(words[0]), " ".join(words[1])


def test_nothing_depends_on_the_hash_seed():
    """Another process with another hash seed makes the same negatives, from WordNet's words alone."""
    program = f"import runpy; print(runpy.run_path({__file__!r})['fingerprint']())"
    other = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == fingerprint()


def fingerprint() -> str:
    dog = parse("a [small:JJ>d] [dog:NN=d]")
    return json.dumps([atom_foils(dog, image_facts(dog.graph)), comp_foils(dog, image_facts(dog.graph))])
