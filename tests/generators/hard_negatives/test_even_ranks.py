from collections import Counter
from random import Random

import pytest

from generators.hard_negatives.even_ranks import POOL, characters, evenly_ranked, likelihoods

SHORTER, LONGER = ["c" * size for size in range(1, 7)], ["c" * size for size in range(11, 17)]


def rank(chosen: tuple[str, ...], truth: str) -> int:
    return sum(len(text) > len(truth) for text in chosen)


def test_the_truth_has_each_rank_as_often():
    """Six shorter and six longer negatives allow each rank; 600 rows, 100 of each expected, standard deviation 9."""
    truth = "c" * 8
    found = Counter(
        rank(evenly_ranked(truth, [*SHORTER, *LONGER], str, [characters], 5, Random(seed)), truth)
        for seed in range(600)
    )
    assert set(found) == set(range(6))
    assert all(60 < count < 140 for count in found.values())


def test_where_all_are_longer_the_truth_is_shortest():
    chosen = evenly_ranked("c", LONGER, str, [characters], 5, Random(0))
    assert len(set(chosen)) == 5
    assert [text for text in LONGER if text in chosen] == list(chosen)


def test_none_where_there_are_too_few_and_no_look_beyond_the_pool():
    assert evenly_ranked("c", LONGER[:4], str, [characters], 5, Random(0)) == ()
    pool = [f"{place:02}" for place in range(20)]
    chosen = {text for seed in range(50) for text in evenly_ranked("c", pool, str, [characters], 5, Random(seed))}
    assert chosen == set(pool[:POOL])


def test_likelihood_of_an_image_is_learned_from_others():
    captions = ["a red cup", "a red cup", "a blue hat"]
    measures = likelihoods(captions, ["1", "2", "3"])
    assert measures["1"](["a red cup"])[0] == pytest.approx(measures["2"](["a red cup"])[0])
    assert measures["3"](["a blue hat"]) < measures["1"](["a blue hat"])
