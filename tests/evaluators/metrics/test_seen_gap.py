"""The same-caption gap against values worked out by hand."""

import pandas as pd
import pytest

from evaluators.metrics.seen_gap import directions, gaps, shared


def rows(split: str, *captions: tuple[str, float]) -> pd.DataFrame:
    """One caption an image: (name, hit)."""
    return pd.DataFrame(
        [
            {"crop_id": f"c-{name}", "caption": name, "image_id": f"i-{name}", "split": split, "hit": hit}
            for name, hit in captions
        ]
    )


# a has seen p and q, b has seen r and s; each is unseen for the other. t is seen by both and counts for neither.
HITS = {
    "a": pd.concat([rows("sc", ("p", 1), ("q", 1), ("t", 0)), rows("uc", ("r", 0), ("s", 1))]),
    "b": pd.concat([rows("sc", ("r", 1), ("s", 1), ("t", 1)), rows("uc", ("p", 0), ("q", 0))]),
}


def test_only_captions_that_are_seen_here_and_unseen_there_are_compared():
    found = shared(HITS, "a", "b")
    assert found["image_id"].tolist() == ["i-p", "i-q"]
    assert found["seen_hit"].tolist() == [1, 1]
    assert found["unseen_hit"].tolist() == [0, 0]


def test_directions_and_balanced_gap_by_hand():
    one, other = directions(HITS)
    assert (one.seen, one.unseen, one.captions, one.seen_recall, one.unseen_recall) == ("a", "b", 2, 1.0, 0.0)
    assert (other.seen, other.unseen, other.seen_recall, other.unseen_recall) == ("b", "a", 1.0, 0.5)
    # (1.0 + 0.5) / 2
    assert {gap.corpus: gap.gap for gap in gaps(HITS)} == {"a": 0.75, "b": 0.75, "all": 0.75}


def test_a_model_that_is_better_on_everything_shows_no_gap():
    better = {
        "a": pd.concat(
            [rows("sc", *((f"p{n}", 1) for n in range(40))), rows("uc", *((f"r{n}", 1) for n in range(40)))]
        ),
        "b": pd.concat(
            [rows("sc", *((f"r{n}", 0) for n in range(40))), rows("uc", *((f"p{n}", 0) for n in range(40)))]
        ),
    }
    found = gaps(better)[-1]
    assert (found.gap, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_a_large_gap_has_an_interval_above_zero_and_a_small_p():
    names = [f"p{n}" for n in range(60)], [f"r{n}" for n in range(60)]
    hits = {
        "a": pd.concat(
            [rows("sc", *((n, 1) for n in names[0])), rows("uc", *((n, i % 2) for i, n in enumerate(names[1])))]
        ),
        "b": pd.concat(
            [rows("sc", *((n, 1) for n in names[1])), rows("uc", *((n, i % 2) for i, n in enumerate(names[0])))]
        ),
    }
    found = gaps(hits)[-1]
    assert found.gap == pytest.approx(0.5)
    assert 0.35 < found.low < found.gap < found.high < 0.65
    assert found.p < 0.01


def test_captions_of_one_image_widen_the_interval():
    def hits(images: int) -> dict[str, pd.DataFrame]:
        def block(prefix: str, split: str, hit: int | None) -> pd.DataFrame:
            table = rows(split, *((f"{prefix}{n}", (n % images) % 2 if hit is None else hit) for n in range(60)))
            return table.assign(image_id=[f"{prefix}{n % images}" for n in range(60)])

        return {
            "a": pd.concat([block("p", "sc", 1), block("r", "uc", None)]),
            "b": pd.concat([block("r", "sc", 1), block("p", "uc", None)]),
        }

    narrow, wide = gaps(hits(60))[-1], gaps(hits(6))[-1]
    assert narrow.gap == pytest.approx(wide.gap)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_nothing_in_common_is_an_error():
    with pytest.raises(ValueError, match="No caption is seen in one corpus and unseen in another"):
        gaps({"a": rows("sc", ("p", 1)), "b": rows("sc", ("p", 1))})
