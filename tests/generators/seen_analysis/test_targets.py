"""The word filter, which selects captions that can contain an unseen target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.files.atomic import write_json
from compeval.base.schemas.scene_graph import Atom, Compound
from compeval.generators.seen_analysis.targets import (
    KINDS,
    CaptionWords,
    Targets,
    UnseenTargets,
    list_words,
    split_words,
)
from tests.generators import fake_language as fake

BALL_ON_CAT = Compound("oro", "tennis ball", "on top of", "cat")


def test_split_words_cuts_wherever_a_tokeniser_can_cut() -> None:
    words = ["a", "t", "-", "shirt", "and", "10", "am", ",", "café", "'", "s", "_", "2", "nd"]
    assert split_words("A T-shirt and 10am, Café's_2nd") == words


def test_targets_are_distinct_and_sorted_and_saved_as_json(tmp_path) -> None:
    targets = Targets.of([fake.graph("the red cat see dog"), fake.graph("the red cat")])
    pairs = [("attribute", "red"), ("object", "cat"), ("object", "dog"), ("relation", "see")]
    assert targets.atoms == tuple(pairs)
    assert targets.compounds == (
        Compound("ao", "cat", None, "red"),
        Compound("oro", "cat", "see", "dog"),
    )
    write_json(tmp_path / "targets.json", targets.to_json())
    assert Targets.load(tmp_path / "targets.json") == targets


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (BALL_ON_CAT, "object tennis,object ball,relation on,relation top,relation of,object cat"),
        (Compound("ao", "cat", None, "red"), "object cat,attribute red"),
        (
            Compound("ao", "orange", None, "dark orange"),
            "object orange,attribute dark,attribute orange,two orange",
        ),
        (Compound("oro", "cat", "see", "cat"), "object cat,relation see,two cat"),
        (
            Compound("oro", "tennis ball", "see", "ball"),
            "object tennis,object ball,relation see,two ball",
        ),
        (Atom("relation", "on on"), "relation on"),
        (Atom("attribute", "#"), "attribute #"),
    ],
)
def test_words_of_a_target(target, words) -> None:
    assert list_words(target) == frozenset(words.split(","))


def tag(words: str) -> set[str]:
    """Return the words with the tags of all kinds."""
    return {f"{kind} {word}" for kind in KINDS for word in words.split()}


def test_caption_words_include_lemmas() -> None:
    words = CaptionWords(tag("mouse cat see"), fake.FakeParser())
    assert words("Cats saw MICE, truly") == tag("cat see mouse")


def test_caption_words_include_the_forms_of_a_kind_only() -> None:
    class Parser(fake.FakeParser):
        def forms(self, token, kind):
            return (
                {"object": ["saw"], "relation": ["see"], "attribute": []}[kind]
                if token == "saw"
                else []
            )

    words = CaptionWords(tag("see saw"), Parser())
    # The written word itself can be of any kind.
    assert words("saw") == tag("saw") | {"relation see"}


def test_caption_words_include_forms_of_long_tokens_and_added_words() -> None:
    forms = fake.FakeParser(
        lambda token: ["t-leave"] if token == "t-leaves" else [], frozenset({"have"})
    )
    assert CaptionWords(tag("leave t have own"), forms)("(t-leaves)") == tag("leave t have")


@pytest.mark.parametrize(
    ("caption", "has_two"),
    [
        ("cat", False),
        ("the cat,", False),
        ("cat and dog", False),
        ("a cat and cats", True),
        ("cat/cats", True),  # one text between spaces, but two tokens
        ("cats next to each other", True),
        ("the other dog", False),
    ],
)
def test_two_words_of_a_caption_can_become_the_same_word(caption, has_two) -> None:
    words = CaptionWords({"object cat", "two cat"}, fake.FakeParser())(caption)
    assert ("two cat" in words) == has_two


def test_the_cache_of_caption_words_is_limited(monkeypatch) -> None:
    """The forms of "a" and "b" are cached; "c" is the third text, so that the cache is emptied."""
    monkeypatch.setattr("compeval.generators.seen_analysis.targets.CACHE_SIZE", 2)
    words = CaptionWords({"object cat"}, fake.FakeParser())
    assert [words(text) for text in ("a b c cats", "d cats", "cats e f")] == [{"object cat"}] * 3
    tokens: list[str] = []
    words = CaptionWords(
        {"object cat"}, fake.FakeParser(lambda word: tokens.append(word) or (word,))
    )
    for caption in ("a b", "b a"):
        words(caption)
    once = tokens.count("a")
    assert once == tokens.count("b") > 0
    words("c")
    words("a")
    assert tokens.count("a") == 2 * once


def test_forms_are_listed_only_for_the_part_of_a_caption_that_is_parsed() -> None:
    tokens: list[str] = []
    words = CaptionWords(
        {"object cat"}, fake.FakeParser(lambda word: tokens.append(word) or (word,))
    )
    assert words(f"{'x' * 100_000} cat") == set()  # the caption is cut off before "cat"
    assert words(f"{'x' * 100} cat") == {"object cat"}
    assert set(tokens) == {"cat"}


def test_a_lone_surrogate_is_the_question_mark_that_is_parsed() -> None:
    assert CaptionWords(tag("? cat"), fake.FakeParser())("cat\udcf6") == tag("? cat")


def test_a_target_is_possible_only_with_all_its_words() -> None:
    targets = Targets((Atom("object", "cat"),), (BALL_ON_CAT,))
    unseen, words = UnseenTargets(targets.words, ()), set(list_words(BALL_ON_CAT))
    assert unseen.any_possible({"object cat"})
    unseen.mark_seen(0)
    assert not unseen.any_possible({"object cat"})
    assert not any(unseen.any_possible(words - {word}) for word in words)
    assert unseen.any_possible(words)
    unseen.mark_seen(1)
    assert not unseen.any_possible(words)
    unseen.reset()
    assert unseen.any_possible({"object cat"})
    assert len(unseen) == 2


def test_a_punctuation_mark_is_a_word() -> None:
    assert CaptionWords({"attribute #"}, fake.FakeParser())("we are #1") == {"attribute #"}


def test_caption_words_include_tokens_with_an_apostrophe_before_or_a_mark_after() -> None:
    forms = fake.FakeParser(lambda token: {"'s": ["be"], "etc.": ["rest"]}.get(token, []))
    assert CaptionWords(tag("be rest"), forms)("it's, etc.:") == tag("be rest")


@given(
    words=st.lists(st.frozensets(st.sampled_from("abcde"), max_size=3), max_size=8),
    present=st.sets(st.sampled_from("abcde")),
    seen=st.sets(st.integers(0, 7)),
    marked=st.sets(st.integers(0, 7)),
)
def test_any_possible_equals_a_subset_test_of_all_unseen_targets(
    words, present, seen, marked
) -> None:
    unseen = UnseenTargets(words, seen)
    for index in marked:
        if index in unseen:
            unseen.mark_seen(index)
    remaining = [item for index, item in enumerate(words) if index not in seen | marked]
    assert len(unseen) == len(remaining)
    assert unseen.any_possible(present) == any(item <= present for item in remaining)
