import math
from dataclasses import replace

import numpy as np
import pytest

from generators.hard_negatives.blind_scorers import (
    FOLDS,
    HELD_OUT,
    PRIOR,
    REFINING,
    NgramModel,
    Sets,
    bigrams,
    duels,
    folds,
    form,
    guessed,
    hits,
    longest,
    most_alike,
    naive_bayes,
    naive_bayes_of_words,
    tersest,
    words,
)

NOUNS = ("cup", "table", "cat", "bus", "lamp", "chair", "apple", "box", "tree", "hat")


def sets(cue: str) -> Sets:
    """Forty sets of three captions, two an image; ``cue`` stands in each truth."""
    pairs = [(one, other) for one in NOUNS for other in NOUNS if one != other][:40]
    captions = [[f"a {one} {cue} a {other}", f"a {other} on a {one}", f"a {one} on a {other}"] for one, other in pairs]
    return Sets(captions, [str(place // 2) for place in range(40)])


def test_hits_share_ties_and_duels_count_them_half():
    score_NK = np.array([[2, 1, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]])
    assert hits(score_NK).tolist() == [1, 1 / 2, 1 / 3, 0]
    assert duels(score_NK).tolist() == [1, 3 / 4, 1 / 2, 1 / 4]


def test_folds_keep_an_image_together_and_are_even():
    fold_of = folds([str(image) for image in range(20)] * 3)
    assert sorted(fold_of.values()) == sorted(list(range(FOLDS)) * 4)
    for learn, held in sets("on").splits():
        assert not {place // 2 for place in learn.tolist()} & {place // 2 for place in held.tolist()}


@pytest.mark.parametrize("scorer", [words, naive_bayes_of_words, naive_bayes])
def test_a_word_that_only_truths_have_is_found_on_other_images(scorer):
    assert hits(scorer(sets("beside"))).mean() == 1


@pytest.mark.parametrize("name", [*REFINING, *HELD_OUT])
def test_scorers_are_at_chance_where_all_captions_are_the_same(name: str):
    same = Sets([["a cup on a table"] * 3] * 10, [str(image) for image in range(10)])
    score_NK = {**REFINING, **HELD_OUT}[name](same)
    assert score_NK.shape == (10, 3)
    assert hits(score_NK).mean() == pytest.approx(1 / 3)


def test_form_sees_a_denial_but_no_noun():
    assert hits(form(sets("not on"))).mean() == 1
    plain = form(Sets([["a cup", "a hat", "a bus"]] * 10, [str(image) for image in range(10)]))
    assert hits(plain).mean() == pytest.approx(1 / 3)


def test_length_by_hand():
    one = Sets([["a cup", "a big cup", "cups"]], ["1"])
    assert longest(one).tolist() == [[5, 9, 4]]
    assert tersest(one).tolist() == [[-2, -3, -1]]


def test_what_learns_learns_from_the_lessons_alone():
    """The truths of half of the images hold "beside"; who learns from the others has never seen it."""
    told, untold = sets("beside"), sets("on")
    both = Sets([*told.captions, *untold.captions], [*told.images, *(f"other {image}" for image in untold.images)])
    assert hits(words(both))[:40].mean() == 1
    assert hits(words(replace(both, lesson_N=np.arange(80) >= 40)))[:40].mean() < 1 / 2


def test_pairs_know_order_and_words_do_not():
    turned = [[f"a {one} on a {other} there", f"a {other} on there a {one}"] for one in NOUNS for other in NOUNS[:2]]
    found = Sets(turned, [str(place) for place in range(len(turned))])
    assert hits(bigrams(found)).mean() == 1
    assert hits(words(found)).mean() == 1 / 2


def test_a_guess_is_at_chance_among_words_and_below_it_among_edits_in_many_places():
    """Of one place's words any may weigh most: 1/4. Edits in three places: the truth must win three guesses, 1/8."""
    one_place = ["a cup", "a hat", "a bus", "a car"]
    three_places = ["red cup here", "blue cup here", "red hat here", "red cup there"]
    more, less = guessed(Sets([one_place, three_places], ["1", "2"]))
    assert more[0] + less[0] == pytest.approx(2 / 4, abs=0.2)
    assert more[1] + less[1] == pytest.approx(2 / 8, abs=0.2)
    assert more[1] + less[1] < more[0] + less[0]


def test_guesses_know_length():
    assert guessed(Sets([["a red cup", "a cup", "cup"]], ["1"]))[:, 0].tolist() == [1, 0]


def test_bigram_model_by_hand():
    """One text "a": bigrams <s> a, a </s>. Words: <s>, a, </s> and one for all others, so 1/4 each at first.

    a is one of two words: (1 + P/4) / (2 + P); it followed the only <s>: (1 + P that) / (1 + P). </s> likewise.
    """
    single = (1 + PRIOR / 4) / (2 + PRIOR)
    expected = math.log((1 + PRIOR * single) / (1 + PRIOR))
    assert NgramModel.of(["a"], 2).score(["A"]) == [pytest.approx(expected)]
    unknown = NgramModel.of(["a"], 2).score(["b"])[0]
    assert unknown < expected


def test_one_edit_each_from_the_truth_makes_it_most_alike():
    star = Sets([["a red cup on a box", "a red cup on a hat", "a blue cup on a box", "a red cup in a box"]], ["1"])
    assert hits(most_alike(star)).tolist() == [1]


@pytest.mark.parametrize("scorer", [words, form])
def test_a_single_pair_is_enough_to_learn_from(scorer):
    """Of two images the one pair of the other: its truth alone has "not", and so has the truth here."""
    two = Sets([["a cup is not red", "a cup is red"], ["a hat is not blue", "a hat is blue"]], ["0", "1"])
    assert hits(scorer(two)).tolist() == [1, 1]
