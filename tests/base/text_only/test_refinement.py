from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from compeval.base.text_only.baselines import Baseline, RetrievalSets, recall_at_1
from compeval.base.text_only.refinement import (
    MIN_KEPT,
    ROUNDS,
    compute_rank_shares,
    select_most_rows,
    select_rows_at_chance,
    select_unrelated_rows,
)
from tests.close import assert_close


def select_hits(share_SN: Sequence[Sequence[float]], chance: float) -> np.ndarray:
    """Return the hits of each baseline on the selected rows."""
    hit = np.array(share_SN, dtype=float)
    return hit[:, select_most_rows(hit, chance)]


def test_cue_is_removed():
    """The baseline hits 60 rows and misses 40. 10 hits are kept, so that 10 / 50 = 1/5; that is half of the rows."""
    (hit_N,) = select_hits([[1] * 60 + [0] * 40], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def test_hits_below_chance_are_raised_by_dropping_misses():
    """The baseline hits 10 of 100 rows. All hits are kept, with 40 of the 90 misses."""
    (hit_N,) = select_hits([[1] * 10 + [0] * 90], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def test_baselines_above_and_below_chance():
    """One baseline hits 40 of 80 rows, and the other hits 10 of the other rows. Both have 10 hits in 50 rows."""
    first, second = [1] * 40 + [0] * 40, [0] * 40 + [1] * 10 + [0] * 30
    hit_SM = select_hits([first, second], 1 / 5)
    assert hit_SM.shape == (2, 50)
    assert hit_SM.sum(axis=1).tolist() == [10, 10]


def test_a_dual_simplex_that_does_not_end_is_replaced(monkeypatch: pytest.MonkeyPatch):
    """The interior-point method keeps as many rows as dual simplex, with each baseline at chance."""
    share_SN = (np.random.default_rng(0).random((12, 300)) < 0.3).astype(float)
    expected, methods = select_hits(list(share_SN), 1 / 5), []
    solve = optimize.linprog

    def stop_simplex(*arguments: Any, method: str, options: dict[str, int], **program: Any) -> Any:
        methods.append(method)
        limit = {"maxiter": 3} if method == "highs-ds" else options
        return solve(*arguments, method=method, options=limit, **program)

    monkeypatch.setattr(optimize, "linprog", stop_simplex)
    hit_SM = select_hits(list(share_SN), 1 / 5)
    assert methods == ["highs-ds", "highs-ipm"]
    assert hit_SM.shape == expected.shape
    assert_close(hit_SM.mean(axis=1), [1 / 5] * 12, within=0.02)


def test_half_is_kept_if_chance_cannot_be_reached():
    assert select_hits([[1] * 10], 1 / 6).shape == (1, 10 * MIN_KEPT)
    (hit_N,) = select_hits([[1] * 90 + [0] * 10], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 40)


def test_other_baselines_reach_chance_although_one_cannot():
    """The first baseline never hits. The second hits 60 of 100 rows, of which 10 are kept with the 40 misses."""
    _, hit_N = select_hits([[0] * 100, [1] * 60 + [0] * 40], 1 / 5)
    assert (len(hit_N), hit_N.sum()) == (50, 10)


def test_share_of_ranks_by_hand():
    """The truth is first; second or third of three; last of all; and tied with all."""
    score_NK = np.array([[3, 2, 1], [1, 2, 1], [0, 1, 2], [5, 5, 5]])
    third = 1 / 3
    assert compute_rank_shares(score_NK).T.tolist() == [
        [1, 0, 0],
        [0, 0.5, 0.5],
        [0, 0, 1],
        [third] * 3,
    ]


def test_truth_that_is_too_often_second_is_removed():
    """Of 90 truths, 30 have the largest of three values, 45 the second one, and 15 the smallest one: 15 of each stay.

    A baseline that chose the largest value would be at chance on all rows.
    """
    orders = [("3", "1", "2")] * 30 + [("2", "1", "3")] * 45 + [("1", "2", "3")] * 15
    sets = RetrievalSets(orders, [str(index) for index in range(90)])
    baselines = {"largest": lambda sets: np.array(sets.captions, dtype=float)}
    keep_N = select_rows_at_chance(sets, seed=0, baselines=baselines)
    truths = Counter(truth for (truth, *_), kept in zip(orders, keep_N, strict=True) if kept)
    assert keep_N.mean() >= MIN_KEPT
    assert max(truths.values()) - min(truths.values()) <= 2


def make_baseline(score_of: dict[str, tuple[bool, ...]], column: int) -> Baseline:
    """Return a baseline that is right for some truths and scores all other captions equally."""
    return lambda sets: np.array(
        [[score_of[truth][column], 0.5] for truth, _ in sets.captions], dtype=float
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=30, max_size=80), st.integers(0, 3)
)
def test_at_least_half_is_kept_nearer_to_chance_in_any_order(
    rows: list[tuple[bool, ...]], seed: int
):
    # The same words for random baselines.
    captions = [[f"truth {index}", f"{index} truth"] for index in range(len(rows))]
    sets = RetrievalSets(captions, [str(index) for index in range(len(rows))])
    right = {f"truth {index}": row for index, row in enumerate(rows)}
    baselines = {"one": make_baseline(right, 0), "other": make_baseline(right, 1)}
    keep_N = select_rows_at_chance(sets, seed, baselines)
    assert keep_N.mean() >= MIN_KEPT
    for baseline in baselines.values():
        after = recall_at_1(baseline(sets.select(keep_N))).mean()
        worst = max(
            abs(recall_at_1(baseline(sets)).mean() - 0.5) for baseline in baselines.values()
        )
        assert abs(after - 0.5) <= worst + 10 / len(rows)  # rows that the program keeps in part
    backwards = RetrievalSets(sets.captions[::-1], sets.images[::-1])
    assert select_rows_at_chance(backwards, seed, baselines)[::-1].tolist() == keep_N.tolist()


@pytest.mark.parametrize("images", ["1", "12", "123", "1112"])
def test_few_rows(images: str):
    """After the first round, all trainable rows may be of one image, so that other rows have nothing to learn from."""
    words = ("cup", "hat", "cat", "bus", "box", "map")
    captions = [[f"a {word} on a table {index}" for word in words] for index in range(len(images))]
    assert (
        len(images) / 2
        <= select_rows_at_chance(RetrievalSets(captions, list(images)), 0).sum()
        <= len(images)
    )


def test_baselines_are_retrained_on_the_remaining_rows():
    """The baseline is right on the rows on which it is trained: first all rows, so that half of them are kept."""
    sets = RetrievalSets(
        [[f"truth {index}", f"{index} truth"] for index in range(40)],
        [str(index) for index in range(40)],
    )
    training_sizes: list[int] = []

    def learner(sets: RetrievalSets) -> np.ndarray:
        assert sets.trainable_N is not None
        training_sizes.append(int(sets.trainable_N.sum()))
        return np.stack([sets.trainable_N, np.full(len(sets), 0.5)], axis=1)

    assert select_rows_at_chance(sets, 0, {"learner": learner}).sum() == 20
    assert training_sizes == [40, 20, 20][:ROUNDS]


def test_rows_that_tell_about_each_other_are_left_out():
    captions = [
        ["a red ball on a cup", "a blue ball on a cup"],  # differs: red, blue
        ["a green hat", "a green bus"],  # differs: hat, bus; fits
        ["a red cat", "a red dog"],  # "red" is true, and differs in the first row
        ["a pen near a blue jar", "a map near a jar"],  # "blue" differs in the first row
        ["a cat under a dog", "a dog under a cat"],  # the same words in another order
        ["a red cat", "a red dog"],  # another image
    ]
    sets = RetrievalSets(captions, ["1"] * 5 + ["2"])
    assert select_unrelated_rows(sets).tolist() == [0, 1, 5]
    # The orders come first.
    assert select_unrelated_rows(sets.take(np.arange(4, -1, -1))).tolist() == [0]
    assert select_rows_at_chance(sets, 0, {}, drop_related=True).sum() <= 3
