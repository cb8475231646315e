"""Perturbations of the word order: the words are the same and only their order changes."""

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.readers.karpathy import read_images
from compeval.generators.hard_negatives.aro.word_order import (
    TEXT_PERTURBATIONS,
    WRONG_CAPTION_PERTURBATIONS,
    Tagger,
    Words,
    make_wrong_captions,
    perturb,
    shuffle_all_but_nouns_and_adjectives,
    shuffle_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)

TABLE_1 = "remarkable scene with a blue ball behind a green chair"
KINDS = ("noun", "adjective", "other")


def make_words(pairs: list[tuple[str, str]]) -> Words:
    """Return words separated by single spaces, with a full stop after the last word."""
    gaps = ("", *[" "] * (len(pairs) - 1), ".") if pairs else (".",)
    return Words(tuple(word for word, _ in pairs), gaps, tuple(kind for _, kind in pairs))


words = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(KINDS)), max_size=12).map(
    make_words
)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


def tokens(text: str) -> list[str]:
    return text.rstrip(".").split()


def test_words_gaps_and_kinds(tagger) -> None:
    (caption_words,) = tagger(["A man's dog, with a black-and-white cat."])
    assert caption_words.words == ("a", "man's", "dog", "with", "a", "black-and-white", "cat")
    assert caption_words.gaps == ("", " ", " ", ", ", " ", " ", " ", ".")
    assert caption_words.kinds == ("other", "noun", "noun", "other", "other", "adjective", "noun")
    assert caption_words.text == "a man's dog, with a black-and-white cat."


def test_capitals_of_names_are_kept(tagger) -> None:
    starts = ["I see a dog.", "TV on a wall.", "New York is big.", "Man on a horse."]
    assert [caption_words.words[0] for caption_words in tagger(starts)] == ["I", "TV", "New", "man"]


def test_kinds_of_table_1(tagger) -> None:
    (caption_words,) = tagger([TABLE_1])
    assert caption_words.kinds == (
        *(
            "adjective",
            "noun",
            "other",
            "other",
            "adjective",
            "noun",
            "other",
            "other",
            "adjective",
            "noun",
        ),
    )


@given(words, st.integers(0, 99))
def test_each_perturbation_keeps_the_words_and_gaps(caption_words, seed) -> None:
    for perturbation in TEXT_PERTURBATIONS:
        order = perturbation(Random(seed), caption_words.kinds)
        assert sorted(order) == list(range(len(caption_words.words)))
        text = perturb(caption_words, perturbation, str(seed))
        if text is not None:
            assert text != caption_words.text
            assert Counter(tokens(text)) == Counter(tokens(caption_words.text))
            assert text.endswith(".")
            assert " ." not in text


@given(words, st.integers(0, 99))
def test_words_of_other_kinds_stay_in_place(caption_words, seed) -> None:
    nouns = shuffle_nouns_and_adjectives(Random(seed), caption_words.kinds)
    others = shuffle_all_but_nouns_and_adjectives(Random(seed), caption_words.kinds)
    for position, kind in enumerate(caption_words.kinds):
        # Nouns take positions of nouns, and adjectives of adjectives.
        assert caption_words.kinds[nouns[position]] == kind
        if kind == "other":
            assert nouns[position] == position
        else:
            assert others[position] == position


@given(words, st.integers(0, 99))
def test_trigrams(caption_words, seed) -> None:
    size = len(caption_words.words)
    trigrams = [tuple(range(start, min(start + 3, size))) for start in range(0, size, 3)]
    order = shuffle_trigrams(Random(seed), caption_words.kinds)
    for trigram in trigrams:
        start = order.index(trigram[0])
        assert tuple(order[start : start + len(trigram)]) == trigram
    within = shuffle_within_trigrams(Random(seed), caption_words.kinds)
    assert [sorted(within[trigram[0] : trigram[-1] + 1]) for trigram in trigrams] == [
        list(trigram) for trigram in trigrams
    ]


def test_caption_without_another_order() -> None:
    same = Words(("dog", "Dog"), ("", " ", "."), ("noun", "noun"))
    assert perturb(same, shuffle_nouns_and_adjectives, "0") is None
    assert make_wrong_captions(same, "0") is None


def test_four_wrong_captions_are_different() -> None:
    """Two perturbations of this caption can return the same text, "sees cat a dog"."""
    caption_words = Words(
        ("a", "cat", "sees", "dog"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun")
    )
    for seed in range(50):
        assert len(set(make_wrong_captions(caption_words, str(seed)) or ())) == 4


REPEATED_WORDS = Words(
    ("fish", "dive", "dive", "fish"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun")
)
"""Shuffled nouns and shuffled trigrams have the same only other order: "fish fish dive dive"."""


def test_caption_with_three_other_orders() -> None:
    for seed in range(5):
        assert all(
            perturb(REPEATED_WORDS, perturbation, str(seed))
            for perturbation in WRONG_CAPTION_PERTURBATIONS
        )
        assert make_wrong_captions(REPEATED_WORDS, str(seed)) is None


def test_draws_depend_only_on_key_and_caption(tagger) -> None:
    first, second = tagger([TABLE_1, TABLE_1])
    assert make_wrong_captions(first, "3") == make_wrong_captions(second, "3")
    assert len({tuple(make_wrong_captions(first, str(seed)) or ()) for seed in range(5)}) == 5


def test_real_captions(real_data, tagger, tmp_path) -> None:
    file = real_data / "aro" / "coco_karpathy_test.json"
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 1000
    captions = [image.captions[0] for image in read_images(file, tmp_path)]
    changed = 0
    for caption, caption_words in zip(captions, tagger(captions), strict=True):
        assert caption_words.text.lower() == caption.lower()
        for seed in range(5):
            wrong = make_wrong_captions(caption_words, str(seed))
            assert wrong is None or len(set(wrong)) == 4
            for text in (
                perturb(caption_words, perturbation, str(seed))
                for perturbation in WRONG_CAPTION_PERTURBATIONS
            ):
                if text is not None:
                    changed += 1
                    assert text.lower() != caption.lower()
                    assert count_words(text) == count_words(caption)
    assert changed > 0.95 * 5 * 4 * len(captions)


def count_words(text: str) -> Counter[str]:
    """Return the counts of a text's words, without the punctuation between them."""
    return Counter(text.lower().translate(dict.fromkeys(map(ord, '.,;:!?"()'), " ")).split())
