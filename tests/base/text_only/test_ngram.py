import math

from compeval.base.text_only.ngram import FOLDS, PRIOR, NgramModel, assign_folds
from tests.close import assert_close


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
    assert_close(NgramModel.of(["a"], 2).score(["A"]), [expected])
    unknown = NgramModel.of(["a"], 2).score(["b"])[0]
    assert unknown < expected


def test_a_model_without_some_texts_is_the_model_of_the_others():
    texts = ["a red cup", "a red cup", "a blue hat", "the hat is blue"]
    model, others = NgramModel.of(texts, 2).leave_out(texts[2:]), NgramModel.of(texts[:2], 2)
    assert model.score([*texts, "a cow"]) == others.score([*texts, "a cow"])
    assert model.vocabulary_size == 6  # <s>, a, red, cup, </s> and one unknown word
