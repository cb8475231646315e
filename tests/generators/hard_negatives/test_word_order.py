"""Order perturbations: the same words elsewhere, and nothing else."""

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hard_negatives.word_order import (
    OPTIONS,
    TEXT_PERTURBATIONS,
    Tagger,
    Words,
    options,
    perturbed,
    shuffle_all_but_nouns_and_adjectives,
    shuffle_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
from generators.readers.karpathy import read_images

TABLE_1 = "remarkable scene with a blue ball behind a green chair"
KINDS = ("noun", "adjective", "other")


def sentence(pairs: list[tuple[str, str]]) -> Words:
    """Words one space apart, with a full stop after the last."""
    gaps = ("", *[" "] * (len(pairs) - 1), ".") if pairs else (".",)
    return Words(tuple(word for word, _ in pairs), gaps, tuple(kind for _, kind in pairs))


words = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(KINDS)), max_size=12).map(sentence)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


def tokens(text: str) -> list[str]:
    return text.rstrip(".").split()


def test_words_gaps_and_kinds(tagger) -> None:
    (found,) = tagger(["A man's dog, with a black-and-white cat."])
    assert found.words == ("a", "man's", "dog", "with", "a", "black-and-white", "cat")
    assert found.gaps == ("", " ", " ", ", ", " ", " ", " ", ".")
    assert found.kinds == ("other", "noun", "noun", "other", "other", "adjective", "noun")
    assert found.text == "a man's dog, with a black-and-white cat."


def test_capitals_that_are_no_sentence_case_stay(tagger) -> None:
    starts = ["I see a dog.", "TV on a wall.", "New York is big.", "Man on a horse."]
    assert [found.words[0] for found in tagger(starts)] == ["I", "TV", "New", "man"]


def test_the_kinds_of_table_1(tagger) -> None:
    (found,) = tagger([TABLE_1])
    assert found.kinds == (
        *("adjective", "noun", "other", "other", "adjective", "noun", "other", "other", "adjective", "noun"),
    )


@given(words, st.integers(0, 99))
def test_every_perturbation_keeps_the_words_and_their_gaps(found, seed) -> None:
    for perturbation in TEXT_PERTURBATIONS:
        order = perturbation(Random(seed), found.kinds)
        assert sorted(order) == list(range(len(found.words)))
        text = perturbed(found, perturbation, seed)
        if text is not None:
            assert text != found.text
            assert Counter(tokens(text)) == Counter(tokens(found.text))
            assert text.endswith(".")
            assert " ." not in text


@given(words, st.integers(0, 99))
def test_what_stays_where_it_is(found, seed) -> None:
    nouns = shuffle_nouns_and_adjectives(Random(seed), found.kinds)
    others = shuffle_all_but_nouns_and_adjectives(Random(seed), found.kinds)
    for place, kind in enumerate(found.kinds):
        assert found.kinds[nouns[place]] == kind  # nouns take places of nouns, adjectives of adjectives
        if kind == "other":
            assert nouns[place] == place
        else:
            assert others[place] == place


@given(words, st.integers(0, 99))
def test_trigrams(found, seed) -> None:
    size = len(found.words)
    runs = [tuple(range(start, min(start + 3, size))) for start in range(0, size, 3)]
    order = shuffle_trigrams(Random(seed), found.kinds)
    for run in runs:
        start = order.index(run[0])
        assert tuple(order[start : start + len(run)]) == run
    within = shuffle_within_trigrams(Random(seed), found.kinds)
    assert [sorted(within[run[0] : run[-1] + 1]) for run in runs] == [list(run) for run in runs]


def test_a_caption_without_another_order_has_none() -> None:
    same = Words(("dog", "Dog"), ("", " ", "."), ("noun", "noun"))
    assert perturbed(same, shuffle_nouns_and_adjectives, 0) is None
    assert options(same, 0) is None


def test_wrong_orders_are_four_different_ones() -> None:
    """Of the five orders within the first three words, "sees cat a dog" is also the only one of a, sees alone."""
    found = Words(("a", "cat", "sees", "dog"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun"))
    for seed in range(50):
        assert len(set(options(found, seed) or ())) == 4


TWINS = Words(("fish", "dive", "dive", "fish"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun"))
"""Each perturbation changes it, but of the nouns and of the trigrams the only other order is fish fish dive dive."""


def test_a_caption_with_three_other_orders_has_no_four() -> None:
    for seed in range(5):
        assert all(perturbed(TWINS, perturbation, seed) for perturbation in OPTIONS)
        assert options(TWINS, seed) is None


def test_the_draw_depends_on_seed_and_caption_alone(tagger) -> None:
    first, second = tagger([TABLE_1, TABLE_1])
    assert options(first, 3) == options(second, 3)
    assert len({tuple(options(first, seed) or ()) for seed in range(5)}) == 5


def test_real_captions(real_data, tagger, tmp_path) -> None:
    file = real_data / "aro" / "coco_karpathy_test.json"
    assert len(json.loads(file.read_text())) == 1000
    captions = [image.captions[0] for image in read_images(file, tmp_path)]
    changed = 0
    for caption, found in zip(captions, tagger(captions), strict=True):
        assert found.text.lower() == caption.lower()
        for seed in range(5):
            wrong = options(found, seed)
            assert wrong is None or len(set(wrong)) == 4
            for text in (perturbed(found, perturbation, seed) for perturbation in OPTIONS):
                if text is not None:
                    changed += 1
                    assert text.lower() != caption.lower()
                    assert spoken(text) == spoken(caption)
    assert changed > 0.95 * 5 * 4 * len(captions)


def spoken(text: str) -> Counter[str]:
    """The words of a text without the punctuation between them, which stays where it is."""
    return Counter(text.lower().translate(dict.fromkeys(map(ord, '.,;:!?"()'), " ")).split())
