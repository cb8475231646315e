"""``rules: paper``: walks, foils, swaps and negations of CREPE's authors, on graphs worked by hand."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.captioned_walks import CaptionedWalk
from compeval.generators.captioner.captioner import EditableCaption, NoCaption, Request
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.prompted import make_captioner
from compeval.generators.graphs.entailment import Negated
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.uniform_walks import (
    draw_uniform_walk,
    repeats_object,
    select_annotated,
)
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.graphs.walks import Walk
from compeval.generators.hard_negatives.crepe.annotated import is_new, may_be_negated
from compeval.generators.hard_negatives.crepe.in_place import negate_in_place, swap_in_place
from compeval.generators.hard_negatives.crepe.paper_example import PaperExample
from compeval.generators.hard_negatives.crepe.paper_foils import (
    PREPOSITIONS,
    draw_foils,
    list_words,
)
from compeval.generators.hard_negatives.crepe.source import ImageSource, Source
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.systematicity import FOIL_RULES
from compeval.generators.hard_negatives.rejections import Rejections

BOX = Box(0, 0, 300, 250)
PINK_CAR = Parse(
    "a pink car",
    SceneGraph((SceneObject("o0", "car", ("pink",)),)),
    (Mention("attribute", "pink", 2, 6, "JJ", "o0"), Mention("object", "car", 7, 10, "NN", "o0")),
)
TWO_CARS = SceneGraph(
    (SceneObject("1", "car", ("pink",), BOX), SceneObject("2", "car", (), Box(400, 0, 200, 200)))
)
DOGS = SceneGraph(
    (
        SceneObject("1", "dog", ("black", "big"), BOX),
        SceneObject("2", "dog", ("big",), BOX),
        SceneObject("3", "roof", (), BOX),
        SceneObject("4", "cat", (), BOX),
    ),
    (Relation("1", "on", "3"), Relation("4", "of", "3")),
)


def keep_first(graph: SceneGraph, *keys: str) -> SceneGraph:
    edges = tuple(edge for edge in graph.relations if {edge.subject, edge.object} <= {*keys})
    return SceneGraph(tuple(item for item in graph.objects if item.id in keys), edges)


@pytest.mark.parametrize(
    ("word", "included", "excluded"),
    [
        (
            "cat",
            {"dog", "wolf", "fox"},
            {"cat"},
        ),  # the shared hypernym is carnivore; wolf: two steps up and two down
        ("light", {"dark"}, {"light"}),
        ("has", {"lack", "refuse"}, {"have"}),
        ("in", set(PREPOSITIONS) - {"in"}, {"in"}),
    ],
)
def test_words_of_the_published_files_are_foils(
    word: str, included: set[str], excluded: set[str]
) -> None:
    assert set(list_words(word)) >= included
    assert excluded.isdisjoint(list_words(word))


def test_a_foil_is_not_annotated_and_need_not_be_false() -> None:
    """Of two cars, one has no colour: nothing proves that there is no blue car, and the graph does not have one."""
    pool = {rules: FOIL_RULES[rules].make_pool for rules in (OURS, PAPER)}
    image, facts = AnnotatedImage("1", 300, 250, TWO_CARS), collect_facts(TWO_CARS)
    ours, paper = (pool[rules](PINK_CAR, image, facts, Vocabulary()) for rules in (OURS, PAPER))
    assert not [item for item in ours["hnatom"] if item.foils[0].type == "attribute"]
    captions = {
        item.caption for item in draw_foils(PINK_CAR, PINK_CAR.mentions[0], TWO_CARS, Random(0))
    }
    assert {"a blue car", "a white car"} <= captions
    assert "a pink car" not in captions
    assert len(paper["hncomp"]) > 6
    assert {item.foils[0].type for item in paper["hnatom"]} == {"attribute", "object"}


@pytest.mark.parametrize(
    ("negated", "expected"),
    [
        (Negated("attribute", "1", "black"), True),  # the other big dog is not on the roof
        (Negated("object", "1", "dog"), True),
        (Negated("relation", "1", "on", Relation("1", "on", "3")), True),
    ],
)
def test_negations_are_checked_with_the_image(negated: Negated, expected: bool) -> None:
    subgraph = keep_first(DOGS, "1", "3")
    assert may_be_negated(negated, subgraph, DOGS) is expected
    with_second_dog = SceneGraph(DOGS.objects, (*DOGS.relations, Relation("2", "on", "3")))
    assert may_be_negated(negated, subgraph, with_second_dog) is (negated.kind != "attribute")
    alone = keep_first(DOGS, "1")
    if negated.kind == "attribute":
        assert not may_be_negated(negated, alone, DOGS)  # the other big dog is not black


def test_a_relation_is_not_negated_if_another_pair_has_another_one() -> None:
    edge = Relation("1", "on", "3")
    image = SceneGraph(DOGS.objects, (*DOGS.relations, Relation("2", "beside", "3")))
    assert not may_be_negated(
        Negated("relation", "1", "on", edge), keep_first(DOGS, "1", "3"), image
    )


def test_swaps_are_new_to_the_image() -> None:
    cup, box = SceneObject("1", "cup", ("red",)), SceneObject("2", "box", ("blue",))
    graph = SceneGraph((cup, box), (Relation("1", "on", "2"),))
    by_foil = {foil.replacement: edited for edited, foil in make_swaps(graph, strict=False)}
    assert is_new(by_foil["box, cup"], graph, graph)
    assert is_new(by_foil["blue"], graph, graph)
    is_blue = SceneGraph((replace(cup, attributes=("red", "blue")), box), graph.relations)
    assert not is_new(
        by_foil["blue"], graph, is_blue
    )  # A.4: no attribute may be one of its new object's in G
    has_blue_cup = SceneGraph((*graph.objects, SceneObject("3", "cup", ("blue",))), graph.relations)
    assert is_new(by_foil["blue"], graph, has_blue_cup)  # another object does not count


def test_an_object_does_not_get_an_attribute_that_it_has() -> None:
    cup, table = SceneObject("1", "cup", ("red", "big")), SceneObject("2", "table", ("red",))
    graph = SceneGraph((cup, table), (Relation("1", "on", "2"),))
    swaps = [
        edited for edited, _ in make_swaps(graph, strict=False) if is_new(edited, graph, graph)
    ]
    assert len(swaps) > 1
    assert all(
        len(set(item.attributes)) == len(item.attributes)
        for edited in swaps
        for item in edited.objects
    )


def test_texts_are_those_of_the_published_files() -> None:
    objects = tuple(SceneObject(name, name) for name in ("woman", "water", "hand"))
    graph = SceneGraph(objects, (Relation("woman", "on", "water"),))
    text = "woman on water. there is a hand"
    mentions = tuple(Mention("object", name, text.find(name), text.find(name) + len(name), "NNS", name) for name in
                     ("woman", "water", "hand"))  # fmt: skip
    caption = ParsedCaption(
        graph, text, (*mentions, Mention("relation", "on", 6, 8, "IN", "woman", "water")), ""
    )
    names = {"woman": "woman", "water": "hand", "hand": "water"}
    swapped = SceneGraph(tuple(SceneObject(key, names[key]) for key in names), graph.relations)
    assert swap_in_place(caption, swapped) == "woman on hand. there is a water"
    assert (
        negate_in_place(caption, Negated("object", "hand", "hand")) == f"{text}. there is no hand"
    )
    assert negate_in_place(caption, Negated("attribute", "hand", "left")) is None


def test_walks_use_the_whole_graph() -> None:
    graph = select_annotated(DOGS)
    assert {edge.predicate for edge in graph.relations} == {
        "on",
        "of",
    }  # the grammar cannot express "of"
    walks = [
        draw_uniform_walk(graph, size, Random(seed)) for size in (4, 5, 9) for seed in range(20)
    ]
    assert {walk.complexity for walk in walks if walk} == {
        4,
        5,
        9,
    }  # a walk may end with a relation that does not fit
    assert draw_uniform_walk(graph, 10, Random(0)) is None
    assert repeats_object(SceneGraph((SceneObject("1", "lamb"), SceneObject("2", "lamb"))))
    assert not repeats_object(
        SceneGraph((SceneObject("1", "lamb"), SceneObject("2", "lamb", ("white",))))
    )


def test_the_first_compound_is_drawn_uniformly() -> None:
    """The roof has two relations and no attribute; the first dog has two attributes and a relation."""
    starts = Counter[str]()
    for seed in range(600):
        walk = draw_uniform_walk(select_annotated(DOGS), 2, Random(seed))
        if walk is not None and walk.objects[0].id == "1":
            starts[walk.objects[0].attributes[0]] += 1
    assert abs(starts["black"] - starts["big"]) < 60  # with two atoms, the relation does not fit
    assert 100 < starts.total() < 260


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (keep_first(DOGS, "1", "3"), "black and big dog on roof"),
        (keep_first(DOGS, "3", "4"), "cat of roof"),
        (keep_first(DOGS, "1", "3", "4"), "black and big dog on roof. cat of roof"),
        (keep_first(DOGS, "3", "2"), "big dog and a roof"),
    ],
)
def test_template_expresses_every_predicate(graph: SceneGraph, text: str) -> None:
    (template,) = (make_captioner({}, True, PAPER).four_atoms,)  # pyright: ignore[reportAttributeAccessIssue]
    (caption,) = template.captions([Request(graph, "")])
    assert isinstance(caption, EditableCaption)
    assert caption.text == text
    assert all(text[item.start : item.end] == item.text for item in caption.mentions)


def test_grammar_leaves_out_what_it_cannot_express() -> None:
    graph = SceneGraph(DOGS.objects, (*DOGS.relations, Relation("4", "for", "1")))
    (caption,) = make_captioner({}, False, PAPER).captions([Request(graph, "")])
    assert caption == NoCaption("the grammar cannot express a predicate")


def test_an_example_has_five_negatives_of_each_type() -> None:
    graph = keep_first(DOGS, "1", "3", "4")
    image = AnnotatedImage("1", 300, 250, DOGS)
    (caption,) = make_captioner({}, True, PAPER).four_atoms.captions(  # pyright: ignore[reportAttributeAccessIssue]
        [Request(graph, "")]
    )
    source = ImageSource(
        image, Source(Annotations(Path("none")), Vocabulary.of([DOGS]), Rejections({}))
    )
    walk = CaptionedWalk("key", "1", Walk(graph, BOX), caption)
    example = PaperExample(walk, source, lambda texts: [float(len(text)) for text in texts])
    counts = {kind: len(getattr(example, kind)) for kind in ("hnatom", "hnswap", "hnneg", "hnall")}
    assert counts == {"hnatom": 5, "hnswap": 5, "hnneg": 5, "hnall": 15}
    assert len({negative.caption for negative in example.hnall}) == 15
    assert caption.text not in {negative.caption for negative in example.hnall}
