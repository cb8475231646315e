"""Tests of the gap between seen and unseen compounds against values derived by hand."""

import pandas as pd
import pytest

from evaluators.metrics.seen_gap import compute_directions, compute_gaps, join_shared_captions


def make_rows(split: str, *captions: tuple[str, float]) -> pd.DataFrame:
    """Return rows of one caption per image, given as (name, hit)."""
    return pd.DataFrame(
        [
            {"crop_id": f"c-{name}", "caption": name, "image_id": f"i-{name}", "split": split, "hit": hit}
            for name, hit in captions
        ]
    )


# Corpus a contains p and q, corpus b contains r and s. Both contain t, so t is not used.
HITS = {
    "a": pd.concat([make_rows("sc", ("p", 1), ("q", 1), ("t", 0)), make_rows("uc", ("r", 0), ("s", 1))]),
    "b": pd.concat([make_rows("sc", ("r", 1), ("s", 1), ("t", 1)), make_rows("uc", ("p", 0), ("q", 0))]),
}


def test_shared_captions_are_seen_in_one_corpus_and_unseen_in_the_other():
    captions = join_shared_captions(HITS, "a", "b")
    assert captions["image_id"].tolist() == ["i-p", "i-q"]
    assert captions["seen_hit"].tolist() == [1, 1]
    assert captions["unseen_hit"].tolist() == [0, 0]


def test_directions_and_gap():
    first, second = compute_directions(HITS)
    assert (first.seen, first.unseen, first.captions, first.seen_recall, first.unseen_recall) == ("a", "b", 2, 1.0, 0.0)
    assert (second.seen, second.unseen, second.seen_recall, second.unseen_recall) == ("b", "a", 1.0, 0.5)
    # (1.0 + 0.5) / 2
    assert {gap.corpus: gap.gap for gap in compute_gaps(HITS)} == {"a": 0.75, "b": 0.75, "all": 0.75}


def test_a_model_that_is_better_on_everything_shows_no_gap():
    better = {
        "a": pd.concat(
            [make_rows("sc", *((f"p{n}", 1) for n in range(40))), make_rows("uc", *((f"r{n}", 1) for n in range(40)))]
        ),
        "b": pd.concat(
            [make_rows("sc", *((f"r{n}", 0) for n in range(40))), make_rows("uc", *((f"p{n}", 0) for n in range(40)))]
        ),
    }
    gap = compute_gaps(better)[-1]
    assert (gap.gap, gap.low, gap.high, gap.p) == (0, 0, 0, 1)


def test_a_large_gap_has_an_interval_above_zero_and_a_small_p():
    names = [f"p{n}" for n in range(60)], [f"r{n}" for n in range(60)]
    hits = {
        "a": pd.concat(
            [
                make_rows("sc", *((n, 1) for n in names[0])),
                make_rows("uc", *((n, i % 2) for i, n in enumerate(names[1]))),
            ]
        ),
        "b": pd.concat(
            [
                make_rows("sc", *((n, 1) for n in names[1])),
                make_rows("uc", *((n, i % 2) for i, n in enumerate(names[0]))),
            ]
        ),
    }
    gap = compute_gaps(hits)[-1]
    assert gap.gap == pytest.approx(0.5)
    assert 0.35 < gap.low < gap.gap < gap.high < 0.65
    assert gap.p < 0.01


def test_captions_of_one_image_widen_the_interval():
    def make_hits(num_images: int) -> dict[str, pd.DataFrame]:
        def make_block(prefix: str, split: str, hit: int | None) -> pd.DataFrame:
            table = make_rows(
                split, *((f"{prefix}{n}", (n % num_images) % 2 if hit is None else hit) for n in range(60))
            )
            return table.assign(image_id=[f"{prefix}{n % num_images}" for n in range(60)])

        return {
            "a": pd.concat([make_block("p", "sc", 1), make_block("r", "uc", None)]),
            "b": pd.concat([make_block("r", "sc", 1), make_block("p", "uc", None)]),
        }

    narrow, wide = compute_gaps(make_hits(60))[-1], compute_gaps(make_hits(6))[-1]
    assert narrow.gap == pytest.approx(wide.gap)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_error_without_shared_captions():
    with pytest.raises(ValueError, match="No caption is seen in one corpus and unseen in another"):
        compute_gaps({"a": make_rows("sc", ("p", 1)), "b": make_rows("sc", ("p", 1))})
