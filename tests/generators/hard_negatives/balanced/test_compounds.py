"""Balanced hard negatives of captions with one compound."""

from collections import Counter
from functools import cache, partial
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Compound
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.balanced.compounds import (
    BALANCED_NEGATIVES,
    CountWeights,
    SplitCompounds,
    find_parts,
    find_usable_words,
    keep_words,
    make_balanced_negatives,
)
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.parser.caption_parser import CaptionParser, make_parser
from tests.close import assert_close

NOUNS = ("ball", "cup", "hat", "kite", "lamp", "table", "vase", "box", "clock")
COLORS = ("red", "blue", "green", "yellow", "white", "black", "purple", "orange")
VOCABULARY = Vocabulary(dict.fromkeys(NOUNS, 10), dict.fromkeys(COLORS, 10), {"on": 5}, {"on": 5})


def ao(noun: str, color: str) -> Compound:
    return Compound("ao", noun, None, color)


def oro(subject: str, relation: str, target: str) -> Compound:
    return Compound("oro", subject, relation, target)


@cache
def load_parser() -> CaptionParser:
    return make_parser()


def make_row(caption: str, image_id: str = "1") -> dict:
    """Return a row whose image shows what the caption says, and nothing else."""
    (parse,) = load_parser().parse([caption])
    parts = find_parts(parse, collect_facts(parse.graph), VOCABULARY, Random(0))
    compounds = [compound._asdict() for compound in parse.graph.compounds]
    return {
        "image_id": image_id,
        "crop_id": f"crop {image_id}",
        "caption": caption,
        "compounds": compounds,
        "parts": [part._asdict() for part in parts],
        "draw_key": f"key {image_id}",
    }


def test_parts_are_the_places_of_the_compound_and_the_words_that_make_it_false():
    noun, color = make_row("the red ball")["parts"]
    assert (noun["place"], noun["kind"], noun["text"]) == ("subject", "object", "ball")
    assert set(noun["words"]) == {*NOUNS} - {"ball"}
    assert (color["place"], color["kind"], color["text"]) == ("object", "attribute", "red")
    assert set(color["words"]) == {*COLORS} - {"red"}


def test_a_noun_that_the_image_shows_replaces_no_other():
    subject, target = make_row("a cup on a table")["parts"]
    assert {"cup", "table"}.isdisjoint(subject["words"])
    assert {"cup", "table"}.isdisjoint(target["words"])


@pytest.mark.parametrize("caption", ["a ball", "a red cup on a blue table"])
def test_only_captions_with_one_compound_have_parts(caption: str):
    assert make_row(caption)["parts"] == []


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """Return every colour of every noun, each in an image of its own, twice."""
    pairs = [(noun, color) for noun in NOUNS for color in COLORS] * 2
    return [
        make_row(f"a {color} {noun}".replace("a orange", "an orange"), str(n))
        for n, (noun, color) in enumerate(pairs)
    ]


NO_IMAGES = ImageNouns({})
PAIRS = {ao(noun, color) for noun in NOUNS for color in COLORS}


def read_words(caption: str) -> tuple[str, str]:
    _, color, noun = caption.split()
    return noun, color


@pytest.mark.parametrize("kind", BALANCED_NEGATIVES)
def test_captions_of_a_set_differ_in_the_same_way(kind: str, rows: list[dict]):
    columns = make_balanced_negatives(rows, kind, PAIRS, NO_IMAGES, refine=False)
    sizes = Counter(map(len, columns))
    assert set(sizes) <= {0, BALANCED_NEGATIVES[kind]}
    assert sizes[BALANCED_NEGATIVES[kind]] > len(rows) / 2
    for row, negatives in zip(rows, columns, strict=True):
        texts = [row["caption"], *(item["caption"] for item in negatives)]
        same = [sum(map(str.__eq__, *map(read_words, pair))) for pair in combinations(texts, 2)]
        assert set(same) <= {1 if kind == "hnatom_balanced" else 0}
        assert {len(item["foils"]) for item in negatives} <= {1 if kind == "hnatom_balanced" else 2}


def test_no_foil_makes_a_compound_of_the_other_split(rows: list[dict]):
    foreign = {ao(noun, color) for noun, color in zip(NOUNS, COLORS, strict=False)}
    own = [row for row in rows if Compound(**row["compounds"][0]) not in foreign]
    for kind in BALANCED_NEGATIVES:
        columns = make_balanced_negatives(
            own, kind, PAIRS - foreign, NO_IMAGES, foreign, refine=False
        )
        made = {ao(*read_words(item["caption"])) for negatives in columns for item in negatives}
        assert made
        assert made.isdisjoint(foreign)


def test_a_set_with_a_rejected_text_is_left_out(rows: list[dict]):
    make = partial(make_balanced_negatives, rows, "hnatom_balanced", PAIRS, NO_IMAGES, refine=False)
    first = make()
    index = next(index for index, negatives in enumerate(first) if negatives)
    rejected = {rows[index]["crop_id"]: frozenset({first[index][0]["caption"]})}
    assert make(rejected=rejected) == [*first[:index], [], *first[index + 1 :]]


def test_foils_are_stated_by_other_captions_as_often_as_true_compounds():
    """Of twelve captions, three state a compound of their own, four state two compounds, and five another one.

    Without their own caption, the true compounds are therefore stated 0 times (three), once (four) and at least three
    times (five). As foils, three are stated once, four twice and five at least three times. With the smoothing of 0.5,
    a compound of one caption has the weight (4 + 0.5) / 3, one of two 2 * (0 + 0.5) / 4, one of five
    5 * (5 + 0.5) / 5. A new one is expected 3/6 times per compound.
    """
    weights = CountWeights([1, 1, 1, 2, 2, 5])
    assert_close([weights.weigh(count) for count in (1, 2, 5)], [4.5 / 3, 2 * 0.5 / 4, 5 * 5.5 / 5])
    assert (weights.new_share, weights.new_per_compound) == (3 / 12, 3 / 6)


