from collections import Counter
from collections.abc import Sequence
from random import Random

from generators.hard_negatives.hard_negative import Foil, HardNegative
from generators.hard_negatives.selection import POOL, length, most_plausible, rank_balanced

SHORTER, LONGER = ([HardNegative("c" * size, ()) for size in sizes] for sizes in (range(1, 7), range(11, 17)))


def rank(chosen: tuple[HardNegative, ...], truth: str) -> int:
    return sum(len(negative.caption) > len(truth) for negative in chosen)


def test_the_truth_has_each_rank_as_often():
    """Six shorter and six longer negatives allow each rank; 600 rows, 100 of each expected, standard deviation 9."""
    truth = "c" * 8
    found = Counter(
        rank(rank_balanced(truth, [*SHORTER, *LONGER], [length], 5, Random(seed)), truth) for seed in range(600)
    )
    assert set(found) == set(range(6))
    assert all(60 < count < 140 for count in found.values())


def test_where_all_are_longer_the_truth_is_shortest():
    chosen = rank_balanced("c", LONGER, [length], 5, Random(0))
    assert len(set(chosen)) == 5
    assert [text for text in LONGER if text in chosen] == list(chosen)


def test_none_where_there_are_too_few_and_no_look_beyond_the_pool():
    assert rank_balanced("c", LONGER[:4], [length], 5, Random(0)) == ()
    pool = [HardNegative(f"{place:02}", ()) for place in range(POOL + 5)]
    chosen = {negative for seed in range(50) for negative in rank_balanced("c", pool, [length], 5, Random(seed))}
    assert chosen == set(pool[:POOL])


def negative(caption: str, original: str, replacement: str) -> HardNegative:
    return HardNegative(caption, (Foil("object", original, replacement),))


class Lengths:
    """A ranker that prefers long captions."""

    def score(self, captions: Sequence[str]) -> list[float]:
        return [float(len(caption)) for caption in captions]


def test_most_plausible_takes_the_highest_scores_and_earlier_ones_on_ties():
    candidates = [negative("bb", "x", "b"), negative("ccc", "y", "c"), negative("aa", "z", "a")]
    assert most_plausible(candidates, 2, Lengths()) == (candidates[1], candidates[0])


def test_most_plausible_is_exactly_k_or_nothing():
    candidates = [negative("a", "x", "a"), negative("b", "x", "b")]
    assert most_plausible(candidates, 3, Lengths()) == ()
    assert most_plausible(candidates, 2, Lengths()) == tuple(candidates)
    assert most_plausible([], 0, Lengths()) == ()


def test_most_plausible_spreads_over_the_atoms_of_the_caption():
    """Of four, two may replace the same atom; the best of the other atoms follow, before a third."""
    same = [negative("long" * size, "cup", str(size)) for size in (9, 8, 7, 6)]
    others = [negative("short", "table", "x"), negative("tiny", "red", "y")]
    assert most_plausible([*same, *others], 4, Lengths()) == (*same[:2], *others)
    assert most_plausible([*same, others[0]], 4, Lengths()) == (*same[:3], others[0])


def test_most_plausible_spreads_over_the_new_words():
    """Of two compound foils one may have the word "bus"."""
    pairs = [("red", "bus"), ("blue", "bus"), ("green", "car")]
    candidates = [
        HardNegative(
            f"{color} {noun}" + " " * (9 - at), (Foil("attribute", f"{at}", color), Foil("object", f"{at}", noun))
        )
        for at, (color, noun) in enumerate(pairs)
    ]
    assert most_plausible(candidates, 2, Lengths()) == (candidates[0], candidates[2])


def test_an_atom_that_a_caption_has_twice_counts_twice():
    """Both foils of each candidate replace "man": two candidates use up the limit of three, a third that of four."""
    twice = [
        HardNegative(f"{at}", (Foil("object", "man", f"a{at}"), Foil("object", "man", f"b{at}"))) for at in range(5)
    ]
    assert most_plausible(twice, 4, Lengths()) == ()
    assert len(most_plausible([*twice, negative("x", "cup", "x"), negative("y", "hat", "y")], 4, Lengths())) == 4
