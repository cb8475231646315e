"""The rows of a split, from the outcomes of hand-made walks."""

import pickle
from collections import Counter

from generators.hard_negatives.crepe.productivity import BALANCED_KINDS, KINDS
from generators.hard_negatives.crepe.split_rows import (
    MAX_IMAGES_PER_ROW,
    MIN_IMAGES,
    MIN_IMAGES_PER_ROW,
    RAW,
    ExampleRows,
    Outcome,
    SplitRows,
)
from generators.schemas.scene_graph import Box

CROP = Box(0, 0, 9, 9)


def make_outcome(number: int, *kinds: str, undecided: int = 0, box: Box = CROP, key: str = "key") -> Outcome:
    """Return the outcome of a walk that has negatives of these kinds."""
    columns = {kind: pickle.dumps({"caption": f"{kind} {number}"}) if kind in kinds else None for kind in KINDS}
    raw = pickle.dumps({"caption": f"raw {number}", "image_id": str(number)})
    rows = ExampleRows((1, str(number), key), box, raw, columns, dict.fromkeys(KINDS, undecided))
    return Outcome(Counter({"small crop": 1}), rows)


def list_captions(rows: SplitRows) -> dict[str, list[str]]:
    return {kind: [row["caption"] for row in rows.read_rows(kind)] for kind in (RAW, *KINDS)}


def test_rows_are_sorted_by_image_and_raw_has_the_examples_of_all_configs() -> None:
    rows = SplitRows(2, KINDS)
    for number, kinds in ((5, ["hnatom"]), (3, ["hnatom", "hnneg"]), (4, ["hnatom"]), (1, ["hnneg", "hnswap"])):
        rows.add(make_outcome(number, *kinds))
    captions = list_captions(rows)
    assert captions[RAW] == ["raw 1", "raw 3", "raw 5"]  # 4 was not needed: there were two HN-Atoms and two raw rows
    assert captions["hnatom"] == ["hnatom 3", "hnatom 5"]
    assert captions["hnneg"] == ["hnneg 1", "hnneg 3"]
    assert captions["hnswap"] == ["hnswap 1"]
    assert rows.open_kinds == {"hnswap", "hnall", *BALANCED_KINDS}


def test_a_config_has_no_crop_of_an_image_twice() -> None:
    """The walks of one image with different conditions may have the same crop, or be the same walk."""
    rows = SplitRows(9, KINDS)
    rows.add(make_outcome(1, "hnatom", "hnneg"))
    rows.add(make_outcome(1, "hnatom", "hnswap", key="other", box=Box(0, 0, 9, 8)))
    rows.add(make_outcome(1, "hnatom", "hnall"))
    rows.add(make_outcome(1, "hnatom", key="far", box=Box(9, 0, 9, 9)))
    rows.add(make_outcome(2, "hnatom"))
    captions = list_captions(rows)
    assert {kind: len(captions[kind]) for kind in (RAW, "hnatom", "hnneg", "hnswap", "hnall")} == {
        RAW: 4,  # of the four examples of image 1, the third is the first again
        "hnatom": 3,
        "hnneg": 1,
        "hnswap": 1,
        "hnall": 1,
    }
    assert rows.count_dropped()["hnatom: crop overlaps an earlier one"] == 2


def test_a_split_closes_when_its_configs_are_complete() -> None:
    rows = SplitRows(1, KINDS)
    rows.add(make_outcome(1, *(kind for kind in KINDS if kind != "hnall")))
    assert rows.is_open
    assert rows.open_kinds == {"hnall"}
    rows.add(make_outcome(2, *KINDS))
    assert not rows.is_open
    rows.add(make_outcome(3, *KINDS))
    assert rows.num_visited == 2
    assert rows.count_dropped() == {"small crop": 2, "hnall: fewer than 5 negatives": 1}


def test_rare_negatives_are_given_up_and_missing_rows_are_counted() -> None:
    """HN-Swap has one row, and HN-Neg none: after 440 and 400 images, they have less than one row per 40 images."""
    rows = SplitRows(2, KINDS)
    for number in range(500):
        kinds = ["hnatom", "hnswap"] if number == 9 else ["hnatom"]
        rows.add(make_outcome(number, *kinds, undecided=3) if number != 7 else Outcome(Counter(short=4), None))
        if rows.num_visited == MIN_IMAGES:
            assert rows.open_kinds == {"hnswap"}
    assert rows.num_visited == MIN_IMAGES + MAX_IMAGES_PER_ROW == 440
    assert not rows.is_open
    dropped = rows.count_dropped()
    assert dropped["short"] == 4
    assert dropped["hnneg: fewer than 5 negatives"] == MIN_IMAGES - 1
    assert dropped["hnswap: fewer than 5 negatives"] == 440 - 2
    assert dropped["hnneg: proofs given up"] == 3 * (MIN_IMAGES - 1)
    assert dropped["hnatom: proofs given up"] == 3 * 2
    assert {reason: n for reason, n in dropped.items() if reason.endswith("not found")} == {
        "hnswap: rows not found": 1,
        "hnneg: rows not found": 2,
        "hnall: rows not found": 2,
        **{f"{kind}: rows not found": 2 for kind in BALANCED_KINDS},
    }


def test_many_rows_are_not_given_up_early() -> None:
    rows = SplitRows(1000, KINDS)
    for _ in range(MIN_IMAGES_PER_ROW * 1000 + 9):
        assert rows.open_kinds
        rows.add(Outcome(Counter(), None))
        if not rows.is_open:
            break
    assert rows.num_visited == MIN_IMAGES_PER_ROW * 1000
