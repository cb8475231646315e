"""The caption parser: hand-written graphs, invariants, and accuracy on human graphs."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.parser import GraphFacts, Score, read_annotation, read_graph, score
from compeval.base.schemas.scene_graph import Parse
from compeval.generators.parser import lemmas, rule_parser, spacy_model
from compeval.generators.parser.phrasal_prepositions import Phrase, find_phrasal_prepositions
from compeval.generators.parser.rule_parser import RuleParser
from compeval.generators.parser.spacy_model import MAX_CHARACTERS, clean_text, find_installed_model

GRAPHS: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("graphs.yaml").read_text("utf-8")
) | {
    # unusual web captions
    "": "",
    "   ": "",
    "IMG_1234.jpg": "",
    "https://example.com/a.png": "",
    "it": "",
    "!!! 100% ???": "",
    "A RED BALL ON A TABLE": "ball(red), table | ball on table",
    "😀 a red ball 😀": "ball(red)",
    "İstanbul": "istanbul",  # "İ".lower() has two characters
    "\ud800 a red ball": "ball(red)",
}


@pytest.fixture(scope="module")
def parser() -> RuleParser:
    return RuleParser()


def format_graph(parse: Parse) -> str:
    """Return a parse in the notation of GRAPHS."""
    graph = parse.graph
    objects = [
        item.name
        + (
            f"({' '.join(text.replace(' ', '-') for text in item.attributes)})"
            if item.attributes
            else ""
        )
        for item in graph.objects
    ]
    relations = [
        f"{graph.by_id[edge.subject].name} {edge.predicate} {graph.by_id[edge.object].name}"
        for edge in graph.relations
    ]
    return ", ".join(objects) + (f" | {', '.join(relations)}" if relations else "")


@pytest.fixture(scope="module")
def parses(parser: RuleParser) -> dict[str, Parse]:
    return {parse.caption: parse for parse in parser.parse(GRAPHS)}


@pytest.mark.parametrize("caption", GRAPHS)
def test_graphs(caption: str, parses: dict[str, Parse]) -> None:
    assert format_graph(parses[caption]) == GRAPHS[caption]


@pytest.mark.parametrize(
    ("caption", "spans"),
    [
        (
            "Two dogs are sitting on the top of a box",
            ["dogs", "Two", "box", "sitting on the top of"],
        ),
        ("a hat worn by a cat", ["hat", "cat", "worn"]),
        ("the cat's dark green hat", ["cat", "hat", "dark green", "'s"]),
        ("a man lying on a floor with dogs", ["man", "floor", "dogs", "lying on", "with"]),
        ("a cup and a vase on a table", ["cup", "vase", "table", "on", "on"]),
    ],
)
def test_mentions_are_the_words_of_the_caption(
    parser: RuleParser, caption: str, spans: list[str]
) -> None:
    (parse,) = parser.parse([caption])
    assert [caption[mention.start : mention.end] for mention in parse.mentions] == spans


def test_mention_fields(parser: RuleParser) -> None:
    (parse,) = parser.parse(["two boxes sitting on a table"])
    boxes, two, _, sit = parse.mentions
    assert (boxes.text, boxes.tag, boxes.object, boxes.target) == ("box", "NNS", "o0", None)
    assert (two.text, two.tag, two.object) == ("2", "CD", "o0")
    assert (sit.text, sit.tag, sit.object, sit.target) == ("sit on", "VBG", "o0", "o1")


@pytest.mark.parametrize(
    ("caption", "tag"),
    [("two fish", "NNS"), ("the sheep are white", "NNS"), ("a fish", "NN"), ("one sheep", "NN")],
)
def test_plural_without_s_is_recognised_by_other_words(
    parser: RuleParser, caption: str, tag: str
) -> None:
    (parse,) = parser.parse([caption])
    assert parse.mentions[0].tag == tag


def check_mentions(parse: Parse) -> None:
    """Assert that each atom node has one mention, in the order of the graph's atoms and inside the caption."""
    assert [(mention.kind, mention.text) for mention in parse.mentions] == list(parse.graph.atoms)
    ids = set(parse.graph.by_id)
    for mention in parse.mentions:
        assert 0 <= mention.start < mention.end <= len(parse.caption)
        assert mention.object in ids
        assert mention.target in ids if mention.kind == "relation" else mention.target is None


WORDS = "a the two no not red wooden cat cats ball table on of to left is with that it and , . sits worn by 's holding"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS.split(" ")), max_size=12).map(" ".join) | st.text(max_size=40)
)
def test_any_text_parses(parser: RuleParser, caption: str) -> None:
    (parse,) = parser.parse([caption])
    assert parse.caption == caption
    check_mentions(parse)


def test_long_text_parses(parser: RuleParser) -> None:
    rng = random.Random(0)
    text = " ".join(rng.choices(WORDS.split(" "), k=500))
    (parse,) = parser.parse([text])
    check_mentions(parse)
    (cut,) = parser.parse(["a red ball " * 10_000])
    check_mentions(cut)


