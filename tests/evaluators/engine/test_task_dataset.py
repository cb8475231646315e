"""Load the rows of tasks."""

from pathlib import Path

import pytest

from compeval.evaluators.engine import task_dataset, tasks
from compeval.evaluators.engine.task_dataset import find_smallest_raw_split, load
from compeval.evaluators.engine.tasks import Task
from tests.evaluators import tiny

LAION, RAW = Task("crepe", "laion_uc_hnatom"), Task("crepe", "laion_uc_raw")
ROWS = {
    "cc12m_sc_raw": {"test": 50},
    "laion_ua_raw": {"test": 7},
    "yfcc_ua_raw": {"test": 0},
    "laion_uc_hnatom": {"test": 3},
    "prod_raw": {"n4": 9, "n5": 5},
    "prod_hnatom": {"n4": 2},
}


@pytest.mark.parametrize(
    ("task", "more", "expected"),
    [
        # Empty splits and those with hard negatives do not count, nor does one family for the other.
        (Task("crepe", "cc12m_sc_raw"), {}, 7),
        (Task("crepe", "prod_raw", "n4"), {}, 5),
        # A corpus of the user has a family of its own; its split of a single row is too small to retrieve from.
        (
            Task("crepe", "cc12m_sc_raw"),
            {"mine_sc_raw": 3000, "mine_uc_raw": 150, "mine_ua_raw": 1},
            7,
        ),
        (
            Task("crepe", "mine_sc_raw"),
            {"mine_sc_raw": 3000, "mine_uc_raw": 150, "mine_ua_raw": 1},
            150,
        ),
        # Splits that are all small are better than none.
        (
            Task("crepe", "mine_sc_raw"),
            {"mine_sc_raw": 90, "mine_uc_raw": 40, "mine_ua_raw": 1},
            40,
        ),
    ],
)
def test_a_fold_has_the_size_of_the_smallest_raw_split_of_its_family(
    task: Task, more: dict[str, int], expected: int
):
    assert (
        find_smallest_raw_split(
            task, ROWS | {config: {"test": rows} for config, rows in more.items()}
        )
        == expected
    )


def test_load(data: Path):
    dataset = load(LAION, data)
    assert (len(dataset), dataset.set_size, dataset.protocol.name, dataset.source) == (
        23,
        5,
        "choice",
        "microworld",
    )
    assert dataset.fingerprint != load(LAION, data, limit=22).fingerprint
    raw = load(RAW, data)  # laion_uc_raw has 9 rows, laion_sc_raw 4: N = 4
    assert (raw.protocol.name, raw.fold_size, raw.set_size) == ("recall", 4, 4)
    assert load(RAW, data, limit=3).fold_size == 3


def test_images_are_read_from_the_right_row_groups(data: Path, monkeypatch: pytest.MonkeyPatch):
    whole, dataset = load(LAION, data), load(LAION, data)
    expected = [whole.read_image(row, "image") for row in range(3)]
    groups = [(dataset.files[0], 0, 0), (dataset.files[0], 0, 3), (dataset.files[0], 0, 10)]
    monkeypatch.setattr(task_dataset, "_list_row_groups", lambda files, fingerprint: groups)
    # Row 5 is the third of a group that begins with row 3, row 12 the third of one that begins with row 10.
    for row, number in ((0, 0), (2, 2), (5, 2), (12, 2)):
        assert dataset.read_image(row, "image") == expected[number]


def test_a_damaged_split_is_a_task_that_cannot_be_loaded(tmp_path: Path):
    data = tiny.write_dataset(
        tmp_path, {"prod_hnatom": {"n4": tiny.choice_rows(2), "n5": tiny.choice_rows(3)}}
    )
    file = data / "crepe" / "prod_hnatom" / "n4-00000-of-00001.parquet"
    file.write_bytes(file.read_bytes()[:100])
    damaged, sound = tasks.discover(data)
    assert len(load(sound, data)) == 3
    with pytest.raises(ValueError, match=r"n4-00000-of-00001.parquet: not a readable parquet file"):
        load(damaged, data)
    file.unlink()
    damaged, _ = tasks.discover(data)
    with pytest.raises(ValueError, match="no file on disk, 2 rows in"):
        load(damaged, data)


def test_rows_with_different_numbers_of_negatives_are_an_error(tmp_path: Path):
    rows = [tiny.row(0, "red", "ball", ["blue"]), tiny.row(1, "red", "box", ["blue", "green"])]
    data = tiny.write_dataset(tmp_path, {"odd_hnatom": {"test": rows}})
    with pytest.raises(
        ValueError,
        match=r"crepe/odd_hnatom: rows have \[1, 2\] hard negatives, one positive number expected",
    ):
        _ = load(Task("crepe", "odd_hnatom"), data).set_size


def test_rows_of_one_crop_id_with_different_images_are_refused(tmp_path: Path):
    """They would be scored with the picture of the first row. Rows that share an image are not affected."""
    rows = list(tiny.choice_rows(3))
    shared = rows[1] | {"crop_id": rows[0]["crop_id"], "image": rows[0]["image"]}
    tiny.write_dataset(tmp_path, {"prod_hnatom": {"n4": [*rows, shared]}})
    assert len(load(Task("crepe", "prod_hnatom", "n4"), tmp_path)) == 4
    wrong = rows[1] | {"crop_id": rows[0]["crop_id"]}
    tiny.write_dataset(tmp_path, {"prod_hnatom": {"n4": [*rows, wrong]}})
    for _ in range(2):  # a refused file is not remembered as good
        with pytest.raises(ValueError, match=r"rows with the crop_id .* have different images"):
            load(Task("crepe", "prod_hnatom", "n4"), tmp_path)
