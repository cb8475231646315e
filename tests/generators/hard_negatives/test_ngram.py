import math

import pytest

from generators.hard_negatives.ngram import FOLDS, PRIOR, NgramModel, assign_folds, likelihoods


def test_folds_keep_an_image_together_and_are_even():
    fold_of = assign_folds([str(image) for image in range(20)] * 3)
    assert sorted(fold_of.values()) == sorted(list(range(FOLDS)) * 4)


def test_bigram_model_by_hand():
    """One text "a": bigrams <s> a, a </s>. Words: <s>, a, </s> and one for all others, so 1/4 each at first.

    a is one of two words: (1 + P/4) / (2 + P); it followed the only <s>: (1 + P that) / (1 + P). </s> likewise.
    """
    single = (1 + PRIOR / 4) / (2 + PRIOR)
    expected = math.log((1 + PRIOR * single) / (1 + PRIOR))
    assert NgramModel.of(["a"], 2).score(["A"]) == [pytest.approx(expected)]
    unknown = NgramModel.of(["a"], 2).score(["b"])[0]
    assert unknown < expected


def test_likelihood_of_an_image_is_that_of_other_images():
    captions = ["a red cup", "a red cup", "a blue hat"]
    measures = likelihoods(captions, ["1", "2", "3"])
    assert measures["1"](["a red cup"])[0] == pytest.approx(measures["2"](["a red cup"])[0])
    assert measures["3"](["a blue hat"]) < measures["1"](["a blue hat"])
