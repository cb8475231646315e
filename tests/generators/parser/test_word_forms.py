"""Each word of an atom must be a form of a word of its caption, because the word filter of the seen analysis relies on
it.
"""

import pytest

from generators.parser.rule_parser import RuleParser
from generators.parser.word_forms import find_word_forms
from generators.readers.corpora import list_shards, read_captions
from generators.seen_analysis.targets import CaptionWords, Targets, split_words


@pytest.fixture(scope="module")
def parser() -> RuleParser:
    return RuleParser()


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("mice", "mouse"),
        ("ate", "eat"),
        ("leaves", "leaf"),
        ("cannot", "can"),
        ("left", "of"),  # "left of" is written "to the left of"
        ("in", "wear"),  # "a man in a hat"
        ("two", "2"),
        ("sits", "sitting"),
    ],
)
def test_forms(token, expected) -> None:
    assert expected in find_word_forms(token)


@pytest.mark.parametrize("token", ["cbg", "cx4", "xt", "b", "\ud800", "\x00", "İ", "x" * 100_000])
def test_every_form_is_a_word(token) -> None:
    """lemminflect's rules shorten unknown words such as "cbg" to nothing, and cannot inflect the empty word."""
    forms = find_word_forms(token)
    assert token in forms
    assert all(forms)


CAPTIONS = [
    "*NEW* ERBZ - LA Cheese MAX - 50% CBD & CBG",
    "Beretta CX4 Storm XT Kit Air Rifle",
    "Two MICE sat to the left side of the men's leaves",
    "a man in a blue T-shirts, wearing x-ray glasses that cannot be seen",
    "dishes of carrots on top of tables; geese flown over 10km roads",
    "a cat laying on both sides of each side of the oxen's wood-panelled carts",
    "boxes stacked next to one another at the front of the children's playground",
    "it's not a dog but a dog's tail, gonna be wagging",
]


def test_forms_are_complete_on_difficult_captions(parser) -> None:
    _check_forms(parser, CAPTIONS)


def test_forms_are_complete_on_real_captions(parser, real_data) -> None:
    texts = [
        text for shard in list_shards(str(real_data / "cc12m" / "*.tar")) for text in read_captions(shard, "caption")
    ]
    for pattern, column in (("captions/web_alt_text_1k.tsv", "TEXT"), ("captions/cc3m_validation_8k.tsv", 0)):
        (shard,) = list_shards(str(real_data / pattern))
        texts += list(read_captions(shard, column))[::25]
    _check_forms(parser, texts)


def _check_forms(parser: RuleParser, texts: list[str]) -> None:
    parses = list(parser.parse(texts))
    vocabulary = {word for parse in parses for atom in parse.graph.atoms for word in split_words(atom.text)}
    words = CaptionWords(vocabulary, parser)
    assert Targets.of(parse.graph for parse in parses).atoms
    for parse in parses:
        assert not words.find_unexpected(parse.caption, parse.graph), parse.caption
