"""Random strings through the word filter and the caption parser."""

from __future__ import annotations

from random import Random

import pytest

from bench.random_strings import LONG, Everything, check, check_block, make_state, make_string
from generators.seen_analysis.targets import CaptionWords
from tests.generators.fake_language import FakeParser


def test_strings_cover_unicode_surrogates_and_control_characters() -> None:
    rng = Random(0)
    text = "".join(make_string(rng) for _ in range(20_000))
    assert any("\ud800" <= character <= "\udfff" for character in text)
    assert any(character > "\uffff" for character in text)
    assert "\x00" in text
    assert len(make_string(rng, LONG)) == LONG


class BrokenParser(FakeParser):
    """Raises an error for the letter a, and lists no forms."""

    def parse(self, captions):
        for parse in super().parse(captions):
            if "a" in parse.caption:
                raise OverflowError
            yield parse

    def forms(self, token, kind):
        if token == "b":
            raise IndexError(token)
        return ()


def test_failures_are_reported() -> None:
    parser = BrokenParser()
    outcome = check_block((parser, CaptionWords(Everything(), parser)), (1, True))
    assert outcome.failures.keys() == {"parser: OverflowError: ", "words: IndexError: b"}


@pytest.mark.acceptance
def test_no_random_string_raises_an_exception() -> None:
    outcomes = list(check(strings=100_000, parsed=10_000, workers=1))
    assert sum(outcome.strings for outcome in outcomes) == 100_000
    assert [outcome.failures for outcome in outcomes if outcome.failures] == []


def test_no_string_of_a_block_raises_an_exception() -> None:
    assert check_block(make_state(), (0, True)).failures == {}  # the block has a string of 100,000 characters
