import math

import pytest

from generators.hard_negatives.ngram import FOLDS, PRIOR, NgramModel, assign_folds, fit_bigram_scores


def test_folds_have_equal_size_and_do_not_split_images():
    fold_of = assign_folds([str(image) for image in range(20)] * 3)
    assert sorted(fold_of.values()) == sorted(list(range(FOLDS)) * 4)


def test_bigram_model_of_one_word():
    """The only text is "a", with the bigrams (<s>, a) and (a, </s>).

    The vocabulary is <s>, a, </s> and one unknown word, so that the uniform probability is 1/4. The unigram "a" is one
    of two words: (1 + P/4) / (2 + P). It follows the only <s>: (1 + P * unigram) / (1 + P). The same holds for </s>.
    """
    unigram = (1 + PRIOR / 4) / (2 + PRIOR)
    expected = math.log((1 + PRIOR * unigram) / (1 + PRIOR))
    assert NgramModel.of(["a"], 2).score(["A"]) == [pytest.approx(expected)]
    unknown = NgramModel.of(["a"], 2).score(["b"])[0]
    assert unknown < expected


def test_likelihood_comes_from_captions_of_other_images():
    captions = ["a red cup", "a red cup", "a blue hat"]
    measures = fit_bigram_scores(captions, ["1", "2", "3"])
    assert measures["1"](["a red cup"])[0] == pytest.approx(measures["2"](["a red cup"])[0])
    assert measures["3"](["a blue hat"]) < measures["1"](["a blue hat"])
