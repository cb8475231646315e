import math

import pytest

from generators.hard_negatives.corpus_statistics import UNKNOWN_PENALTY, CorpusStatistics

CAPTIONS = ["a red cup on a table", "a red cup", "a green tree", "a cup on a box"]


def test_statistics_prefer_word_pairs_of_the_source():
    statistics = CorpusStatistics.of(CAPTIONS)
    usual, odd, unknown = statistics.score(["a red cup", "a green cup", "a red zeppelin"])
    assert usual > odd > unknown


def test_one_unknown_word_weighs_more_than_any_known_ones():
    statistics = CorpusStatistics.of(CAPTIONS)
    known, one, two = statistics.score(["tree box green", "a red zeppelin", "a mauve zeppelin"])
    assert known > one + UNKNOWN_PENALTY / 2 > two + UNKNOWN_PENALTY


def test_statistics_by_hand():
    """One caption "cup": (<s>, cup) follows once, and 1 x 1 / 1 = 1 was expected by chance: log(1.1 / 2); no pairs."""
    assert CorpusStatistics.of(["cup"]).score(["Cup!", ""]) == [pytest.approx(math.log(1.1 / 2)), 0.0]