def test_weights_leave_out_the_caption_itself():
    """Without the caption itself, a cup is on a table once and a hat twice. A lamp on a table is of the other split."""
    captions = (
        [oro("cup", "on", "table")] * 2
        + [oro("hat", "on", "table")] * 2
        + [oro("hat", "on", "box")]
    )
    weights = SplitCompounds(captions, set(), {oro("lamp", "on", "table")}, NO_IMAGES)
    words = weights.weigh(oro("cup", "on", "table"), "subject", ["cup", "hat", "lamp", "vase"])
    # Counts 2, 2 and 1: four true compounds are stated by one other caption, and one by none.
    assert_close(words, {"cup": 1 * 4.5 / 1, "hat": 2 * 0.5 / 4, "vase": 0})


def test_related_nouns_may_be_new_combinations():
    """A vase and a kite on a table are new, and images show both with tables: two of four vases, one of three kites.

    Two nouns are on a table, two captions have a vase on something, and one a kite. Five of the seven captions state a
    compound of their own, of six compounds. No image shows the ball with a table.
    """
    captions = [oro("cup", "on", "table")] * 2 + [
        oro("hat", "on", "table"),
        oro("vase", "on", "box"),
    ]
    captions += [oro("vase", "on", "bed"), oro("kite", "on", "box"), oro("ball", "on", "box")]
    shown = (
        [["vase", "table"]] * 2 + [["vase"]] * 2 + [["kite", "table"]] + [["kite"]] * 2 + [["ball"]]
    )
    images = ImageNouns({str(image): nouns for image, nouns in enumerate(shown)})
    words = SplitCompounds(captions, set(), set(), images).weigh(
        captions[0], "subject", ["vase", "kite", "ball"]
    )
    vase, kite, num_nouns_on_a_table = 2 * 2 / 4, 1 * 1 / 3, 2
    new = 5 / 6 * num_nouns_on_a_table
    assert_close(
        words, {"vase": new * vase / (vase + kite), "kite": new * kite / (vase + kite), "ball": 0}
    )


def test_new_combinations_are_of_nouns_that_an_image_shows_together():
    captions = [
        oro("cup", "on", "table"),
        oro("hat", "on", "box"),
        oro("hat", "on", "table"),
        oro("cup", "on", "bed"),
    ]
    images = ImageNouns({"1": ["cup", "box"], "2": ["hat", "bed"]})
    for shown, new in (
        (images, {oro("cup", "on", "box"), oro("hat", "on", "bed")}),
        (NO_IMAGES, set()),
    ):
        compounds = SplitCompounds(captions, set(), set(), shown)
        drawn = {
            compound for seed in range(50) for compound in compounds.draw(captions[0], Random(seed))
        }
        assert drawn - {*captions} == new


def test_a_true_combination_is_shown_by_another_image():
    captions = [oro("cup", "on", "table"), oro("hat", "on", "box")]
    images = ImageNouns({"1": ["cup", "table"], "2": ["cup", "table"], "3": ["hat", "box"]})
    assert [
        SplitCompounds(captions, set(), set(), images).may_be_true(item) for item in captions
    ] == [True, False]


def test_a_noun_and_its_attribute_must_be_stated_by_another_caption():
    compounds = SplitCompounds(
        [ao("ball", "red"), ao("ball", "red"), ao("ball", "pink")], [], [], NO_IMAGES
    )
    assert compounds.may_be_true(ao("ball", "red"))
    assert not compounds.may_be_true(ao("ball", "pink"))


def test_words_that_are_rarely_false_are_cues():
    """A ball is true in three rows and half of the negatives of one; a hat is true in one row and half of four."""

    def negatives(noun: str, *foils: str) -> list[HardNegative]:
        return [HardNegative(f"a {foil}", (Foil("object", noun, foil),)) for foil in foils]

    rows = [negatives("ball", "hat", "cup")] * 3 + [
        negatives("hat", "cup", "box"),
        negatives("cup", "ball", "hat"),
        [],
    ]
    # True and false: ball 3 and 1/2, hat 1 and 2, cup 1 and 2, box 0 and 1/2.
    assert find_usable_words(rows) == set()
    assert find_usable_words([*rows, negatives("hat", "box", "kite")]) == {("object", "hat")}


def test_only_usable_words_replace_and_are_replaced():
    row = make_row("the red ball")
    usable = {("object", "ball"), ("object", "cup"), ("attribute", "blue")}
    noun, color = keep_words(row, usable)["parts"]
    assert (noun["text"], noun["words"]) == ("ball", ["cup"])
    assert (color["text"], color["words"]) == ("red", [])


@given(
    st.lists(st.tuples(st.sampled_from(NOUNS), st.sampled_from(COLORS)), min_size=1),
    st.integers(0, 9),
)
def test_drawn_compounds_have_the_relation_and_the_words_of_the_split(
    pairs: list[tuple[str, str]], seed: int
):
    compounds = [ao(*pair) for pair in pairs] + [Compound("oro", "cup", "on", "table")]
    for drawn in SplitCompounds(compounds, PAIRS, frozenset(), NO_IMAGES).draw(
        compounds[0], Random(seed)
    ):
        assert drawn.relation is None
        assert drawn.subject in {noun for noun, _ in pairs}
        assert drawn.object in {color for _, color in pairs}
