"""Baselines that read a context, such as the box of the crop, together with the words."""

from dataclasses import replace

import numpy as np
import pytest

from compeval.base.text_only.baselines import RetrievalSets, recall_at_1
from compeval.base.text_only.contexts import (
    CONTEXT_BASELINES,
    TRAINED_ON_ALL_ROWS,
    bin_boxes,
    list_differing_words,
    write_contexts,
)
from compeval.base.text_only.refinement import (
    BASELINES_WITH_BOXES,
    REFINEMENT_BASELINES,
    select_rows_at_chance,
)
from compeval.base.text_only.transfer import join_sets, score_transferred


def make_sets(rows: int) -> RetrievalSets:
    """Return sets of "hat" and "truck", each true in half of the sets: the truck in wide crops."""
    truths = [("a truck", "a hat") if row % 2 else ("a hat", "a truck") for row in range(rows)]
    contexts = [["x0", "width1" if row % 2 else "width0"] for row in range(rows)]
    return RetrievalSets(truths, [str(row) for row in range(rows)], contexts=contexts)


def test_bins_are_equally_frequent():
    """Four boxes of 10 to 40 pixels, and of equal height: the aspect has the order of the width, y is one value."""
    boxes = [[0, 5, width, 10] for width in (10, 20, 30, 40)]
    assert bin_boxes(boxes, 2) == [
        ["x0", "y0", "width0", "height0", "area0", "aspect0"],
        ["x0", "y0", "width0", "height0", "area0", "aspect0"],
        ["x1", "y0", "width1", "height0", "area1", "aspect1"],
        ["x1", "y0", "width1", "height0", "area1", "aspect1"],
    ]
    assert bin_boxes([]) == []


def test_words_that_differ_are_written_with_each_context():
    captions = ["A red hat", "a red cup", "a blue hat red"]
    assert list_differing_words(captions) == [{"hat"}, {"cup"}, {"blue", "hat"}]
    sets = RetrievalSets([captions], ["1"], contexts=[["x0", "y2"]])
    assert write_contexts(sets).captions == [
        ["hat_x0 hat_y2", "cup_x0 cup_y2", "blue_x0 blue_y2 hat_x0 hat_y2"]
    ]


@pytest.mark.parametrize("name", [*TRAINED_ON_ALL_ROWS])
def test_the_box_tells_which_word_is_true(name: str):
    """The words alone are at chance, and so is a box that is the same for all."""
    sets = make_sets(40)
    score = TRAINED_ON_ALL_ROWS[name]
    assert recall_at_1(score(sets)).mean() == 1
    assert recall_at_1(score(replace(sets, contexts=[["x0", "width0"]] * 40))).mean() <= 0.5
    other_worlds = replace(make_sets(40), images=[f"other {row}" for row in range(40)])
    assert recall_at_1(score_transferred(sets, score, other_worlds)).mean() == 1


def test_contexts_stay_with_their_rows():
    sets = make_sets(4)
    assert sets.take(np.array([3, 0])).contexts == [["x0", "width1"], ["x0", "width0"]]
    assert join_sets([sets, sets]).contexts == [*sets.contexts, *sets.contexts]
    assert RetrievalSets([["a", "b"]], ["1"]).take(np.array([0])).contexts == ()


def test_refinement_balances_the_box():
    """In 90 of 120 rows the box tells the truth. Half of the rows on which it is right as often as wrong are kept."""
    sets = make_sets(120)
    wrong = [
        ["x0", "width0" if row % 2 else "width1"] if row < 30 else sets.contexts[row]
        for row in range(120)
    ]
    sets = replace(sets, contexts=wrong)
    keep_N = select_rows_at_chance(sets, 0, CONTEXT_BASELINES)
    assert (keep_N[:30].sum(), keep_N[30:].sum()) == (30, 30)


def test_baselines_of_unrefined_sets_are_trained_once_on_all_rows():
    """Rows 0 and 1 are of one image and share the word "hat", so that one of them is left out before any round."""
    captions = [("a hat", "a cup"), ("a hat", "a pen"), *[("a bus", "a map")] * 8]
    sets = RetrievalSets(captions, ["0", "0", *map(str, range(8))])
    training_sizes: list[int] = []

    def score(sets: RetrievalSets) -> np.ndarray:
        training_sizes.append(len(sets))
        return np.zeros((len(sets), 2))

    keep_N = select_rows_at_chance(sets, 0, {}, unrelated=True, trained_once={"equal": score})
    assert training_sizes == [10]
    assert keep_N[:2].sum() <= 1


def test_rows_that_a_reader_of_unrefined_sets_finds_are_removed():
    """The reader is right in 30 of 40 rows, and wrong in 10: 10 of each stay."""
    sets = replace(make_sets(40), contexts=())
    right_N = np.arange(40) < 30

    def score(sets: RetrievalSets) -> np.ndarray:
        hit_N = right_N[[int(image) for image in sets.images]]
        return np.stack([hit_N, ~hit_N], axis=1).astype(float)

    keep_N = select_rows_at_chance(sets, 0, {}, trained_once={"reader": score})
    assert (keep_N[:30].sum(), keep_N[30:].sum()) == (10, 10)


def test_baselines_of_other_sets_read_no_context():
    """Published files have no boxes. Their refinement stays as it is."""
    sets = replace(make_sets(40), contexts=())
    assert not set(REFINEMENT_BASELINES) & set(CONTEXT_BASELINES)
    assert set(REFINEMENT_BASELINES) < set(BASELINES_WITH_BOXES)
    for baseline in REFINEMENT_BASELINES.values():
        assert np.array_equal(baseline(sets), baseline(make_sets(40)))
