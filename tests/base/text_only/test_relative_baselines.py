"""Baselines that compare the captions of a set, on sets whose answer can be worked out by hand."""

from itertools import permutations
from random import Random

import numpy as np
import pytest

from compeval.base.text_only.baselines import RetrievalSets, recall_at_1
from compeval.base.text_only.judges import select_judges
from compeval.base.text_only.relative_baselines import (
    make_relative_features,
    make_word_features,
    score_extra_trees,
    score_learned,
    score_left_out,
    score_medoid_of_characters,
    score_medoid_of_words,
    score_nearest_to_mean,
    score_other_rows,
)
from tests.close import assert_close

pytestmark = pytest.mark.usefixtures("few_trees")
WORDS = ("cup", "hat", "cat", "bus", "box", "map", "pen", "jar")
STAR = ["a red cup on a box", "a red cup on a hat", "a blue cup on a box", "a red cup in a box"]
"""Each negative replaces another word of the truth."""
RELATIVE_BASELINES = select_judges("comparing")


def make_sets(captions: list[list[str]]) -> RetrievalSets:
    return RetrievalSets(captions, [str(index) for index in range(len(captions))])


def make_closed_family(rng: Random) -> list[str]:
    """Six captions that differ in one word: every caption could be the truth."""
    return [f"a {word} on a table" for word in rng.sample(WORDS, 6)]


def make_edits(rng: Random) -> list[str]:
    """A caption of six words, and five captions that each replace another of its words."""
    truth = [rng.choice(WORDS) for _ in range(6)]
    edits = [[*truth[:place], rng.choice(WORDS) + "s", *truth[place + 1 :]] for place in range(5)]
    return [" ".join(words) for words in (truth, *edits)]


def test_medoid_of_words_by_hand():
    """The truth is one replacement away from each negative, and negatives are two away from each other."""
    assert score_medoid_of_words(make_sets([STAR])).tolist() == [[-3, -5, -5, -5]]


def test_medoid_of_characters_by_hand():
    """Edit distances: cup-cap 1, cup-cups 1, cap-cups 2; case is ignored."""
    assert score_medoid_of_characters(make_sets([["cup", "CAP", "cups"]])).tolist() == [
        [-2, -3, -3]
    ]


@pytest.mark.parametrize("name", ["medoid_of_characters", "medoid_of_words", "nearest_to_mean"])
def test_truth_is_nearest_to_the_others_if_each_negative_is_one_edit_away(name: str):
    assert recall_at_1(RELATIVE_BASELINES[name](make_sets([STAR]))).tolist() == [1]


@pytest.mark.parametrize("name", ["medoid_of_words", "nearest_to_mean"])
def test_orders_of_three_parts_are_at_chance(name: str):
    """Every order of three parts is equally far from the others."""
    orbit = [" and ".join(order) for order in permutations(("a red cup", "a hat", "a tin box"))]
    sets = make_sets([orbit[start:] + orbit[:start] for start in range(6)])
    assert_close(recall_at_1(RELATIVE_BASELINES[name](sets)).mean(), 1 / 6)


def test_words_of_other_sets_of_the_same_image_do_not_count():
    """All captions of the image's other sets contain "cup"; "jar" and "pen" are as rare in the sets of other images."""
    family = ["a cup on a map", "a jar on a map", "a pen on a map"]
    about_cup = [family, *([f"a cup and a {word}"] * 3 for word in WORDS[1:])]
    others = [
        [f"a {word} or a {other}"] * 3 for word, other in permutations(("map", "box", "bus"), 2)
    ]
    sets = RetrievalSets(
        [*about_cup, *others], ["1"] * len(about_cup) + [str(2 + i) for i in range(len(others))]
    )
    assert_close(score_nearest_to_mean(sets)[0], score_nearest_to_mean(sets)[0, 0])


def test_nearest_to_mean_of_given_vectors():
    vectors = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]])
    score_NK = score_nearest_to_mean(make_sets([["a", "b", "c"]]), lambda texts: vectors)
    # The unit vectors are (root, root), (1, 0), (0, 1); their mean has the direction (1, 1).
    root = 2**-0.5
    assert_close(score_NK, np.array([[1, root, root]]))


def test_classifier_learns_that_negatives_are_edits():
    rng = Random(0)
    assert recall_at_1(score_learned(make_sets([make_edits(rng) for _ in range(40)]))).mean() > 0.9


