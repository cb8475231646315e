from compeval.base.texts import fold_case_and_space, have_same_words, words


def test_words_are_runs_of_letters_digits_and_underscores():
    assert words("A dog's T-shirt, no. 5") == ["a", "dog", "s", "t", "shirt", "no", "5"]


def test_same_words_counts_each_word():
    assert have_same_words("a cup on a Table", "table, on: a a cup")
    assert not have_same_words("a cup on a table", "a cup on table")
    assert not have_same_words("a cup and a hat", "a cup and a cup")


def test_fold_case_and_space_ignores_case_and_white_space():
    assert fold_case_and_space(" A  cup ") == fold_case_and_space("a CUP")
    assert fold_case_and_space("a cup.") != fold_case_and_space("a cup .")
