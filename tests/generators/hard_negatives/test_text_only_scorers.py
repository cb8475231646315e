from dataclasses import replace

import numpy as np
import pytest

from generators.hard_negatives.text_only_scorers import (
    HELD_OUT_SCORERS,
    REFINEMENT_SCORERS,
    RetrievalSets,
    form,
    most_alike,
    pairwise_accuracy,
    random_recall,
    recall_at_1,
)

SCORERS = {**REFINEMENT_SCORERS, **HELD_OUT_SCORERS}
NOUNS = ("cup", "table", "cat", "bus", "lamp", "chair", "apple", "box", "tree", "hat")


def sets(cue: str) -> RetrievalSets:
    """Forty sets of three captions, two an image; ``cue`` stands in each truth."""
    pairs = [(one, other) for one in NOUNS for other in NOUNS if one != other][:40]
    captions = [[f"a {one} {cue} a {other}", f"a {other} on a {one}", f"a {one} on a {other}"] for one, other in pairs]
    return RetrievalSets(captions, [str(place // 2) for place in range(40)])


def test_recall_shares_ties_and_pairwise_accuracy_counts_them_half():
    score_NK = np.array([[2, 1, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]])
    assert recall_at_1(score_NK).tolist() == [1, 1 / 2, 1 / 3, 0]
    assert pairwise_accuracy(score_NK).tolist() == [1, 3 / 4, 1 / 2, 1 / 4]


def test_no_image_is_in_both_parts_of_a_split():
    for train, test in sets("on").splits():
        assert not {place // 2 for place in train.tolist()} & {place // 2 for place in test.tolist()}


@pytest.mark.parametrize("scorer", ["words", "naive_bayes_of_words", "naive_bayes"])
def test_a_word_that_only_truths_have_is_found_on_other_images(scorer):
    assert recall_at_1(SCORERS[scorer](sets("beside"))).mean() == 1


@pytest.mark.parametrize("name", [*SCORERS])
def test_scorers_are_at_chance_where_all_captions_are_the_same(name: str):
    same = RetrievalSets([["a cup on a table"] * 3] * 10, [str(image) for image in range(10)])
    score_NK = SCORERS[name](same)
    assert score_NK.shape == (10, 3)
    assert recall_at_1(score_NK).mean() == pytest.approx(1 / 3)


def test_form_sees_a_negation_but_no_noun():
    assert recall_at_1(form(sets("not on"))).mean() == 1
    plain = form(RetrievalSets([["a cup", "a hat", "a bus"]] * 10, [str(image) for image in range(10)]))
    assert recall_at_1(plain).mean() == pytest.approx(1 / 3)


def test_length_by_hand():
    one = RetrievalSets([["a cup", "a big cup", "cups"]], ["1"])
    assert SCORERS["longest"](one).tolist() == [[5, 9, 4]]
    assert SCORERS["tersest"](one).tolist() == [[-2, -3, -1]]


def test_scorers_are_trained_on_trainable_sets_only():
    """The truths of half of the images hold "beside"; a scorer trained on the others has never seen it."""
    trained, untrained = sets("beside"), sets("on")
    both = RetrievalSets(
        [*trained.captions, *untrained.captions], [*trained.images, *(f"other {image}" for image in untrained.images)]
    )
    assert recall_at_1(SCORERS["words"](both))[:40].mean() == 1
    assert recall_at_1(SCORERS["words"](replace(both, trainable_N=np.arange(80) >= 40)))[:40].mean() < 1 / 2


def test_pairs_know_order_and_words_do_not():
    turned = [[f"a {one} on a {other} there", f"a {other} on there a {one}"] for one in NOUNS for other in NOUNS[:2]]
    found = RetrievalSets(turned, [str(place) for place in range(len(turned))])
    assert recall_at_1(SCORERS["bigrams"](found)).mean() == 1
    assert recall_at_1(SCORERS["words"](found)).mean() == 1 / 2


def test_random_scorers_are_at_chance_for_one_position_and_below_it_for_several():
    """One position: any of the four words may weigh most, 1/4. Three positions: the truth must win three draws, 1/8."""
    one_position = ["a cup", "a hat", "a bus", "a car"]
    three_positions = ["red cup here", "blue cup here", "red hat here", "red cup there"]
    more, less = random_recall(RetrievalSets([one_position, three_positions], ["1", "2"]))
    assert more[0] + less[0] == pytest.approx(2 / 4, abs=0.2)
    assert more[1] + less[1] == pytest.approx(2 / 8, abs=0.2)
    assert more[1] + less[1] < more[0] + less[0]


def test_random_scorers_of_one_sign_prefer_a_length():
    assert random_recall(RetrievalSets([["a red cup", "a cup", "cup"]], ["1"]))[:, 0].tolist() == [1, 0]


def test_one_edit_each_from_the_truth_makes_it_most_alike():
    star = RetrievalSets(
        [["a red cup on a box", "a red cup on a hat", "a blue cup on a box", "a red cup in a box"]], ["1"]
    )
    assert recall_at_1(most_alike(star)).tolist() == [1]


@pytest.mark.parametrize("scorer", ["words", "form"])
def test_a_single_pair_is_enough_to_learn_from(scorer):
    """Of two images the one pair of the other: its truth alone has "not", and so has the truth here."""
    two = RetrievalSets([["a cup is not red", "a cup is red"], ["a hat is not blue", "a hat is blue"]], ["0", "1"])
    assert recall_at_1(SCORERS[scorer](two)).tolist() == [1, 1]