def test_classifier_is_at_chance_on_closed_families():
    """On 360 sets of six captions, 60 hits are expected with a standard deviation of 7."""
    rng = Random(0)
    hits = recall_at_1(
        score_learned(make_sets([make_closed_family(rng) for _ in range(360)]))
    ).sum()
    assert 39 < hits < 81


def test_word_features_are_the_counts_minus_their_mean():
    """Most frequent first: a (2, 2, 1 and 2 times), hat (0, 1, 0, 1), cup (1, 0, 0, 0) and fez (0, 0, 0, 1)."""
    feature_MF = make_word_features(make_sets([["a a cup", "a a hat"], ["a", "a a hat fez"]]))
    a, hat, cup, fez = feature_MF.T.tolist()
    assert a == [0, 0, -0.5, 0.5]
    assert hat == [-0.5, 0.5, -0.5, 0.5]
    assert (cup, fez) == ([0.5, -0.5, 0, 0], [0, 0, -0.5, 0.5])


def test_trees_with_words_learn_that_a_word_is_true():
    sets = make_sets([["a cup", "a hat", "a fez"], ["a map", "a hat", "a cap"]] * 30)
    assert recall_at_1(score_extra_trees(sets, with_words=True)).mean() == 1


@pytest.mark.parametrize("seed", range(30))
def test_features_do_not_depend_on_the_order_of_the_captions(seed: int):
    """They are exactly equal: trees would learn the column of the truth from the last digits."""
    captions, other = make_edits(Random(seed)), make_edits(Random(-1))
    first = make_relative_features(make_sets([captions, other]))
    # The n-gram models are trained on the truth of the other image, so it stays in the first place of that set.
    second = make_relative_features(make_sets([captions[::-1], other]))
    assert second[: len(captions)][::-1].tolist() == first[: len(captions)].tolist()


@pytest.mark.parametrize("name", [*RELATIVE_BASELINES])
def test_equal_captions_and_single_images_are_at_chance(name: str):
    assert_close(
        recall_at_1(RELATIVE_BASELINES[name](make_sets([["a cup"] * 3] * 5))).mean(), 1 / 3
    )
    alone = RetrievalSets([["a cup", "a hat"], ["a map", "a pen"]], ["1", "1"])
    assert RELATIVE_BASELINES[name](alone).shape == (2, 2)


def test_left_out_words_by_hand():
    """40 images of each kind: "jar" is absent where "cup" is true, and "pen" where "hat" is true.

    Among n training rows without "jar", "cup" is true n times and never false; "hat" is one of two negatives n times.
    With 1 added, the weights of the absence of "jar" are log (n + 1) for "cup" and log 1 / (n / 2 + 1) for "hat".
    """
    kinds = (["a cup", "a hat", "a pen"], ["a hat", "a cup", "a jar"])
    sets = RetrievalSets(
        [list(kind) for kind in kinds for _ in range(40)], [str(image) for image in range(80)]
    )
    scores = score_left_out(sets)
    assert recall_at_1(scores).tolist() == [1.0] * 80
    train, test = next(sets.splits())
    without_jar = sum(row < 40 for row in train)
    row = next(row for row in test if row < 40)
    assert_close(scores[row, 0], np.log(without_jar + 1), dtype=np.float32)
    assert_close(scores[row, 1], np.log(1 / (without_jar / 2 + 1)), dtype=np.float32)


def test_left_out_words_of_a_random_subset_tell_nothing():
    rng = Random(2)
    sets = make_sets([make_closed_family(rng) for _ in range(600)])
    assert_close(recall_at_1(score_left_out(sets)).mean(), 1 / 6, within=0.045)


def test_other_rows_by_hand():
    """Another row of the image has "red ball" in both captions; "red" and "red ball" differ here, "ball" does not."""
    captions = [
        ["a red ball", "a blue ball"],
        ["a red ball on a cup", "a red ball on a hat"],
        ["a blue ball", "a bus"],
    ]
    sets = RetrievalSets(captions, ["1", "1", "2"])
    assert score_other_rows(sets, order=1).tolist() == [[2, 0], [0, 0], [0, 0]]
    # "red", "a red", "red ball".
    assert score_other_rows(sets, order=2).tolist() == [
        [6, 0],
        [0, 0],
        [0, 0],
    ]
    untrained = RetrievalSets(captions, ["1", "1", "2"], np.array([True, False, True]))
    assert score_other_rows(untrained, order=1).tolist() == [[0, 0], [0, 0], [0, 0]]
