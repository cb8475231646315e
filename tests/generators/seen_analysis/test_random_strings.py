"""Random strings through the word filter and the caption parser: no exception, and every parsed word is listed.

The word filter lists the forms of all words that a parse may have. All forms are listed for a vocabulary that contains
every word. The strings have characters of any Unicode plane, lone surrogates and control characters included, words of
few letters, edited words, and words of the parser's lexicon in random order and with random marks.
"""

from __future__ import annotations

from collections.abc import Set
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits, punctuation

import pytest

from compeval.base.schemas.scene_graph import Parse
from compeval.generators.parser.caption_parser import make_parser, parse_each
from compeval.generators.parser.lexicon import LEXICON
from compeval.generators.seen_analysis.targets import CaptionWords, list_words

BLOCK, LONG = 1_000, 100_000
"""Strings that share a random generator, and the length of the longest string."""
CONTROLS = "".join(
    map(chr, (*range(32), 0x7F, 0x85, 0xA0, 0x200B, 0x2028, 0x202E, 0xFEFF, 0xFFFD, 0xFFFF))
)
ALPHABETS = (ascii_uppercase, digits, "-'.", " ", "éßİςﬁ日", CONTROLS)
WORDS = sorted(
    {word for value in LEXICON.values() for word in str(value).replace("'", " ").split()}
)


class Everything(Set[str]):
    """A vocabulary that contains every word."""

    def __contains__(self, word: object) -> bool:
        return True

    def __iter__(self):
        raise TypeError("the vocabulary is infinite")

    def __len__(self) -> int:
        raise TypeError("the vocabulary is infinite")

    def __rand__(self, words: Set[str]) -> Set[str]:
        return words


def edit(word: str, rng: Random) -> str:
    """Return the word with one character inserted, replaced or removed."""
    place = rng.randrange(len(word) + 1)
    new = rng.choice(
        ["", chr(rng.randrange(0x250)), rng.choice(ascii_lowercase), rng.choice("-'.’&/_")]
    )
    return word[:place] + new + word[place + rng.randrange(2) :]


def make_string(rng: Random, length: int) -> str:
    """Return a random string of at most ``length`` characters."""
    match rng.randrange(5):
        case 0:
            text = "".join(chr(rng.randrange(0x110000)) for _ in range(length))
        case 1:
            text = "".join(
                rng.choices(
                    ascii_lowercase + rng.choice(ALPHABETS), k=min(length, rng.choice([6, LONG]))
                )
            )
        case 2:
            text = " ".join(edit(rng.choice(WORDS), rng) for _ in range(length // 5 + 1))
        case 3:
            text = " ".join(rng.choices(WORDS, k=length // 5 + 1))
        case _:
            marks = (rng.choice(["", " ", punctuation, CONTROLS]) for _ in range(length // 6 + 1))
            text = "".join(f"{rng.choice(WORDS)}{rng.choice(mark or ' ')}" for mark in marks)
    return text[:length]


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(n, marks=pytest.mark.acceptance) for n in range(1, 20))]
)
def test_no_string_raises_an_exception_and_the_words_of_its_parse_are_listed(number: int) -> None:
    rng, parser = Random(f"random strings {number}"), make_parser()
    texts = [
        make_string(rng, LONG),
        *(make_string(rng, rng.randint(0, 40)) for _ in range(BLOCK - 1)),
    ]
    assert any("\ud800" <= character <= "\udfff" for text in texts for character in text)
    words = CaptionWords(Everything(), parser)
    for text, parse in zip(texts, parse_each(parser, texts), strict=True):
        assert isinstance(parse, Parse), (parse, ascii(text[:300]))
        parsed = {
            word
            for item in (*parse.graph.atoms, *parse.graph.compounds)
            for word in list_words(item)
        }
        assert parsed <= words(text), ascii(text[:300])
