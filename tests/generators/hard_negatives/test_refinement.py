from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.hard_negatives.refinement import MIN_KEPT, ROUNDS, largest_at_chance, refined
from generators.hard_negatives.text_only_scorers import RetrievalSets, Scorer, recall_at_1


def kept(hit_SN: Sequence[Sequence[float]], chance: float) -> np.ndarray:
    """What the scorers get of the rows that stay, row by row."""
    hit = np.array(hit_SN, dtype=float)
    return hit[:, largest_at_chance(hit, chance)]


def test_a_cue_is_taken_away_by_hand():
    """60 rows hit and 40 not: of the hits 10 stay, so that 10 / 50 = 1/5 hits; that is half of the rows."""
    (hit_N,) = kept([[1] * 60 + [0] * 40], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def test_hits_below_chance_are_raised_by_dropping_misses():
    """10 hits of 100: all stay, with 40 of the 90 misses."""
    (hit_N,) = kept([[1] * 10 + [0] * 90], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def test_two_scorers_on_two_sides_of_chance_by_hand():
    """One hits 40 of 80 rows and the other 10 of the rest: with h and 10 hits in M rows, M = 5 h = 50."""
    one, other = [1] * 40 + [0] * 40, [0] * 40 + [1] * 10 + [0] * 30
    hit_SM = kept([one, other], 1 / 5)
    assert hit_SM.shape == (2, 50)
    assert hit_SM.sum(axis=1).tolist() == [10, 10]


def test_where_chance_cannot_be_reached_half_stays():
    assert kept([[1] * 10], 1 / 6).shape == (1, 10 * MIN_KEPT)
    (hit_N,) = kept([[1] * 90 + [0] * 10], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 40)


def test_one_that_cannot_reach_chance_lets_no_other_stay_away():
    """The first never recall_at_1, the second hits 60 of 100 rows: of these 10 stay with the 40 others."""
    _, hit_N = kept([[0] * 100, [1] * 60 + [0] * 40], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def by_truth(score_of: dict[str, tuple[bool, ...]], which: int) -> Scorer:
    """A scorer that is right where the rows say so, and sees no difference elsewhere."""
    return lambda sets: np.array([[score_of[truth][which], 0.5] for truth, _ in sets.captions], dtype=float)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=30, max_size=80), st.integers(0, 3))
def test_at_least_half_stays_nearer_to_chance_and_the_same_in_any_order(rows: list[tuple[bool, ...]], seed: int):
    captions = [[f"truth {place}", f"{place} truth"] for place in range(len(rows))]  # random scorers see no difference
    sets = RetrievalSets(captions, [str(place) for place in range(len(rows))])
    right = {f"truth {place}": row for place, row in enumerate(rows)}
    scorers = {"one": by_truth(right, 0), "other": by_truth(right, 1)}
    keep_N = refined(sets, seed, scorers)
    assert keep_N.mean() >= MIN_KEPT
    for scorer in scorers.values():
        after = recall_at_1(scorer(sets.where(keep_N))).mean()
        worst = max(abs(recall_at_1(scorer(sets)).mean() - 0.5) for scorer in scorers.values())
        assert abs(after - 0.5) <= worst + 10 / len(rows)  # rows that were kept in part
    backwards = RetrievalSets(sets.captions[::-1], sets.images[::-1])
    assert refined(backwards, seed, scorers)[::-1].tolist() == keep_N.tolist()


def test_scorers_are_retrained_on_the_remaining_rows():
    """A scorer that is right on the rows that it is trained on: all at first, so that half stays."""
    sets = RetrievalSets(
        [[f"truth {place}", f"{place} truth"] for place in range(40)], [str(place) for place in range(40)]
    )
    training_sizes: list[int] = []

    def learner(sets: RetrievalSets) -> np.ndarray:
        assert sets.trainable_N is not None
        training_sizes.append(int(sets.trainable_N.sum()))
        return np.stack([sets.trainable_N, np.full(len(sets), 0.5)], axis=1)

    assert refined(sets, 0, {"learner": learner}).sum() == 20
    assert training_sizes == [40, 20, 20][:ROUNDS]
