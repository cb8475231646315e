from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import cast

from compeval.base.text_only.language_models import EntailmentModel
from compeval.generators.hard_negatives.crepe.selection import (
    POOL,
    drop_entailed,
    measure_length,
    select_most_plausible,
    select_rank_balanced,
)
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative

SHORTER, LONGER = (
    [HardNegative("c" * size, ()) for size in sizes] for sizes in (range(1, 7), range(11, 17))
)


def rank_by_length(chosen: tuple[HardNegative, ...], truth: str) -> int:
    return sum(len(negative.caption) > len(truth) for negative in chosen)


def test_truth_has_each_rank_equally_often():
    """Six shorter and six longer negatives allow all ranks.

    100 of 600 rows are expected per rank, with standard deviation 9.
    """
    truth = "c" * 8
    rank_counts = Counter(
        rank_by_length(
            select_rank_balanced(truth, [*SHORTER, *LONGER], [measure_length], 5, Random(seed)),
            truth,
        )
        for seed in range(600)
    )
    assert set(rank_counts) == set(range(6))
    assert all(60 < count < 140 for count in rank_counts.values())


def test_truth_is_shortest_if_all_negatives_are_longer():
    chosen = select_rank_balanced("c", LONGER, [measure_length], 5, Random(0))
    assert len(set(chosen)) == 5
    assert [text for text in LONGER if text in chosen] == list(chosen)


def test_too_few_candidates_give_none_and_only_the_pool_is_used():
    assert select_rank_balanced("c", LONGER[:4], [measure_length], 5, Random(0)) == ()
    pool = [HardNegative(f"{index:02}", ()) for index in range(POOL + 5)]
    chosen = {
        negative
        for seed in range(50)
        for negative in select_rank_balanced("c", pool, [measure_length], 5, Random(seed))
    }
    assert chosen == set(pool[:POOL])


def make_negative(caption: str, original: str, replacement: str) -> HardNegative:
    return HardNegative(caption, (Foil("object", original, replacement),))


def select_longest(candidates: Sequence[HardNegative], k: int) -> tuple[HardNegative, ...]:
    """Return the k most plausible candidates, if long captions are plausible."""
    return select_most_plausible(
        candidates, k, {item.caption: float(len(item.caption)) for item in candidates}
    )


def test_most_plausible_selects_the_highest_scores_and_the_earlier_of_ties():
    candidates = [
        make_negative("bb", "x", "b"),
        make_negative("ccc", "y", "c"),
        make_negative("aa", "z", "a"),
    ]
    assert select_longest(candidates, 2) == (candidates[1], candidates[0])


def test_most_plausible_returns_exactly_k_or_none():
    candidates = [make_negative("a", "x", "a"), make_negative("b", "x", "b")]
    assert select_longest(candidates, 3) == ()
    assert select_longest(candidates, 2) == tuple(candidates)
    assert select_longest([], 0) == ()


def test_most_plausible_replaces_different_atoms():
    """Two of four negatives may replace the same atom. The best negatives of other atoms follow, before a third."""
    same = [make_negative("long" * size, "cup", str(size)) for size in (9, 8, 7, 6)]
    others = [make_negative("short", "table", "x"), make_negative("tiny", "red", "y")]
    assert select_longest([*same, *others], 4) == (*same[:2], *others)
    assert select_longest([*same, others[0]], 4) == (*same[:3], others[0])


def test_most_plausible_uses_different_words():
    """One of two compound foils may have the word "bus"."""
    pairs = [("red", "bus"), ("blue", "bus"), ("green", "car")]
    candidates = [
        HardNegative(
            f"{color} {noun}" + " " * (9 - index),
            (Foil("attribute", f"{index}", color), Foil("object", f"{index}", noun)),
        )
        for index, (color, noun) in enumerate(pairs)
    ]
    assert select_longest(candidates, 2) == (candidates[0], candidates[2])


def test_atom_that_occurs_twice_counts_twice():
    """Both foils of each candidate replace "man".

    One candidate reaches the limit of two, and two candidates reach the limit of four.
    """
    twice = [
        HardNegative(
            f"{index}", (Foil("object", "man", f"a{index}"), Foil("object", "man", f"b{index}"))
        )
        for index in range(5)
    ]
    assert select_longest(twice, 4) == ()
    assert (
        len(
            select_longest(
                [*twice, make_negative("x", "cup", "x"), make_negative("y", "hat", "y")], 4
            )
        )
        == 4
    )


def test_as_many_candidates_as_needed_are_all_selected():
    assert select_rank_balanced("c", LONGER[:5], [measure_length], 5, Random(0)) == tuple(
        LONGER[:5]
    )


def test_a_negative_of_the_same_length_counts_as_half_above():
    """The drawn rank is 0 or 1. Each is reached by another negative exactly; the equal one is never nearest."""
    pool = [HardNegative(text, ()) for text in ("ccc", "c", "dd")]
    chosen = {
        select_rank_balanced("cc", pool, [measure_length], 1, Random(seed))[0].caption
        for seed in range(40)
    }
    assert chosen == {"ccc", "c"}


class Entails:
    def predict_entailment(self, premise: str, hypotheses: Sequence[str]) -> list[bool]:
        return [text in premise for text in hypotheses]


def test_entailed_negatives_are_dropped():
    negatives = [make_negative(text, "x", "y") for text in ("a cup", "a dog", "a red")] * 20
    kept = list(drop_entailed("a red cup", negatives, cast("EntailmentModel", Entails())))
    assert [item.caption for item in kept] == ["a cup", "a dog"] * 20
    assert list(drop_entailed("a red cup", negatives, None)) == negatives
