import math

import pytest

from generators.hard_negatives.corpus_statistics import UNKNOWN_PENALTY, CorpusStatistics

CAPTIONS = ["a red cup on a table", "a red cup", "a green tree", "a cup on a box"]


def test_statistics_prefer_word_pairs_of_the_source():
    statistics = CorpusStatistics.of(CAPTIONS)
    usual, odd, unknown = statistics.score(["a red cup", "a green cup", "a red zeppelin"])
    assert usual > odd > unknown


def test_unknown_word_outweighs_all_known_words():
    statistics = CorpusStatistics.of(CAPTIONS)
    known, one_unknown, two_unknown = statistics.score(["tree box green", "a red zeppelin", "a mauve zeppelin"])
    assert known > one_unknown + UNKNOWN_PENALTY / 2 > two_unknown + UNKNOWN_PENALTY


def test_score_of_one_word():
    """The only caption is "cup".

    The pair (<s>, cup) occurs once, and 1 x 1 / 1 = 1 is expected by chance: log(1.1 / 2). There are no co-occurring
    pairs.
    """
    assert CorpusStatistics.of(["cup"]).score(["Cup!", ""]) == [pytest.approx(math.log(1.1 / 2)), 0.0]
