"""The balanced variants of a user's own hard negatives."""

import numpy as np
import pytest

from compeval.base.text_only.baselines import RetrievalSets
from compeval.loaders.own_data import balanced
from compeval.loaders.own_data.balanced import MIN_ROWS, select_balanced


def make_sets(rows: int, *, has_cue: bool) -> RetrievalSets:
    """Return pairs of a red and a blue cup, in which red is always true, or true in every second row."""
    pairs = [(f"a red cup {row % 7}", f"a blue cup {row % 7}") for row in range(rows)]
    captions = [pair if has_cue or row % 2 else pair[::-1] for row, pair in enumerate(pairs)]
    return RetrievalSets(captions, [str(row) for row in range(rows)])


def test_a_set_that_text_alone_solves_has_no_balanced_variant():
    keep_N, reason = select_balanced(make_sets(150, has_cue=True))
    assert keep_N is None
    assert "selects 100.0% of the " in reason
    assert "rows that 1 selections left of 150; at most 53.0% of at least 100 are allowed" in reason


def test_few_rows_are_not_selected():
    keep_N, reason = select_balanced(make_sets(MIN_ROWS - 1, has_cue=False))
    assert keep_N is None
    assert reason == "it has 99 rows; 100 are needed"


def test_rows_are_selected_until_no_baseline_is_above_the_limit(monkeypatch: pytest.MonkeyPatch):
    """Each selection drops the first quarter of the rows: 160, 120. Rows with the cue are the first 40."""
    cued, others = make_sets(40, has_cue=True), make_sets(120, has_cue=False)
    sets = RetrievalSets([*cued.captions, *others.captions], [str(row) for row in range(160)])
    selections = list[int]()

    def select(part: RetrievalSets, seed: int, baselines: object) -> np.ndarray:
        selections.append(len(part))
        return np.arange(len(part)) >= len(part) / 4

    monkeypatch.setattr(balanced, "select_rows_at_chance", select)
    keep_N, reason = select_balanced(sets)
    assert keep_N is not None, reason
    assert selections == [160]
    assert keep_N.sum() == 120
    assert not keep_N[:40].any()
