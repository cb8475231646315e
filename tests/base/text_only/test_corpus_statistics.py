import math
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.text_only import corpus_statistics
from compeval.base.text_only.corpus_statistics import (
    COOCCURRENCE_WEIGHT,
    SMOOTHING,
    START,
    UNKNOWN_PENALTY,
    CorpusStatistics,
    PairCounter,
)
from tests.close import assert_close

CAPTIONS = ["a red cup on a table", "a red cup", "a green tree", "a cup on a box"]


def test_statistics_prefer_word_pairs_of_the_source():
    statistics = CorpusStatistics.of(CAPTIONS)
    usual, odd, unknown = statistics.score(["a red cup", "a green cup", "a red zeppelin"])
    assert usual > odd > unknown


def test_unknown_word_outweighs_all_known_words():
    statistics = CorpusStatistics.of(CAPTIONS)
    known, one_unknown, two_unknown = statistics.score(
        ["tree box green", "a red zeppelin", "a mauve zeppelin"]
    )
    assert known > one_unknown + UNKNOWN_PENALTY / 2 > two_unknown + UNKNOWN_PENALTY


def test_score_of_one_word():
    """The only caption is "cup".

    The pair (<s>, cup) occurs once, and 1 x 1 / 1 = 1 is expected by chance: log(1.1 / 2). There are no co-occurring
    pairs.
    """
    assert_close(CorpusStatistics.of(["cup"]).score(["Cup!", ""]), [math.log(1.1 / 2), 0.0])


def slow_score(captions: list[str], caption: str) -> float:
    """The same score from dictionaries of pairs."""
    words, adjacent, cooccurring = (
        Counter[str](),
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
    )
    for text in captions:
        words.update([START, *set(text.split())])
        adjacent.update(pairwise([START, *text.split()]))
        cooccurring.update(combinations(sorted(set(text.split())), 2))

    def mean(counts: Counter[tuple[str, str]], pairs: list[tuple[str, str]]) -> float:
        odds = [
            math.log(
                (counts[pair] + SMOOTHING)
                / (words[pair[0]] * words[pair[1]] / max(words[START], 1) + 1)
            )
            for pair in pairs
        ]
        return math.fsum(odds) / len(odds) if odds else 0.0

    tokens = caption.split()
    unknown = sum(token not in words for token in tokens)
    both = mean(adjacent, list(pairwise([START, *tokens])))
    both += COOCCURRENCE_WEIGHT * mean(cooccurring, list(combinations(sorted(set(tokens)), 2)))
    return both - UNKNOWN_PENALTY * unknown


WORDS = ["a", "red", "cup", "on", "table", "tree"]
WORDS = st.sampled_from(["a", "red", "cup", "on", "table", "tree"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=8)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_score_equals_the_score_from_dictionaries(
    captions: list[str], scored: list[str], buffered: int
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_statistics, "BUFFERED_PAIRS", buffered)
        statistics = CorpusStatistics.of(captions)
    assert statistics.score([*scored, "a mauve cup"]) == [
        slow_score(captions, text) for text in [*scored, "a mauve cup"]
    ]


def test_memory_of_the_counts_follows_the_distinct_pairs():
    counter = PairCounter()
    for _ in range(40):
        counter.update(range(100_000))
    counts = counter.result()
    assert counts.keys.nbytes + counts.counts.nbytes == 12 * 100_000
    assert counts.get([0, 99_999, 100_000]) == [40, 40, 0]