def test_invariants_on_real_captions(
    parser: RuleParser, real_data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check mentions and independence of the batch size on web captions."""
    with (real_data / "captions" / "cc3m_validation_8k.tsv").open(encoding="utf-8") as file:
        captions = [line.split("\t")[0] for line, _ in zip(file, range(400), strict=False)]
    parses = list(parser.parse(captions))
    monkeypatch.setattr(rule_parser, "BATCH_SIZE", 7)
    assert parses == list(parser.parse(captions))
    for parse in parses:
        check_mentions(parse)


def test_accuracy_on_human_graphs(parser: RuleParser, real_data) -> None:
    """The minimum precision and recall on all 1,000 captions."""
    with (real_data / "factual" / "dev.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parses = parser.parse(row["caption"] for row in rows)
    scores = score(
        [read_graph(parse.graph) for parse in parses],
        [read_annotation(row["scene_graph"]) for row in rows],
    )
    minimum = {"objects": (0.80, 0.80), "attributes": (0.65, 0.60), "relations": (0.50, 0.45)}
    for kind, (precision, recall) in minimum.items():
        assert scores[kind].precision >= precision
        assert scores[kind].recall >= recall


def test_scorer() -> None:
    annotation = "( two cups , is , red ) , ( cups , sitting on , table ) , ( lamp )"
    annotated = read_annotation(annotation)
    assert annotated == GraphFacts(
        frozenset({"two cup", "cup", "table", "lamp"}),
        frozenset({("two cup", "red")}),
        frozenset({("cup", "sit on", "table")}),
    )
    parsed = GraphFacts(frozenset({"cup", "chair"}), frozenset(), annotated.relations)
    scores = score([parsed], [annotated])
    # Cup of {cup, chair}; 4 annotated.
    assert scores["objects"] == Score(matched=1, parsed=2, annotated=4)
    assert (scores["objects"].precision, scores["objects"].recall) == (0.5, 0.25)
    assert (scores["attributes"].precision, scores["attributes"].recall) == (0.0, 0.0)
    assert scores["relations"].precision == 1.0
    with pytest.raises(ValueError, match="expected 1 or 3 parts"):
        read_annotation("( cup , on )")


def test_phrasal_prepositions() -> None:
    def texts(caption: str) -> list[Phrase]:
        return find_phrasal_prepositions(caption.split())

    assert texts("a ball on the left side of the box") == [(2, 7, "to the left of")]
    assert texts("trees on each side of a road") == [(1, 5, "on both sides of")]
    assert texts("the left of the picture") == []  # a noun phrase, not a preposition
    assert texts("next to a box in front of a cup") == [(0, 2, "next to"), (4, 7, "in front of")]


def test_lemmas() -> None:
    plurals = ["boxes", "leaves", "people", "glasses", "pants", "mice", "bus", "blorgs"]
    singulars = ["box", "leaf", "people", "glass", "pants", "mouse", "bus", "blorg"]
    assert [lemmas.singular(word) for word in plurals] == singulars
    assert lemmas.singular("blorgs", plural=False) == "blorgs"
    assert [lemmas.singular(word) for word in ["malhotra", "jess", "corpus"]] == [
        "malhotra",
        "jess",
        "corpus",
    ]
    forms = ["worn", "lying", "lay", "sitting", "found"]
    assert [lemmas.infinitive(word) for word in forms] == ["wear", "lay", "lay", "sit", "find"]


def test_missing_model_raises_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_model, "MODELS", ("no_such_model",))
    with pytest.raises(ValueError, match=r"no_such_model expected\. Run `pip install"):
        find_installed_model()


def test_import_does_not_load_spacy() -> None:
    code = "import sys, compeval.generators.parser.rule_parser; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def test_the_words_that_spacy_keeps_are_limited(monkeypatch: pytest.MonkeyPatch):
    parser = RuleParser()
    (before,) = parser.parse(["a blorkish cup on a table"])
    vocabulary = parser._nlp.vocab
    monkeypatch.setattr(rule_parser, "MAX_STRINGS", len(vocabulary.strings) - 1)
    (after,) = parser.parse(["a blorkish cup on a table"])
    assert parser._nlp.vocab is not vocabulary
    assert after == before


def test_words_after_the_limit_are_not_parsed(parser: RuleParser) -> None:
    """White space counts before it is squeezed, as in the seen analysis, which reads the same start of a caption."""
    (parse,) = parser.parse([f"a cup{' ' * (MAX_CHARACTERS - 5)}on a table"])
    assert [item.name for item in parse.graph.objects] == ["cup"]


def test_unbroken_runs_and_characters_that_spacy_cannot_encode_or_that_change_their_length_are_replaced():
    brackets = "(" * 20_000
    assert (
        clean_text(f"a red cup {brackets} on a table")
        == f"a red cup {' ' * 20_000} on a table"[:MAX_CHARACTERS]
    )
    assert clean_text("a" * 99) == "a" * 99
    assert clean_text("a \udcf6 cup, \U0001f7722") == "a ? cup, \U0001f7722"
    assert clean_text("FİRS").lower() == "firs"


def test_a_caption_with_thousands_of_brackets_keeps_its_graph(parser: RuleParser):
    (parse,) = parser.parse([f"a red cup {'([{' * 3000} on a table"])
    assert {item.name for item in parse.graph.objects} >= {"cup", "table"}
    assert all(parse.caption[mention.start : mention.end].strip() for mention in parse.mentions)
