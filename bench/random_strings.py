"""Check the word filter and the caption parser on random strings.

    python -m bench.random_strings --strings 10_000_000 --parsed 200_000 --workers 2

The property: no string raises an exception in :class:`CaptionWords`, which lists the forms of all its possible tokens,
and in the parser; and the words of each parse are among these forms. All forms are compared with a vocabulary that
contains every form (``Everything``). A string is one of: characters of any Unicode plane, lone surrogates and control
characters included; words of few letters; edited words of captions; words of the lexicon in random order and with
random marks. Every 100,000th string has 100,000 characters.

Parsing is about 20 times as slow as listing forms, so only a part of the strings (``--parsed``) is parsed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Set
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import NamedTuple

from generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from generators.parser.lexicon import LEXICON
from generators.pipeline.workers import map_with
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.targets import CaptionWords, list_words

BLOCK = 1_000
"""Strings that share a random generator."""
LONG_EVERY, LONG = 100_000, 100_000
"""One of so many strings has so many characters."""
CONTROLS = "".join(map(chr, (*range(32), 0x7F, 0x85, 0xA0, 0x200B, 0x2028, 0x202E, 0xFEFF, 0xFFFD, 0xFFFF)))
_WORDS = sorted({word for value in LEXICON.values() for word in str(value).replace("'", " ").split()})


class Everything(Set[str]):
    """A vocabulary that contains every word."""

    def __contains__(self, word: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the vocabulary is infinite")

    def __len__(self) -> int:
        raise TypeError("the vocabulary is infinite")

    def __rand__(self, words: Set[str]) -> Set[str]:
        return words


class Outcome(NamedTuple):
    """The numbers of strings and of parsed strings, and the failures: reason -> an example and its number."""

    strings: int
    parsed: int
    failures: dict[str, tuple[str, int]]


def make_string(rng: Random, length: int | None = None) -> str:
    """Return a random string of at most 40 characters, or of ``length`` characters."""
    count = rng.randint(0, 40) if length is None else length
    match rng.randrange(5):
        case 0:
            text = "".join(chr(rng.randrange(0x110000)) for _ in range(count))
        case 1:
            alphabet = ascii_lowercase + rng.choice([ascii_uppercase, digits, "-'.", " ", "éßİςﬁ日", CONTROLS])
            text = "".join(rng.choices(alphabet, k=rng.randint(1, 6) if length is None else length))
        case 2:
            text = " ".join(_edit(rng.choice(_WORDS), rng) for _ in range(count // 5 + 1))
        case 3:
            text = " ".join(rng.choices(_WORDS, k=count // 5 + 1))
        case _:
            marks = (rng.choice(["", " ", punctuation, CONTROLS]) for _ in range(count // 6 + 1))
            text = "".join(f"{rng.choice(_WORDS)}{rng.choice(mark or ' ')}" for mark in marks)
    return text[:length]


def _edit(word: str, rng: Random) -> str:
    """Return the word with one character inserted, replaced or removed."""
    place = rng.randrange(len(word) + 1)
    new = rng.choice(["", chr(rng.randrange(0x250)), rng.choice(ascii_lowercase), rng.choice("-'.’&/_")])
    return word[:place] + new + word[place + rng.randrange(2) :]


def check_block(state: tuple[CaptionParser, CaptionWords], block: tuple[int, bool]) -> Outcome:
    """Check the strings of one block; parse them if the second value is True."""
    (parser, words), (number, is_parsed) = state, block
    rng = Random(f"random strings {number}")
    strings = [make_string(rng) for _ in range(BLOCK)]
    if number % (LONG_EVERY // BLOCK) == 0:
        strings[0] = make_string(rng, LONG)
    failures, counts = dict[str, str](), Counter[str]()

    def fail(reason: str, text: str) -> None:
        counts[reason] += 1
        failures.setdefault(reason, ascii(text[:300]))

    forms: dict[str, set[str]] = {}
    for text in strings:
        try:
            forms[text] = words(text)
        except Exception as error:
            fail(f"words: {type(error).__name__}: {error}", text)
    for text, parse in zip(strings, parse_each(parser, strings), strict=True) if is_parsed else ():
        if not isinstance(parse, Parse):
            fail(f"parser: {type(parse).__name__}: {parse}", text)
        elif missing := {word for item in (*parse.graph.atoms, *parse.graph.compounds) for word in list_words(item)} - (
            forms.get(text, set())
        ):
            fail("words: the parse has another word", f"{text[:200]} {sorted(missing)}")
    return Outcome(BLOCK, BLOCK * is_parsed, {reason: (text, counts[reason]) for reason, text in failures.items()})


def make_state() -> tuple[CaptionParser, CaptionWords]:
    parser = make_parser()
    return parser, CaptionWords(Everything(), parser)


def check(strings: int, parsed: int, workers: int, first: int = 0) -> Iterator[Outcome]:
    """Yield the outcome of each block."""
    blocks = ((number, number < first + parsed // BLOCK) for number in range(first, first + strings // BLOCK))
    yield from map_with(make_state, check_block, blocks, workers)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--strings", type=int, default=100_000)
    options.add_argument("--parsed", type=int, default=10_000)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="number of the first block of 1,000 strings")
    arguments = options.parse_args()
    start, strings, parsed = time.time(), 0, 0
    counts = Counter[str]()
    for outcome in check(arguments.strings, arguments.parsed, arguments.workers, arguments.first):
        strings, parsed = strings + outcome.strings, parsed + outcome.parsed
        for reason, (text, count) in outcome.failures.items():
            counts[reason] += count
            print(f"{reason}, such as {text}", flush=True)
        if strings % 100_000 == 0:
            seconds = time.time() - start
            print(f"{strings:,} strings, {parsed:,} parsed, {counts.total()} failures, {seconds:.0f} s", flush=True)
    print(f"{strings:,} strings, {parsed:,} parsed, {counts.total()} failures")
    for reason, count in counts.most_common():
        print(f"  {count} x {reason}")
    raise SystemExit(1 if counts else 0)


if __name__ == "__main__":
    main()
