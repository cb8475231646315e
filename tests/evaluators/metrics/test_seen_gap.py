"""Tests of the gap between seen and unseen compounds against values derived by hand."""

from typing import Any

import pandas as pd
import pytest

from compeval.evaluators.metrics.seen_gap import (
    compute_directions,
    compute_gaps,
    join_shared_captions,
)
from tests.close import assert_close


def make_rows(split: str, *captions: tuple[str, float]) -> pd.DataFrame:
    """Return rows of one caption per image, given as (name, hit)."""
    return pd.DataFrame(
        [
            {
                "crop_id": f"c-{name}",
                "caption": name,
                "image_id": f"i-{name}",
                "split": split,
                "hit": hit,
            }
            for name, hit in captions
        ]
    )


# Corpus a contains p and q, corpus b contains r and s. Both contain t, so t is not used.
HITS = {
    "a": pd.concat(
        [make_rows("sc", ("p", 1), ("q", 1), ("t", 0)), make_rows("uc", ("r", 0), ("s", 1))]
    ),
    "b": pd.concat(
        [make_rows("sc", ("r", 1), ("s", 1), ("t", 1)), make_rows("uc", ("p", 0), ("q", 0))]
    ),
}


def test_shared_captions_are_seen_in_one_corpus_and_unseen_in_the_other():
    captions = join_shared_captions(HITS, "a", "b")
    assert captions["image_id"].tolist() == ["i-p", "i-q"]
    assert captions["seen_hit"].tolist() == [1, 1]
    assert captions["unseen_hit"].tolist() == [0, 0]


def test_directions_and_gap():
    first, second = compute_directions(HITS)
    assert (first.seen, first.unseen, first.captions, first.seen_recall, first.unseen_recall) == (
        "a",
        "b",
        2,
        1.0,
        0.0,
    )
    assert (second.seen, second.unseen, second.seen_recall, second.unseen_recall) == (
        "b",
        "a",
        1.0,
        0.5,
    )
    # (1.0 + 0.5) / 2
    assert {gap.corpus: gap.gap for gap in compute_gaps(HITS)} == {
        "a": 0.75,
        "b": 0.75,
        "all": 0.75,
    }


def make_hits(
    seen_a: list[float], unseen_a: list[float], seen_b: list[float], unseen_b: list[float]
) -> dict[str, Any]:
    """Return the hits of corpora a and b: captions p are seen by a and unseen by b, captions r the other way round."""

    def number(prefix: str, hits: list[float]) -> list[tuple[str, float]]:
        return [(f"{prefix}{n}", hit) for n, hit in enumerate(hits)]

    return {
        "a": pd.concat(
            [make_rows("sc", *number("p", seen_a)), make_rows("uc", *number("r", unseen_a))]
        ),
        "b": pd.concat(
            [make_rows("sc", *number("r", seen_b)), make_rows("uc", *number("p", unseen_b))]
        ),
    }


def test_a_model_that_is_better_on_everything_shows_no_gap():
    gap = compute_gaps(make_hits([1] * 40, [1] * 40, [0] * 40, [0] * 40))[-1]
    assert (gap.gap, gap.low, gap.high, gap.p) == (0, 0, 0, 1)


def test_a_large_gap_has_an_interval_above_zero_which_captions_of_one_image_widen():
    hits = make_hits([1] * 60, [0, 1] * 30, [1] * 60, [0, 1] * 30)
    gap = compute_gaps(hits)[-1]
    assert_close(gap.gap, 0.5)
    assert 0.35 < gap.low < gap.gap < gap.high < 0.65
    assert gap.p < 0.01
    # Six images per block of captions instead of sixty.
    shared = {
        corpus: rows.assign(image_id=[f"{name[0]}{int(name[1:]) % 6}" for name in rows["caption"]])
        for corpus, rows in hits.items()
    }
    wide = compute_gaps(shared)[-1]
    assert_close(wide.gap, gap.gap)
    assert wide.high - wide.low > 2 * (gap.high - gap.low)


def test_error_without_shared_captions():
    with pytest.raises(ValueError, match="No caption is seen in one corpus and unseen in another"):
        compute_gaps({"a": make_rows("sc", ("p", 1)), "b": make_rows("sc", ("p", 1))})
