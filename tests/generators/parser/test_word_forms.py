"""Each word of an atom must be a form of a word of its caption, because the word filter of the seen analysis relies on
it.
"""

import pytest

from compeval.base.readers.corpora import list_shards, read_captions
from compeval.generators.parser.caption_parser import CaptionParser
from compeval.generators.parser.rule_parser import RuleParser
from compeval.generators.parser.word_forms import find_word_forms
from compeval.generators.seen_analysis.targets import KINDS, CaptionWords, Targets, list_words


@pytest.fixture(scope="module")
def parser() -> RuleParser:
    return RuleParser()


@pytest.mark.parametrize(
    ("token", "kind", "expected"),
    [
        ("mice", "object", "mouse"),
        ("ate", "relation", "eat"),
        ("leaves", "object", "leaf"),
        ("cannot", "relation", "can"),
        ("left", "relation", "of"),  # "left of" is written "to the left of"
        ("in", "relation", "wear"),  # "a man in a hat"
        ("two", "attribute", "2"),
        ("sits", "attribute", "sitting"),
        ("t-shirts", "object", "t-shirt"),
        ("tshirts", "object", "t-shirt"),
        ("boards", "object", "surfboard"),  # "surf boards"
        ("b2b-blorks", "object", "b2b-blork"),  # the part after a hyphen has the lemma of the word
        *(("bay-leaves", "object", "bay-leaf"), ("re-laid", "relation", "re-lay")),
        ("-eyeglasses", "object", "-eyeglasses"),
    ],
)
def test_forms(token, kind, expected) -> None:
    assert expected in find_word_forms(token, kind)


def test_a_form_belongs_to_one_kind() -> None:
    assert "eat" not in find_word_forms("ate", "object") | find_word_forms("ate", "attribute")
    assert "sitting" not in find_word_forms("sits", "object") | find_word_forms("sits", "relation")
    assert "mouse" not in find_word_forms("mice", "relation")


@pytest.mark.parametrize("token", ["img_2041s", "4runners", "b2bs", "a.s", "-", "--s"])
def test_codes_have_no_other_form(token) -> None:
    assert {form for kind in KINDS for form in find_word_forms(token, kind)} == {token}


@pytest.mark.parametrize("token", ["cbg", "cx4", "xt", "b", "\ud800", "\x00", "İ", "x" * 100_000])
def test_every_form_is_a_word(token) -> None:
    """lemminflect's rules shorten unknown words such as "cbg" to nothing, and cannot inflect the empty word."""
    for kind in KINDS:
        forms = find_word_forms(token, kind)
        assert token in forms
        assert all(forms)


CAPTIONS = [
    "-eyeglasses crosq recycling umire l/nd sete fo_am",
    "baby painting pilot participant various box",
    "*NEW* ERBZ - LA Cheese MAX - 50% CBD & CBG",
    "Beretta CX4 Storm XT Kit Air Rifle",
    "Two MICE sat to the left side of the men's leaves",
    "a man in a blue T-shirts, wearing x-ray glasses that cannot be seen",
    "dishes of carrots on top of tables; geese flown over 10km roads",
    "a cat laying on both sides of each side of the oxen's wood-panelled carts",
    "boxes stacked next to one another at the front of the children's playground",
    "two dogs next to each other, and a white house behind another white house",
    "a white is on a white, cats/cats and cats",
    "a businesswoman walks down a lonely city street",
    "our tshirts, two surf boards and wet suits on a table",
    "it's not a dog but a dog's tail, gonna be wagging",
]


def test_forms_are_complete_on_difficult_captions(parser) -> None:
    check_forms(parser, CAPTIONS)


def test_forms_are_complete_on_real_captions(parser, real_data) -> None:
    texts = [
        text
        for shard in list_shards(str(real_data / "cc12m" / "*.tar"))
        for text in read_captions(shard, "caption")
    ]
    for pattern, column in (
        ("captions/web_alt_text_1k.tsv", "TEXT"),
        ("captions/cc3m_validation_8k.tsv", 0),
    ):
        (shard,) = list_shards(str(real_data / pattern))
        texts += list(read_captions(shard, column))[::25]
    check_forms(parser, texts)


def check_forms(parser: CaptionParser, texts: list[str]) -> None:
    parses = list(parser.parse(texts))
    targets = Targets.of(parse.graph for parse in parses)
    words = CaptionWords(frozenset().union(*targets.words), parser)
    assert targets.atoms
    for parse in parses:
        for item in (*parse.graph.atoms, *parse.graph.compounds):
            assert list_words(item) <= words(parse.caption), (parse.caption, item)
