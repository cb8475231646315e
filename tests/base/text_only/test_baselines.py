from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from compeval.base.text_only.baselines import (
    RetrievalSets,
    list_ordered_pairs,
    measure_on_pairs,
    measure_pairwise_accuracy,
    measure_random_recall,
    recall_at_1,
    score_by_function,
    score_form,
    split_pairs,
)
from compeval.base.text_only.judges import select_judges
from compeval.base.text_only.relative_baselines import score_medoid_of_words
from tests.close import assert_close

BASELINES = select_judges("refining", "held_out")
NOUNS = ("cup", "table", "cat", "bus", "lamp", "chair", "apple", "box", "tree", "hat")


def make_sets(cue: str) -> RetrievalSets:
    """Return forty sets of three captions, two sets per image. Only the truths contain ``cue``."""
    pairs = [(first, second) for first in NOUNS for second in NOUNS if first != second][:40]
    captions = [
        [f"a {first} {cue} a {second}", f"a {second} on a {first}", f"a {first} on a {second}"]
        for first, second in pairs
    ]
    return RetrievalSets(captions, [str(index // 2) for index in range(40)])


def test_ties():
    score_NK = np.array([[2, 1, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]])
    assert recall_at_1(score_NK).tolist() == [1, 1 / 2, 1 / 3, 0]
    assert measure_pairwise_accuracy(score_NK).tolist() == [1, 3 / 4, 1 / 2, 1 / 4]


def test_the_medoid_is_at_chance_on_pairs_and_other_rules_are_as_they_were():
    sets = RetrievalSets(
        [["a cup on a box", "a cup on a hat", "a cup by a box"], ["a b", "a", "a b c"]], ["1", "2"]
    )
    assert recall_at_1(score_medoid_of_words(sets)).tolist() == [1, 1]
    assert measure_on_pairs(sets, score_medoid_of_words).tolist() == [0.5, 0.5]
    by_length = partial(score_by_function, function=len)
    assert measure_on_pairs(sets, by_length).tolist() == [0.5, 0.5]  # two ties; a win and a loss
    assert split_pairs(sets).images == ["1", "1", "2", "2"]


def test_splits_do_not_share_images():
    for train, test in make_sets("on").splits():
        assert not {index // 2 for index in train.tolist()} & {
            index // 2 for index in test.tolist()
        }


@pytest.mark.parametrize("baseline", ["words", "naive_bayes_of_words", "naive_bayes"])
def test_word_that_only_truths_contain_is_learnt_from_other_images(baseline):
    assert recall_at_1(BASELINES[baseline](make_sets("beside"))).mean() == 1


@pytest.mark.parametrize("name", [*BASELINES])
def test_baselines_are_at_chance_if_all_captions_are_equal(name: str):
    same = RetrievalSets([["a cup on a table"] * 3] * 10, [str(image) for image in range(10)])
    score_NK = BASELINES[name](same)
    assert score_NK.shape == (10, 3)
    assert_close(recall_at_1(score_NK).mean(), 1 / 3)


@pytest.mark.parametrize("baseline", ["cooccurrence", "naive_bayes_of_word_pairs"])
def test_a_noun_that_fits_the_others_is_found_though_all_nouns_are_equally_often_true(
    baseline: str,
):
    """Animals are with animals and tools with tools. Each noun is as often true as false; four images per pair."""
    themes = [["horse", "pig", "cat", "dog"], ["saw", "hammer", "broom", "shovel"]]
    captions = [
        [
            f"a {noun} and a {theme[(place + step) % 4]}",
            f"a {themes[1 - number][place]} and a {theme[(place + step) % 4]}",
        ]
        for number, theme in enumerate(themes)
        for place, noun in enumerate(theme)
        for step in (1, 2, 3)
    ]
    sets = RetrievalSets(4 * captions, [str(index) for index in range(4 * len(captions))])
    assert recall_at_1(BASELINES[baseline](sets)).mean() > 0.95
    assert recall_at_1(BASELINES["words"](sets)).mean() <= 1 / 2


def test_cooccurrence_by_hand(monkeypatch: pytest.MonkeyPatch):
    """Three true captions of other images, one of them with both words: log((1 + 1/2) / (2 * 1 / 3 + 1/2))."""
    captions = [["b c", "b d"], ["b c", "b d"], ["b", "d"], ["d", "c"]]
    monkeypatch.setattr(RetrievalSets, "splits", lambda _: [(np.array([1, 2, 3]), np.array([0]))])
    score_NK = BASELINES["cooccurrence"](RetrievalSets(captions, ["1", "2", "3", "4"]))
    both, never = (2 * np.log((count + 0.5) / (2 * 1 / 3 + 0.5)) for count in (1, 0))
    assert_close(score_NK[0], [both, never])


def test_ordered_pairs_by_hand():
    assert list_ordered_pairs("A red cup, left of the table.") == [
        *("red cup", "red left", "red table", "cup left", "cup table", "left table")
    ]


@pytest.mark.parametrize("baseline", ["ordered_pairs", "naive_bayes_of_ordered_pairs"])
def test_captions_of_one_word_have_no_pairs(baseline: str):
    sets = RetrievalSets([["a cup", "a hat", "a bus"]] * 10, [str(image) for image in range(10)])
    assert_close(recall_at_1(BASELINES[baseline](sets)).tolist(), [1 / 3] * 10)


@pytest.mark.parametrize("baseline", ["ordered_pairs", "naive_bayes_of_ordered_pairs"])
def test_the_order_of_nouns_is_found_at_any_distance(baseline: str):
    """The first noun is always above the second, and other nouns are between them."""
    captions = [
        [f"a kite by a {noun} is above a wagon", f"a wagon by a {noun} is above a kite"]
        for noun in NOUNS
    ]
    sets = RetrievalSets(captions, [str(index) for index in range(len(captions))])
    assert recall_at_1(BASELINES[baseline](sets)).mean() == 1
    assert recall_at_1(BASELINES["words"](sets)).mean() == 1 / 2


def test_form_reads_negations_but_no_nouns():
    assert recall_at_1(score_form(make_sets("not on"))).mean() == 1
    plain = score_form(
        RetrievalSets([["a cup", "a hat", "a bus"]] * 10, [str(image) for image in range(10)])
    )
    assert_close(recall_at_1(plain).mean(), 1 / 3)


def test_length_baselines():
    one = RetrievalSets([["a cup", "a big cup", "cups"]], ["1"])
    assert BASELINES["longest"](one).tolist() == [[5, 9, 4]]
    assert BASELINES["tersest"](one).tolist() == [[-2, -3, -1]]


def test_baselines_are_trained_on_trainable_sets_only():
    """Half of the truths contain "beside". A baseline that is trained on the other half has never seen the word."""
    trained, untrained = make_sets("beside"), make_sets("on")
    both = RetrievalSets(
        [*trained.captions, *untrained.captions],
        [*trained.images, *(f"other {image}" for image in untrained.images)],
    )
    assert recall_at_1(BASELINES["words"](both))[:40].mean() == 1
    assert (
        recall_at_1(BASELINES["words"](replace(both, trainable_N=np.arange(80) >= 40)))[:40].mean()
        < 1 / 2
    )


def test_bigrams_depend_on_word_order_and_words_do_not():
    captions = [
        [f"a {one} on a {other} there", f"a {other} on there a {one}"]
        for one in NOUNS
        for other in NOUNS[:2]
    ]
    sets = RetrievalSets(captions, [str(index) for index in range(len(captions))])
    assert recall_at_1(BASELINES["bigrams"](sets)).mean() == 1
    assert recall_at_1(BASELINES["words"](sets)).mean() == 1 / 2


def test_random_baselines_are_at_chance_for_one_position_and_below_it_for_several():
    """One position: each of the four words may have the largest weight, 1/4.

    Three positions: the truth must win three random comparisons, 1/8.
    """
    one_position = ["a cup", "a hat", "a bus", "a car"]
    three_positions = ["red cup here", "blue cup here", "red hat here", "red cup there"]
    positive, negative = measure_random_recall(
        RetrievalSets([one_position, three_positions], ["1", "2"])
    )
    assert_close(positive[0] + negative[0], 2 / 4, within=0.2)
    assert_close(positive[1] + negative[1], 2 / 8, within=0.2)
    assert positive[1] + negative[1] < positive[0] + negative[0]


def test_random_baselines_with_positive_weights_prefer_long_captions():
    assert measure_random_recall(RetrievalSets([["a red cup", "a cup", "cup"]], ["1"]))[
        :, 0
    ].tolist() == [1, 0]


@pytest.mark.parametrize("baseline", ["words", "form"])
def test_baselines_learn_from_a_single_pair(baseline):
    """Each baseline is trained on the single pair of the other image, whose truth also contains "not"."""
    two = RetrievalSets(
        [["a cup is not red", "a cup is red"], ["a hat is not blue", "a hat is blue"]], ["0", "1"]
    )
    assert recall_at_1(BASELINES[baseline](two)).tolist() == [1, 1]


@pytest.mark.parametrize(
    "text", ["a cat and " * 10_000, "a" + "\u0301" * 100_000, " ".join(map(str, range(1000)))]
)
def test_the_work_on_a_text_is_limited(text: str):
    """All pairs of 10,000 words would be 50 million; of six captions of marks they took 20 GB."""
    assert len(list_ordered_pairs(text)) <= 64 * 63 / 2
    sets = RetrievalSets.of_any_texts([[text, text + "x"]], ["1"])
    assert max(map(len, sets.texts)) == min(len(text) + 1, 5000)


def test_pairs_of_captions_of_images_are_complete():
    words = [f"w{number}" for number in range(64)]
    assert len(list_ordered_pairs(" ".join(words))) == 64 * 63 / 2
