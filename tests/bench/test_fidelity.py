"""The comparison with CREPE's published files, on edits worked by hand."""

from collections import Counter
from pathlib import Path

import pytest

from bench.fidelity import (
    count_sentences,
    find_edit,
    find_match,
    measure_distance,
)
from compeval.base.text_only.gaps import Gap
from tests.close import assert_close


@pytest.mark.parametrize(
    ("caption", "negative", "slot", "word"),
    [
        ("a cat on a wall", "a wolf on a wall", "cat", "wolf"),
        ("a cat on a wall", "a cat below a wall", "on", "below"),
        ("two cars", "two trucks", "car", "truck"),  # the graph had "car"
        ("an apple, a cup", "an grape, a cup", "apple", "grape"),  # articles stay
        ("a woman's hand", "a boy's hand", "woman", "boy"),
    ],
)
def test_published_texts_are_ours(caption: str, negative: str, slot: str, word: str):
    edit = find_edit(caption, negative)
    assert edit is not None
    match = find_match(caption, edit, ())
    assert match is not None
    assert (caption[match.slot.gap.start : match.slot.gap.end], match.word) == (slot, word)


@pytest.mark.parametrize(
    "negative",
    [
        "a persinside on a wall",  # within a word
        "a person near a wall",  # "on" has four foils
        "a table on a wall",  # no cousin
    ],
)
def test_other_texts_are_not_ours(negative: str):
    edit = find_edit("a person on a wall", negative)
    assert edit is not None
    assert find_match("a person on a wall", edit, ()) is None


def test_an_edit_is_one_word():
    assert find_edit("a cat", "a cat") is None
    assert find_edit("a cat on a wall", "a dog on a fence") is None
    assert find_edit("a cat", "a cat on a wall") is None


def test_the_distance_is_the_total_variation():
    """Shares 1/2 and 1/2 against 1/4 and 3/4: half of 1/4 + 1/4."""
    assert_close(measure_distance(Counter("ab"), Counter("abbb")), 0.25)
    assert measure_distance(Counter("a"), Counter("b")) == 1
    assert measure_distance({}, {}) == 0


def test_sentences_end_with_a_period():
    captions = ["lamp on bed. there is a vase.", "a lamp on a bed", "a. b. c"]
    assert count_sentences(captions) == {2: 1, 1: 1, 3: 1}


def test_the_stand_in_for_bert_fills_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from bench.masked_lm import train
    from compeval.base.text_only.language_models import MaskedWordScorer

    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / "cache"))
    captions = ["a cat on a wall", "a dog on a wall"] * 4
    train(tmp_path / "model", captions, ["wolf"], 30)
    (scores,) = MaskedWordScorer(str(tmp_path / "model")).score_words(
        [Gap("a cat on a wall", 2, 5, ("cat", "dog", "wolf", "zebra"))]
    )
    assert set(scores) == {"cat", "dog", "wolf"}  # "zebra" is no entry of the vocabulary
    assert min(scores["cat"], scores["dog"]) > scores["wolf"]
