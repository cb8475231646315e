"""``rules: paper``: walks, foils, swaps and negations of CREPE's authors, on graphs worked by hand."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from compeval.base.pipeline.params import PAPER
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import (
    AtomKind,
    Box,
    Mention,
    Parse,
    Relation,
    SceneGraph,
    SceneObject,
)
from compeval.base.text_only.gaps import score_by_caption
from compeval.generators.captioner.captioned_walks import CaptionedWalk
from compeval.generators.captioner.captioner import EditableCaption, NoCaption, Request
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.prompted import make_captioner
from compeval.generators.graphs.entailment import Negated
from compeval.generators.graphs.uniform_walks import draw_uniform_walk, select_annotated
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.graphs.walks import Walk
from compeval.generators.hard_negatives.crepe.annotated import is_new, may_be_negated
from compeval.generators.hard_negatives.crepe.in_place import (
    negate_all_in_place,
    negate_in_place,
    swap_in_place,
)
from compeval.generators.hard_negatives.crepe.paper_example import PaperExample
from compeval.generators.hard_negatives.crepe.paper_foils import (
    Slot,
    draw_atoms,
    list_region_slots,
    list_slots,
    list_words,
)
from compeval.generators.hard_negatives.crepe.paper_regions import (
    Compound,
    draw_region_atoms,
    draw_region_compounds,
)
from compeval.generators.hard_negatives.crepe.source import ImageSource, Source
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.hard_negative import Foil
from compeval.generators.hard_negatives.rejections import Rejections

BOX = Box(0, 0, 300, 250)
PINK_CAR = Parse(
    "a pink car",
    SceneGraph((SceneObject("o0", "car", ("pink",)),)),
    (Mention("attribute", "pink", 2, 6, "JJ", "o0"), Mention("object", "car", 7, 10, "NN", "o0")),
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
    ("kind", "word", "included", "excluded"),
    [
        # carnivore is above cat's hypernym; "gossip" is a cousin of another sense; "big cat" has two words
        ("object", "cat", {"dog", "wolf", "fox"}, {"cat", "gossip", "big cat", "lion tamer"}),
        (
            "object",
            "car",
            {"truck", "bike", "tank", "motorcycle", "cat"},
            {"auto", "automobile", "machine"},
        ),
        ("object", "sky", {"helium", "neon", "breath"}, {"He", "Ne"}),
        ("object", "trees", {"bush", "shrub"}, {"trees"}),
        # Not a person, the first sense of the noun.
        (
            "attribute",
            "white",
            {"black", "green"},
            {"stranger"},
        ),
        ("attribute", "big", {"little", "small"}, {"large"}),
        ("attribute", "empty", {"full"}, {"box", "glass"}),  # not the container
        ("attribute", "brick", {"concrete", "asphalt"}, {"brick"}),
        ("relation", "has", {"lack", "refuse"}, {"have", "latitude"}),
        ("relation", "wearing", set[str](), {"refresh"}),
        ("attribute", "standing", {"seated"}, {"standing"}),
        (
            "relation",
            "on",
            {"across", "below", "inside", "under"},
            {"off", "near", "by", "at", "in", "over"},
        ),
        ("relation", "in", {"over", "by", "near"}, {"at", "on", "inside"}),
        ("relation", "near", {"on", "at"}, {"around"}),
        ("relation", "on top of", {"underneath"}, set()),
    ],
)
def test_words_of_the_published_files_are_foils(
    kind: AtomKind, word: str, included: set[str], excluded: set[str]
) -> None:
    words = set(list_words(Mention(kind, word, 0, 0, "", "1"), word))
    assert words >= included
    assert excluded.isdisjoint(words)


def make_slots(caption: str, *atoms: tuple[AtomKind, str, str, str]) -> list[Slot]:
    """Return the slots of atoms that are given as kind, text, words in the caption, and tag."""
    mentions = [
        Mention(kind, text, caption.find(words), caption.find(words) + len(words), tag, text)
        for kind, text, words, tag in atoms
    ]
    return list_slots(caption, mentions)


def test_one_word_is_replaced_as_it_is() -> None:
    """Published examples: "a glass ... with an grape", "trucks" for the cars of a "car", "bush" for the "trees"."""
    caption = "an apple near cars, trees and a fire hydrant. there is another apple."
    slots = make_slots(
        caption,
        ("object", "apple", "apple", "NN"),
        ("object", "car", "cars", "NNS"),
        ("object", "trees", "trees", "NNS"),
        ("object", "fire hydrant", "fire hydrant", "NN"),
    )
    # An atom of two words has no foils.
    assert [slot.mention.text for slot in slots] == [
        "apple",
        "car",
        "trees",
    ]
    texts = [
        slot.write(word).caption
        for slot, word in zip(slots, ("grape", "truck", "bush"), strict=True)
    ]
    assert texts == [
        "an grape near cars, trees and a fire hydrant. there is another apple.",
        "an apple near trucks, trees and a fire hydrant. there is another apple.",
        "an apple near cars, bush and a fire hydrant. there is another apple.",
    ]
    assert slots[1].write("truck").foils == (Foil("object", "car", "trucks"),)


def test_two_of_the_five_best_words_of_an_atom_are_drawn() -> None:
    slots = make_slots(
        "a cat on a wall", ("object", "cat", "cat", "NN"), ("object", "wall", "wall", "NN")
    )
    cats, walls = ["dog", "fox", "wolf", "bear", "seal", "hyena"], ["door", "room"]
    scores = [{word: -float(rank) for rank, word in enumerate(words)} for words in (cats, walls)]
    drawn = [[negative.foils[0].replacement for negative in draw_atoms(slots, scores, 4, Random(seed))] for seed in
             range(200)]  # fmt: skip
    assert all(
        sorted(map(walls.__contains__, words[:4])) == [False, False, True, True] for words in drawn
    )
    # Two atoms have four hard negatives at most. A caption that needs five has none.
    assert len(list(draw_atoms(slots, scores, 5, Random(0)))) == 4
    counts = Counter(word for words in drawn for word in words[:4] if word in cats)
    assert set(counts) == set(cats[:5])
    assert max(counts.values()) < 1.5 * min(counts.values())


def test_atoms_of_one_word_have_one_place() -> None:
    """All 5,166 published edits of a word that the caption has twice are of its first place."""
    caption = "cats near a wall. another wall near a cat."
    mentions = [
        Mention("object", "cat", 0, 4, "", "1"),
        Mention("relation", "near", 5, 9, "", "1", "2"),
        Mention("object", "wall", 12, 16, "", "2"),
        Mention("object", "wall", 26, 30, "", "3"),
        Mention("relation", "near", 31, 35, "", "3", "4"),
        Mention("object", "cat", 38, 41, "", "4"),
    ]
    slots = list_slots(caption, mentions)
    assert [(slot.mention.text, slot.gap.start, slot.ending) for slot in slots] == [
        ("cat", 0, "s"),
        ("near", 5, ""),
        ("wall", 12, ""),
        ("wall", 12, ""),
        ("near", 5, ""),
        ("cat", 0, "s"),
    ]
    assert slots[-1].write("dog").caption == "dogs near a wall. another wall near a cat."


def make_region(
    caption: str, graph: SceneGraph, *atoms: tuple[AtomKind, str, str, str | None]
) -> Parse:
    """Return a parse whose mentions are given as kind, text, object and target."""
    spans = [(caption.find(text), text) for _, text, _, _ in atoms]
    mentions = (
        Mention(kind, text, start, start + len(text), "NN", key, target)
        for (start, _), (kind, text, key, target) in zip(spans, atoms, strict=True)
    )
    return Parse(caption, graph, tuple(mentions))


SIDEWALK = make_region(
    "a red brick paved sidewalk",
    SceneGraph((SceneObject("1", "sidewalk", ("red",)),)),
    ("attribute", "red", "1", None),
    ("object", "sidewalk", "1", None),
)
CAT = make_region(
    "a cat on the sofa.",
    SceneGraph((SceneObject("1", "cat"), SceneObject("2", "sofa")), (Relation("1", "on", "2"),)),
    ("object", "cat", "1", None),
    ("relation", "on", "1", "2"),
    ("object", "sofa", "2", None),
)


def test_region_negatives_have_the_form_of_the_published_ones() -> None:
    """Rows of the published files and of Table 17."""
    for parse, words, atoms, compounds in (
        (
            SIDEWALK,
            [{"mall": 0.0}, {"blue": 0.0}],
            {"a blue brick paved sidewalk", "a red brick paved mall"},
            {"a red mall and blue sidewalk"},
        ),
        (
            CAT,
            [{"badger": 0.0}, {"console": 0.0}, {"off": 0.0}],
            {"a badger on the sofa.", "a cat on the console.", "a cat off the sofa."},
            {
                "badger on sofa and cat on console",
                "badger on sofa and cat off sofa",
                "cat on console and cat off sofa",
            },
        ),
    ):
        compound = Compound.find(parse)
        assert compound is not None
        slots = compound.list_slots()
        assert {item.caption for item in draw_region_atoms(slots, words, Random(0))} == atoms
        joined = list(draw_region_compounds(compound, slots, words, Random(0)))
        assert {item.caption for item in joined} == compounds
        assert all(len(item.foils) == 2 for item in joined)


def test_a_foil_need_not_be_false() -> None:
    """The paper consults no graph: a second car may be blue."""
    words = [slot.gap.words for slot in list_region_slots(PINK_CAR.caption, PINK_CAR.mentions)]
    assert {"blue", "white"} <= {*words[0]}
    assert "off" in list_region_slots(CAT.caption, CAT.mentions)[1].gap.words


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
    # A.4: no attribute may be one of its new object's in G.
    assert not is_new(by_foil["blue"], graph, is_blue)
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


def make_caption() -> ParsedCaption:
    objects = (
        SceneObject("1", "ear", ("big",)),
        SceneObject("2", "tails"),
        SceneObject("3", "apple"),
    )
    graph = SceneGraph(objects, (Relation("1", "has", "2"),))
    text = "a big ear has tails. there is a apple."
    atoms: list[tuple[AtomKind, str, str, str, str | None]] = [
        ("attribute", "big", "JJ", "1", None),
        ("object", "ear", "NN", "1", None),
        ("relation", "has", "VBZ", "1", "2"),
        ("object", "tails", "NNS", "2", None),
        ("object", "apple", "NN", "3", None),
    ]
    mentions = (
        Mention(kind, word, text.find(word), text.find(word) + len(word), tag, key, target)
        for kind, word, tag, key, target in atoms
    )
    return ParsedCaption(graph, text, tuple(mentions), "")


@pytest.mark.parametrize(
    ("atom", "expected"),
    [
        (
            Negated("object", "1", "ear"),
            "a big something has tails. there is a apple. there is no ear.",
        ),
        (
            Negated("object", "2", "tails"),
            "a big ear has tails. there is a apple. there are no tails.",
        ),
        (Negated("object", "3", "apple"), "a big ear has tails. there is no apple."),
        (Negated("attribute", "1", "big"), "an ear that is not big has tails. there is a apple."),
        (
            Negated("relation", "1", "has", Relation("1", "has", "2")),
            "a big ear not has tails. there is a apple.",
        ),
        (Negated("attribute", "1", "red"), None),
    ],
)
def test_negations_are_those_of_the_published_files(atom: Negated, expected: str | None) -> None:
    assert negate_in_place(make_caption(), atom) == expected
    assert negate_all_in_place(make_caption()) == [
        "there is no big ear has tails. there is a apple."
    ]


@pytest.mark.parametrize(
    ("text", "noun", "expected"),
    [
        ("a cat on a sofa near a sofa", "cat", "a cat on a sofa near a sofa. there is no cat"),
        ("a cat on a sofa near a sofa", "sofa", "a cat on something near something. there is no sofa"),
        ("cat near sofa.", "cat", "cat near sofa. there is no cat."),
        ("cat near sofa.", "sofa", "cat near sofa. there is no sofa."),
        ("cat on sofa near wall", "sofa", "cat on something near wall. there is no sofa"),
        ("man, his hat, and a dog", "hat", "man, something, and a dog. there is no hat"),
        ("a dog and another dog with a bone", "bone", "a dog and another dog with something. there is no bone"),
        ("sofa near another cat on a bed", "cat", "sofa near another something on a bed. there is no cat"),
        ("bed on sofa. the bed has legs.", "bed", "bed on sofa. the something has legs. there is no bed."),
        ("bed near sofa on a sofa by it", "sofa", "bed near something on a sofa by it. there is no sofa"),
        ("a bed by a dog near another bed on it", "bed", "a bed by a dog near another bed on it. there is no bed"),
        ("bed. there is a sofa.", "sofa", "bed. there is no sofa."),
    ],
)  # fmt: skip
def test_something_replaces_an_object_where_the_published_files_do(
    text: str, noun: str, expected: str
) -> None:
    start = text.index(noun)
    mention = Mention("object", noun, start, start + len(noun), "NN", "1")
    caption = ParsedCaption(SceneGraph((SceneObject("1", noun),)), text, (mention,), "")
    assert negate_in_place(caption, Negated("object", "1", noun)) == expected


def test_swaps_are_those_of_the_published_files() -> None:
    caption = make_caption()
    first, second, third = caption.graph.objects
    swapped = SceneGraph(
        (replace(first, name="apple"), second, replace(third, name="ear")), caption.graph.relations
    )
    assert swap_in_place(caption, swapped) == "a big apple has tails. there is a ear."


def make_swap(text: str, names: tuple[str, str], words: tuple[str, str]) -> str | None:
    """Return a caption with two objects swapped, which the graph names ``names`` and the caption ``words``."""
    objects = tuple(SceneObject(str(number), name) for number, name in enumerate(names))
    graph = SceneGraph(objects)
    mentions = tuple(
        Mention("object", name, match.start(), match.end(), "NN", str(number))
        for number, (name, word) in enumerate(zip(names, words, strict=True))
        for match in re.finditer(rf"\b{name}s?\b|\b{word}\b", text)
    )
    caption = ParsedCaption(graph, text, mentions, "")
    first, second = objects
    edited = SceneGraph((replace(first, name=second.name), replace(second, name=first.name)))
    return swap_in_place(caption, edited)


@pytest.mark.parametrize(
    ("text", "names", "words", "swapped"),
    [
        # Plural endings stay where they are, as in the published row of this caption.
        (
            "pond with ducks and a bird. the bird has a tail, and there are four ducks.",
            ("duck", "tail"),
            ("ducks", "tail"),
            "pond with tails and a bird. the bird has a duck, and there are four tails.",
        ),
        # The graph has the plural, which is its name.
        ("books on a shelf", ("books", "shelf"), ("books", "shelf"), "shelf on a books"),
        ("a dish on couches", ("dish", "couch"), ("dish", "couches"), "a couch on dishes"),
        # An irregular plural is no name with an ending.
        ("men with a cart", ("man", "cart"), ("men", "cart"), "cart with a men"),
    ],
)
def test_swapped_names_keep_the_endings_of_their_places(
    text: str, names: tuple[str, str], words: tuple[str, str], swapped: str
) -> None:
    assert make_swap(text, names, words) == swapped


def test_two_relations_are_swapped_above_four_atoms() -> None:
    """A.4 has this case for four atoms only, and the published files for more. Our own rules do not have it."""
    objects = tuple(
        SceneObject(str(number), name) for number, name in enumerate(("cup", "box", "bed"))
    )
    graph = SceneGraph(objects, (Relation("0", "on", "1"), Relation("2", "near", "0")))

    def list_predicates(*, strict: bool) -> set[tuple[str, ...]]:
        edits = make_swaps(graph, strict=strict)
        return {tuple(edge.predicate for edge in edited.relations) for edited, _ in edits}

    assert graph.complexity == 5
    assert list_predicates(strict=False) == {("on", "near"), ("near", "on")}
    assert list_predicates(strict=True) == {("on", "near")}


def test_in_systematicity_prepositions_have_antonyms_and_verbs_have_none() -> None:
    """Table 17: "cat off sofa". The released productivity files have foils of "has", and none of "wearing"."""

    def list_of(word: str) -> set[str]:
        return set(list_words(Mention("relation", word, 0, 0, "", "1"), word, in_region=True))

    assert "off" in list_of("on")
    assert "lack" in list_of("has")
    assert list_of("wearing") == list_of("facing") == set()
    assert list_of("on top of") == {"underneath"}


def test_walks_are_relations_and_a_last_object() -> None:
    """Three of four published captions of 8 atoms have 5 objects and 3 relations in 2 components."""
    ids = [str(number) for number in range(12)]
    objects = tuple(SceneObject(key, f"thing {key}", ("big",), BOX) for key in ids)
    tree = tuple(Relation(key, "on", str(int(key) // 2)) for key in ids[1:8])
    graph = select_annotated(SceneGraph(objects, (*tree, Relation("1", "of", "2"))))
    # The grammar cannot express "of".
    assert {edge.predicate for edge in graph.relations} == {
        "on",
        "of",
    }
    shapes: dict[int, Counter[tuple[int, int, int]]] = {}
    for size in (4, 5, 8):
        walks = [draw_uniform_walk(graph, size, Random(seed)) for seed in range(200)]
        assert {walk.complexity for walk in walks if walk} == {size}
        shapes[size] = Counter(
            (
                len(walk.objects),
                len(walk.relations),
                sum(len(item.attributes) for item in walk.objects),
            )
            for walk in walks
            if walk
        )
    assert set(shapes[4]) <= {(3, 1, 0), (2, 2, 0)}
    assert set(shapes[5]) == {(3, 2, 0)}
    assert shapes[8].most_common(1)[0][0] == (5, 3, 0)
    assert 20 < shapes[8][4, 3, 1] < 80
    assert draw_uniform_walk(graph, 40, Random(0)) is None


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (keep_first(DOGS, "1", "3"), "black and big dog on roof."),
        (keep_first(DOGS, "3", "4"), "cat of roof."),
        (keep_first(DOGS, "1", "3", "4"), "black and big dog on roof. cat of roof."),
        (keep_first(DOGS, "1", "3", "2"), "black and big dog on roof. there is another big dog."),
        (
            SceneGraph((SceneObject("1", "tails"), SceneObject("2", "ear"))),
            "there is a tails. there is a ear.",
        ),
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
    score = score_by_caption(lambda texts: [float(len(text)) for text in texts])
    example = PaperExample(walk, source, lambda texts: [], score_words=score)
    counts = {kind: len(getattr(example, kind)) for kind in ("hnatom", "hnswap", "hnneg", "hnall")}
    assert counts == {"hnatom": 5, "hnswap": 5, "hnneg": 5, "hnall": 15}
    assert len({negative.caption for negative in example.hnall}) == 15
    assert caption.text not in {negative.caption for negative in example.hnall}
