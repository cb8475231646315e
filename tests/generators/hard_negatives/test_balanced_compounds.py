"""Balanced hard negatives of captions with one compound."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.graphs.facts import collect_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.balanced_compounds import (
    BALANCED_NEGATIVES,
    SplitCompounds,
    find_parts,
    make_balanced_negatives,
)
from generators.parser.caption_parser import make_parser
from generators.schemas.scene_graph import Compound

NOUNS = ("ball", "cup", "hat", "kite", "lamp", "table", "vase", "box", "clock")
COLORS = ("red", "blue", "green", "yellow", "white", "black", "purple", "orange")
VOCABULARY = Vocabulary(dict.fromkeys(NOUNS, 10), dict.fromkeys(COLORS, 10), {"on": 5}, {"on": 5})


def ao(noun: str, color: str) -> Compound:
    return Compound("ao", noun, None, color)


def make_row(caption: str, image_id: str = "1") -> dict:
    """Return a row whose image shows what the caption says, and nothing else."""
    (parse,) = make_parser().parse([caption])
    parts = find_parts(parse, collect_facts(parse.graph), VOCABULARY, Random(0))
    compounds = [compound._asdict() for compound in parse.graph.compounds]
    return {
        "image_id": image_id,
        "crop_id": f"crop {image_id}",
        "caption": caption,
        "compounds": compounds,
        "parts": [part._asdict() for part in parts],
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


def make_rows() -> list[dict]:
    """Return every colour of every noun, each in an image of its own, twice."""
    pairs = [(noun, color) for noun in NOUNS for color in COLORS] * 2
    return [
        make_row(f"a {color} {noun}".replace("a orange", "an orange"), str(n)) for n, (noun, color) in enumerate(pairs)
    ]


ROWS = make_rows()
PAIRS = {ao(noun, color) for noun in NOUNS for color in COLORS}


def read_words(caption: str) -> tuple[str, str]:
    _, color, noun = caption.split()
    return noun, color


@pytest.mark.parametrize("kind", BALANCED_NEGATIVES)
def test_captions_of_a_set_differ_in_the_same_way(kind: str):
    columns = make_balanced_negatives(ROWS, kind, PAIRS, refine=False)
    sizes = Counter(map(len, columns))
    assert set(sizes) <= {0, BALANCED_NEGATIVES[kind]}
    assert sizes[BALANCED_NEGATIVES[kind]] > len(ROWS) / 2
    for row, negatives in zip(ROWS, columns, strict=True):
        texts = [row["caption"], *(item["caption"] for item in negatives)]
        same = [sum(map(str.__eq__, *map(read_words, pair))) for pair in combinations(texts, 2)]
        assert set(same) <= {1 if kind == "hnatom_balanced" else 0}
        assert {len(item["foils"]) for item in negatives} <= {1 if kind == "hnatom_balanced" else 2}


def test_no_foil_makes_a_compound_of_the_other_split():
    foreign = {ao(noun, color) for noun, color in zip(NOUNS, COLORS, strict=False)}
    rows = [row for row in ROWS if Compound(**row["compounds"][0]) not in foreign]
    for kind in BALANCED_NEGATIVES:
        columns = make_balanced_negatives(rows, kind, PAIRS - foreign, foreign, refine=False)
        made = {ao(*read_words(item["caption"])) for negatives in columns for item in negatives}
        assert made
        assert made.isdisjoint(foreign)


def test_a_set_with_a_rejected_text_is_left_out():
    first = make_balanced_negatives(ROWS, "hnatom_balanced", PAIRS, refine=False)
    index = next(index for index, negatives in enumerate(first) if negatives)
    rejected = {ROWS[index]["crop_id"]: frozenset({first[index][0]["caption"]})}
    second = make_balanced_negatives(ROWS, "hnatom_balanced", PAIRS, rejected=rejected, refine=False)
    assert second == [*first[:index], [], *first[index + 1 :]]


def test_weights_are_discounted_counts_of_the_other_captions():
    """Without the caption itself, a ball is red once and blue twice.

    Red and blue balls occur twice, a green cup once: n1 = 1 and n2 = 2 (blue ball, red ball), so the discount is
    1 / (1 + 2 * 2) = 0.2. Of a ball, two colours are known (red, blue), so 0.2 * 2 is distributed by the colours of the
    other four captions: red 1/4, blue 2/4, green 1/4.
    """
    compounds = [ao("ball", "red")] * 2 + [ao("ball", "blue")] * 2 + [ao("cup", "green")]
    weights = SplitCompounds(compounds, PAIRS, frozenset()).weigh(ao("ball", "red"), "object", ["red", "blue", "green"])
    assert weights == pytest.approx({"red": 0.8 + 0.4 / 4, "blue": 1.8 + 0.4 * 2 / 4, "green": 0.4 / 4})


@given(st.lists(st.tuples(st.sampled_from(NOUNS), st.sampled_from(COLORS)), min_size=1), st.integers(0, 9))
def test_drawn_compounds_have_the_relation_and_the_words_of_the_split(pairs: list[tuple[str, str]], seed: int):
    compounds = [ao(*pair) for pair in pairs] + [Compound("oro", "cup", "on", "table")]
    for drawn in SplitCompounds(compounds, PAIRS, frozenset()).draw(compounds[0], Random(seed)):
        assert drawn.relation is None
        assert drawn.subject in {noun for noun, _ in pairs}
        assert drawn.object in {color for _, color in pairs}
