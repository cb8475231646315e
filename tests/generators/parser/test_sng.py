"""The choice of a parser by name, and the parser of CREPE's authors."""

import builtins
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from compeval.base.readers.corpora import list_shards, read_captions
from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.crepe.systematicity import make_atom_foils
from compeval.generators.parser.caption_parser import make_parser
from compeval.generators.parser.rule_parser import RuleParser
from compeval.generators.parser.sng import SngParser
from compeval.generators.seen_analysis.seen import code_version
from tests.generators.parser.test_word_forms import check_forms


@pytest.fixture(scope="module")
def sng() -> SngParser:
    pytest.importorskip("sng_parser", reason="SceneGraphParser is an optional extra")
    return SngParser()


@pytest.fixture(scope="module")
def as_published(sng: SngParser) -> SngParser:
    return SngParser(as_published=True)


def test_make_parser_by_name(sng: SngParser):
    assert isinstance(make_parser("rules"), RuleParser)
    assert isinstance(make_parser("sng"), SngParser)
    with pytest.raises(
        ValueError, match=r"params\.yaml: parser is 'sgn'; expected rules \(our rules\) or sng"
    ):
        make_parser("sgn")


def test_missing_package_raises_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    original_import = builtins.__import__

    def import_without_parser(name: str, *rest: Any, **named: Any) -> Any:
        if name == "sng_parser":
            raise ImportError(name)
        return original_import(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", import_without_parser)
    with pytest.raises(
        ImportError,
        match=r"parser is sng, but SceneGraphParser is not installed\. Run `pip install SceneGraphParser`",
    ):
        make_parser("sng")


def test_parsers_have_different_code_versions():
    assert code_version("rules") != code_version("sng")


def test_adjectives_belong_to_the_noun_in_whose_phrase_they_are(sng: SngParser):
    """In the published files, "a brown brick paved sidewalk" is an HN-Atom: "red" does not belong to the brick."""
    (parse,) = sng.parse(["a red brick paved sidewalk"])
    assert [item.name for item in parse.graph.objects] == ["sidewalk"]
    assert "red" in parse.graph.objects[0].attributes


def test_mentions_have_the_positions_of_atoms(sng: SngParser):
    caption = (
        "Two large dogs next to a man wearing a blue shirt and holding a tennis racket on the beach"
    )
    (parse,) = sng.parse([caption])
    mentions = {
        (mention.kind, mention.text, caption[mention.start : mention.end])
        for mention in parse.mentions
    }
    assert {("object", "dog", "dogs"), ("object", "tennis racket", "tennis racket")} <= mentions
    assert {
        ("attribute", "large", "large"),
        ("attribute", "blue", "blue"),
        ("relation", "wear", "wearing"),
    } <= mentions
    ends = {mention.object: mention.target for mention in parse.mentions if mention.text == "wear"}
    names = {item.id: item.name for item in parse.graph.objects}
    assert [(names[start], names[end or ""]) for start, end in ends.items()] == [("man", "shirt")]


def test_parses_can_be_used_for_foils(sng: SngParser):
    (parse,) = sng.parse(["a red cup"])
    vocabulary = Vocabulary.of(
        [parse.graph, *(found.graph for found in sng.parse(["a blue ball", "a green cup"]))], 1
    )
    captions = [
        negative.caption
        for negative in make_atom_foils(parse, collect_facts(parse.graph), vocabulary)
    ]
    assert "a blue cup" in captions


def test_forms_are_complete_on_real_captions(sng: SngParser, real_data: Path):
    (web,) = list_shards(str(real_data / "captions" / "web_alt_text_1k.tsv"))
    (conceptual,) = list_shards(str(real_data / "captions" / "cc3m_validation_8k.tsv"))
    texts = (*islice(read_captions(conceptual, 0), 120), *islice(read_captions(web, "TEXT"), 60))
    check_forms(sng, ["I cannot see the cats' dinner", *(" ".join(text.split()) for text in texts)])


def test_graph_of_a_caption(sng: SngParser):
    (parse,) = sng.parse(["A woman is playing the piano"])
    assert parse.graph == SceneGraph(
        (SceneObject("o0", "woman"), SceneObject("o1", "piano")), (Relation("o0", "play", "o1"),)
    )


@pytest.mark.parametrize(
    ("caption", "objects", "raw"),
    [
        ("the dog is black", [("dog", ("black",))], [("dog", ())]),
        (
            "two dogs play in the snow",
            [("dog", ()), ("snow", ())],
            [("dog", ("two",)), ("snow", ())],
        ),
        ("it is a red car", [("car", ("red",))], [("it", ()), ("car", ("red",))]),
        ("a black and white cat", [("cat", ("black", "white"))], [("cat", ("black", "white"))]),
    ],
)
def test_attributes_are_the_adjectives_that_spacy_tags(
    sng: SngParser, as_published: SngParser, caption: str, objects: list, raw: list
):
    parses = [*sng.parse([caption]), *as_published.parse([caption])]
    assert [[(item.name, item.attributes) for item in parse.graph.objects] for parse in parses] == [
        objects,
        raw,
    ]
    assert all(
        caption[item.start : item.end] == item.text
        for item in parses[0].mentions
        if item.kind == "attribute"
    )
