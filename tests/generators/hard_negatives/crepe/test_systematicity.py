"""Hard negatives of hand-written parses and graphs. test_wordnet.py explains which words are related."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box, Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.base.texts import fold_case_and_space
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.crepe.replacements import ALL_WORDS, make_foil
from compeval.generators.hard_negatives.crepe.systematicity import (
    extract_only_compound,
    make_atom_foils,
    make_comp_foils,
)
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.language.lexicon.relations import verb_lemma
from compeval.generators.microworld.world import COLORS, NOUNS, PATTERNS, RELATIONS

ALL_NOUNS = [noun for cluster in NOUNS.values() for noun in cluster]
MICROWORLD = Vocabulary(
    dict.fromkeys(ALL_NOUNS, 2),
    dict.fromkeys((*COLORS, *PATTERNS[1:], "small", "large"), 2),
    dict.fromkeys(RELATIONS, 2),
)


def parse(marked: str, *relations: tuple[str, str, str, str]) -> Parse:
    """Return the parse of a marked caption: "A [red:JJ>c] [cup:NN=c] [on:IN] a [table:NN=t]".

    ``=`` names an object, and ``>`` is followed by the object of an attribute. If a word is not its lemma, the lemma
    follows the word: "boxes|box". ``relations`` are (subject, predicate, object, word in the caption).
    """
    caption, mentions, objects = "", [], {}
    attributes: dict[str, list[str]] = {}
    edges = {
        surface: (subject, predicate, target) for subject, predicate, target, surface in relations
    }
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
    nodes = tuple(
        SceneObject(name, noun, tuple(attributes.get(name, ()))) for name, noun in objects.items()
    )
    graph = SceneGraph(nodes, tuple(Relation(*edge) for edge in edges.values()))
    return Parse(caption, graph, tuple(mentions))


def make_foils(
    caption: Parse, vocabulary: Vocabulary = MICROWORLD, image: SceneGraph | None = None
) -> list[HardNegative]:
    """Return the HN-Atoms of a caption. By default, its image shows what it says, and nothing else."""
    return make_atom_foils(caption, collect_facts(image or caption.graph), vocabulary)


def list_captions(
    caption: Parse, vocabulary: Vocabulary = MICROWORLD, image: SceneGraph | None = None
) -> list[str]:
    return [negative.caption for negative in make_foils(caption, vocabulary, image)]


def list_replacements(negatives: list[HardNegative], original: str) -> list[str]:
    return [
        foil.replacement
        for negative in negatives
        for foil in negative.foils
        if foil.original == original
    ]


def find_words(
    caption: Parse,
    original: str,
    vocabulary: Vocabulary = MICROWORLD,
    image: SceneGraph | None = None,
) -> set[str]:
    """Return the words that replace an atom of a caption."""
    return set(list_replacements(make_foils(caption, vocabulary, image), original))


RED_CUP = parse("A [red:JJ>c] [cup:NN=c] [on:IN] a [table:NN=t].", ("c", "on", "t", "on"))


def test_relation_without_complement_has_no_foil():
    box = parse("a [box:NN=b] with a [ball:NN=c] [inside:RB]", ("c", "inside", "b", "inside"))
    negatives = make_foils(box)
    assert list_replacements(negatives, "ball")
    assert not list_replacements(negatives, "inside")


def test_one_atom_is_replaced_and_its_article_adapted():
    negatives = make_foils(RED_CUP)
    assert (
        HardNegative("An orange cup on a table.", (Foil("attribute", "red", "orange"),))
        in negatives
    )
    assert HardNegative("A red bowl on a table.", (Foil("object", "cup", "bowl"),)) in negatives
    assert HardNegative("A red cup under a table.", (Foil("relation", "on", "under"),)) in negatives
    assert len({fold_case_and_space(caption) for caption, _ in negatives}) == len(negatives)


def test_colours_are_replaced_only_by_colours():
    assert find_words(RED_CUP, "red") == set(COLORS) - {"red"}


@pytest.mark.parametrize(
    ("marked", "noun", "foil", "allowed"),
    [
        # "a woman with a hat on his head".
        (
            "a [man:NN=m] with a [hat:NN=h] on his head",
            "man",
            "woman",
            False,
        ),
        ("a [man:NN=m] and a [hat:NN=h]", "man", "woman", True),
        ("a [statue:NN=s] with a [hat:NN=h] on it", "statue", "woman", False),
        ("a [striped:JJ>s] [statue:NN=s]", "statue", "woman", False),
        ("a [statue:NN=s]", "statue", "woman", True),
        ("a [striped:JJ>s] [statue:NN=s] with a [hat:NN=h] on it", "statue", "clock", True),
    ],
)
def test_foils_keep_pronouns_and_attributes_that_fit_only_people_or_things(
    marked: str, noun: str, foil: str, allowed: bool
):
    caption = parse(marked)
    mention = next(mention for mention in caption.mentions if mention.text == noun)
    assert (make_foil(caption, mention, foil, collect_facts(caption.graph)) is not None) is allowed


def test_objects_of_the_image_are_never_foils():
    # The image has a bowl. A flower and a tree are plants, and the image has a plant.
    image = SceneGraph(
        (*RED_CUP.graph.objects, SceneObject("1", "bowl"), SceneObject("2", "plant")),
        RED_CUP.graph.relations,
    )
    words = find_words(RED_CUP, "cup", image=image)
    assert not {"bowl", "flower", "tree"} & set(words)
    assert {"bottle", "bucket"} <= set(words)


def test_objects_in_texts_about_the_image_are_never_foils():
    desk = parse("a [red:JJ>d] [desk:NN=d]")
    image, words = (
        collect_facts(desk.graph),
        Vocabulary.of(SceneGraph((SceneObject(n, n),)) for n in ("sofa", "couch", "lamp")),
    )
    text = SceneGraph((SceneObject("o0", "couch"), SceneObject("o1", "desk", ("blue",))))
    before, after = (
        make_atom_foils(desk, facts, words) for facts in (image, image.with_texts([text]))
    )
    assert {"sofa", "couch"} <= set(list_replacements(before, "desk"))  # furniture, like the desk
    assert not {"sofa", "couch"} & set(list_replacements(after, "desk"))
    assert set(list_replacements(before, "red")) - set(list_replacements(after, "red")) == {"blue"}


@pytest.mark.parametrize(
    ("other", "allowed"),
    [
        (SceneObject("1", "cup", ("blue",)), False),  # a blue cup is in the image
        (SceneObject("1", "cup"), False),  # a cup of unknown colour may be blue
        (SceneObject("1", "mug", ("blue",)), False),  # a mug may be called a cup
        (SceneObject("1", "cup", ("navy",)), False),  # a shade of blue
        (SceneObject("1", "cup", ("green",)), True),
        (SceneObject("1", "cup", ("green", "blue")), False),
        (SceneObject("1", "ball", ("blue",)), True),
    ],
)
def test_attribute_foils_are_false_of_every_object_with_the_name(other: SceneObject, allowed: bool):
    image = SceneGraph((*RED_CUP.graph.objects, other), RED_CUP.graph.relations)
    assert ("A blue cup on a table." in list_captions(RED_CUP, image=image)) is allowed


def test_compatible_attributes_are_never_foils():
    dog = parse("a [white:JJ>d] [dog:NN=d]")
    words = find_words(dog, "white", ALL_WORDS)
    assert "black" in words
    assert not {"furry", "large", "snowy", "ivory", "off-white"} & set(words)


def test_relations_that_the_graph_does_not_exclude_are_never_foils():
    words = find_words(RED_CUP, "on")
    assert {
        "under",
        "next to",
        "to the left of",
        "to the right of",
        "behind",
        "support",
        "contain",
    } == set(words)
    assert "above" not in words  # an object that is on another is above it


def test_container_is_not_a_surface():
    box = parse("a [cup:NN=c] [in:IN] a [box:NN=b]", ("c", "in", "b", "in"))
    street = parse("a [dog:NN=d] [in:IN] the [street:NN=s]", ("d", "in", "s", "in"))
    assert "a cup on a box" in list_captions(box)
    assert "a dog on the street" not in list_captions(street)


def test_relation_foils_are_false_of_every_pair_with_the_names():
    table, cups = SceneObject("t", "table"), (SceneObject("1", "cup"), SceneObject("2", "cup"))
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    both = (Relation("1", "on", "t"), Relation("2", "supporting", "t"))
    assert "a cup under a table" not in list_captions(plain, image=SceneGraph((table, *cups), both))
    same = (Relation("1", "on", "t"), Relation("t", "supporting", "2"))
    assert "a cup under a table" in list_captions(plain, image=SceneGraph((table, *cups), same))


def test_boxes_exclude_relations_without_annotations():
    """A second cup without relations is 100 pixels to the right of the table, so it is not below the table."""
    table = SceneObject("t", "table", (), Box(0, 50, 100, 50))
    cups = (
        SceneObject("1", "cup", (), Box(10, 30, 20, 20)),
        SceneObject("2", "cup", (), Box(200, 80, 20, 20)),
    )
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    image = SceneGraph((table, *cups), (Relation("1", "on", "t"),))
    words = find_words(plain, "on", image=image)
    assert {"under", "to the left of", "support", "contain"} <= set(words)
    assert not {"to the right of", "next to"} & set(words)


@pytest.mark.parametrize(
    ("marked", "relation", "expected", "unexpected"),
    [
        (
            "the [hat:NN=h] [worn:VBN] by a [cat:NN=c]",
            "c wear h",
            "the hat under a cat",
            "the hat worn under a cat",
        ),
        (
            "a [cat:NN=c] [wearing:VBG] a [hat:NN=h]",
            "c wear h",
            "a cat on a hat",
            "a cat under a hat",
        ),
        (
            "a [cat:NN=c] [wears:VBZ] a [hat:NN=h]",
            "c wear h",
            "a cat contains a hat",
            "a cat on a hat",
        ),
        (
            "a [cup:NN=c] [sitting on:VBG] a [box:NN=b]",
            "c sit-on b",
            "a cup sitting next to a box",
            "a cup next to a box",
        ),
        (
            "a [cup:NN=c] [is on:VBZ] a [box:NN=b]",
            "c on b",
            "a cup is supporting a box",
            "a cup supports a box",
        ),
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
        (
            "[men|man:NNS=m] [riding:VBG] [mules|mule:NNS=h]",
            "m ride h",
            "men feeding mules",
            "men on mules",
        ),
    ],
)
def test_relation_foils_keep_the_form(marked: str, relation: str, expected: str, unexpected: str):
    subject, predicate, target = relation.split()
    surface = re.findall(r"\[([^\]:=]+):(?:VB.?|IN)\]", marked)[0]
    parsed = parse(marked, (subject, predicate.replace("-", " "), target, surface))
    captions = list_captions(parsed, ALL_WORDS)
    assert expected in captions
    assert unexpected not in captions


def test_number_degree_case_and_mass_nouns():
    boxes = parse("Two [larger|large:JJR>b] [boxes|box:NNS=b]")
    captions = list_captions(boxes)
    assert "Two smaller boxes" in captions
    assert "Two larger baskets" in captions
    tree = parse("a [tree:NN=t]")
    vocabulary = Vocabulary({"grass": 9, "jeans": 9, "cactus": 1})
    assert list_captions(tree, vocabulary)[0] == "a cactus"
    assert not {"grass", "jeans"} & set(find_words(tree, "tree", vocabulary))


def test_capitals_of_the_caption_are_kept():
    shouting, title = (
        parse("A [RED|red:JJ>c] [CAR|car:NN=c]"),
        parse("The [Red|red:JJ>c] [Car|car:NN=c]"),
    )
    assert "A BLUE CAR" in list_captions(shouting)
    assert "The Blue Car" in list_captions(title)
    acronym = parse("a [TV|tv:NN=t] [on:IN] a [table:NN=b]", ("t", "on", "b", "on"))
    assert all(caption.islower() for caption in list_captions(acronym) if "TV" not in caption)


def test_compound_foils_of_the_paper():
    """Table 2: "a pink car" becomes "a blue car and a pink toy"."""
    car = parse("A [pink:JJ>c] [car:NN=c].")
    vocabulary = Vocabulary({"truck": 1}, {"blue": 1})
    negatives = make_comp_foils(car, collect_facts(car.graph), vocabulary)
    assert negatives[0] == HardNegative(
        "A blue car and a pink truck.",
        (Foil("attribute", "pink", "blue"), Foil("object", "car", "truck")),
    )
    assert all(len(negative.foils) == 2 for negative in negatives)


def test_compound_foils_replace_two_different_atoms_of_a_relation():
    plain = parse("a [cup:NN=c] [on:IN] a [table:NN=t]", ("c", "on", "t", "on"))
    negatives = make_comp_foils(plain, collect_facts(plain.graph), MICROWORLD)
    kinds = {
        tuple(sorted((foil.type, foil.original) for foil in negative.foils))
        for negative in negatives
    }
    assert kinds == {
        (("object", "cup"), ("relation", "on")),
        (("object", "cup"), ("object", "table")),
        (("object", "table"), ("relation", "on")),
    }


def test_compound_foils_require_exactly_one_compound():
    assert make_comp_foils(RED_CUP, collect_facts(RED_CUP.graph), MICROWORLD) == []
    with_tree = parse("a [red:JJ>c] [car:NN=c] and a [tree:NN=t]")
    core = extract_only_compound(with_tree)
    assert core is not None
    assert core.caption == "a red car"
    assert [core.caption[mention.start : mention.end] for mention in core.mentions] == [
        "red",
        "car",
    ]


def test_with_is_not_replaced_before_a_pronoun():
    plain = parse("a [table:NN=t] [with:IN] a [cup:NN=c]", ("t", "with", "c", "with"))
    completed = parse("a [table:NN=t] [with:IN] a [cup:NN=c] on it", ("t", "with", "c", "with"))
    assert "a table without a cup" in list_captions(plain, ALL_WORDS)
    assert not find_words(completed, "with", ALL_WORDS)


@pytest.mark.parametrize("noun", ALL_NOUNS)
def test_each_microworld_noun_has_three_known_foils(noun: str):
    parsed = parse(f"the [{noun}:NN=n]")
    assert len(find_words(parsed, noun) & set(ALL_NOUNS)) >= 3


@pytest.mark.parametrize("attribute", [*COLORS, *PATTERNS[1:], "small", "large"])
def test_each_microworld_attribute_has_known_foils(attribute: str):
    """Colours have seven foils, patterns two (captions never say "plain"), and sizes one."""
    parsed = parse(f"the [{attribute}:JJ>n] [ball:NN=n]")
    known = find_words(parsed, attribute) & set(MICROWORLD.attributes)
    assert len(known) == (7 if attribute in COLORS else 2 if attribute in PATTERNS else 1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_microworld_relation_has_three_foils(relation: str):
    verb, text = relation.split()[0], relation
    # The parser returns the active verb.
    if relation in (
        "eaten by",
        "pulled by",
        "pushed by",
        "ridden by",
    ):
        text = verb_lemma(verb)
        parsed = parse(f"a [cat:NN=c] [{verb}:VBN] by a [hat:NN=h]", ("h", text, "c", verb))
    elif relation in ("eating", "pulling", "pushing", "riding"):
        text = verb_lemma(verb)
        parsed = parse(f"a [cat:NN=c] [{verb}:VBG] a [hat:NN=h]", ("c", text, "h", verb))
    else:
        parsed = parse(f"a [cat:NN=c] [{relation}:IN] a [hat:NN=h]", ("c", relation, "h", relation))
    assert len(find_words(parsed, text)) >= 3


def test_vocabulary_counts_lemmas_and_synonyms_together():
    objects = (
        SceneObject("1", "cups", ("red",)),
        SceneObject("2", "cup"),
        SceneObject("3", "grey keys"),
    )
    edges = (
        Relation("1", "under", "2"),
        Relation("2", "is below", "1"),
        Relation("1", "eating", "2"),
    )
    known = Vocabulary.of([SceneGraph(objects, edges)])
    assert known.nouns == {"cup": 2}  # WordNet has no "grey key"
    assert known.attributes == {"red": 1}
    assert known.relations == {"below": 2, "eat": 1}
    assert Vocabulary.of([SceneGraph(objects, edges)], min_count=2).attributes == {}


def test_nouns_of_a_real_image_are_never_its_foils(real_data: Path):
    objects = json.loads(
        (real_data / "visual_genome/v1.2.0/objects.json").read_text(encoding="utf-8")
    )
    for record in objects[:2]:
        names = sorted({name for item in record["objects"] for name in item["names"]})
        image = SceneGraph(
            tuple(SceneObject(str(number), name) for number, name in enumerate(names))
        )
        vocabulary = Vocabulary.of(
            [image, SceneGraph(tuple(SceneObject(noun, noun) for noun in ALL_NOUNS))]
        )
        for name in names[::8]:
            caption = Parse(
                name,
                SceneGraph((SceneObject("n", name),)),
                (Mention("object", name, 0, len(name), "NN", "n"),),
            )
            assert not find_words(caption, name, vocabulary, image=image) & set(names)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Parse, SceneGraph]:
    """Draw a caption of two objects, and the graph of an image with these and up to three other objects."""
    nouns = draw(st.lists(st.sampled_from(ALL_NOUNS), min_size=2, max_size=5, unique=True))
    colors = [draw(st.sampled_from(list(COLORS))) for _ in nouns]
    relation = draw(st.sampled_from(["on", "under", "to the left of", "in front of", "next to"]))
    parsed = parse(
        f"a [{colors[0]}:JJ>a] [{nouns[0]}:NN=a] [{relation}:IN] a [{colors[1]}:JJ>b] [{nouns[1]}:NN=b]",
        ("a", relation, "b", relation),
    )
    objects = tuple(
        SceneObject(f"{n}", *pair)
        for n, pair in enumerate(zip(nouns, ((color,) for color in colors), strict=True))
    )
    return parsed, SceneGraph(objects, (Relation("0", relation, "1"),))


@settings(max_examples=20, deadline=None)
@given(scenes())
def test_foils_change_exactly_one_atom(scene: tuple[Parse, SceneGraph]):
    parsed, image = scene
    negatives = make_foils(parsed, image=image)
    assert (
        len(
            {
                fold_case_and_space(caption)
                for caption in (parsed.caption, *(item.caption for item in negatives))
            }
        )
        == len(negatives) + 1
    )
    for caption, ((kind, original, replacement),) in negatives:
        old, new = find_difference(parsed.caption, caption)
        assert old in original
        assert new.removesuffix("ing") in replacement
        assert kind != "object" or replacement not in {item.name for item in image.objects}


def find_difference(first: str, second: str) -> tuple[str, str]:
    """Return the words in which two texts differ, without articles: those of the first text and those of the second."""
    words = [[word for word in text.split() if word not in ("a", "an")] for text in (first, second)]
    for end in (0, -1):
        while words[0] and words[1] and words[0][end] == words[1][end]:
            for text in words:
                del text[end]
    return " ".join(words[0]), " ".join(words[1])


@pytest.mark.acceptance
def test_negatives_do_not_depend_on_the_hash_seed():
    """A process with another hash seed generates the same negatives."""
    program = f"import runpy; print(runpy.run_path({__file__!r})['dump_negatives']())"
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[4],
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == dump_negatives()


def dump_negatives() -> str:
    dog = parse("a [small:JJ>d] [dog:NN=d]")
    return json.dumps(
        [
            make_atom_foils(dog, collect_facts(dog.graph)),
            make_comp_foils(dog, collect_facts(dog.graph)),
        ]
    )
