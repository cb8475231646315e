import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.blind_scorers import Sets, hits
from generators.refinement import LEAST, refined, shares


def test_shares_by_hand():
    """60 rows hit and 40 not: of the hits 10 stay, so that 10 / 50 = 1/5 hits; that is half of the rows."""
    assert shares(np.array([[1.0, 0.0]]), np.array([60, 40]), 1 / 5) == pytest.approx([1 / 6, 1])


def test_too_few_hits_drop_misses():
    """10 hits of 100: all stay, with 40 of the 90 misses."""
    assert shares(np.array([[1.0, 0.0]]), np.array([10, 90]), 1 / 5) == pytest.approx([1, 40 / 90])


def test_where_chance_cannot_be_reached_half_stays_or_all():
    assert shares(np.array([[1.0]]), np.array([10]), 1 / 6) == pytest.approx([LEAST])
    keep = shares(np.array([[1.0, 0.0]]), np.array([90, 10]), 1 / 5)
    assert keep == pytest.approx([40 / 90, 1])  # 40 of 50 hit; fewer rows may not stay


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=30, max_size=80), st.integers(0, 3))
def test_at_least_half_stays_and_the_same_in_any_order(rows: list[tuple[bool, bool]], seed: int):
    """Two scorers that are right where the rows say so."""
    sets = Sets([[f"truth {place}", "other"] for place in range(len(rows))], [str(place) for place in range(len(rows))])
    right = {f"truth {place}": row for place, row in enumerate(rows)}

    def scorer(which: int):
        return lambda sets: np.array([[right[truth][which], 0.5] for truth, _ in sets.captions], dtype=float)

    scorers = {"one": scorer(0), "other": scorer(1)}
    keep_N = refined(sets, seed, scorers)
    assert keep_N.mean() >= LEAST - 4 / len(rows)  # each of four cells is rounded
    for which in scorers.values():
        after = hits(which(sets.where(keep_N))).mean()
        worst = max(abs(hits(scorer(sets)).mean() - 0.5) for scorer in scorers.values())
        assert abs(after - 0.5) <= worst + 8 / len(rows)
    backwards = Sets(sets.captions[::-1], sets.images[::-1])
    assert refined(backwards, seed, scorers)[::-1].tolist() == keep_N.tolist()
