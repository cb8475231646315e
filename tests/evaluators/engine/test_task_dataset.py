from pathlib import Path

import pytest

from evaluators import models
from evaluators.engine.task_dataset import find_smallest_raw_split, load
from evaluators.engine.tasks import Task
from evaluators.run import run

ROWS = {
    "cc12m_sc_raw": {"test": 50},
    "laion_ua_raw": {"test": 7},
    "yfcc_ua_raw": {"test": 0},
    "laion_uc_hnatom": {"test": 3},
    "prod_raw": {"n4": 9, "n5": 5},
    "prod_hnatom": {"n4": 2},
}


def test_a_fold_has_the_size_of_the_smallest_raw_split_of_all_corpora_or_all_complexities():
    # Empty splits and those with hard negatives do not count, nor does one family for the other.
    assert find_smallest_raw_split(Task("crepe", "cc12m_sc_raw"), ROWS) == 7
    assert find_smallest_raw_split(Task("crepe", "prod_raw", "n4"), ROWS) == 5


def test_a_corpus_of_the_user_does_not_change_the_folds_of_the_papers_corpora():
    rows = ROWS | {"mine_sc_raw": {"test": 3000}, "mine_uc_raw": {"test": 150}, "mine_ua_raw": {"test": 1}}
    assert find_smallest_raw_split(Task("crepe", "cc12m_sc_raw"), rows) == 7
    # Its own split of one row is too small to retrieve from, so the other two splits determine N.
    assert find_smallest_raw_split(Task("crepe", "mine_sc_raw"), rows) == 150
    # Splits that are all small are better than none.
    small = {"mine_sc_raw": {"test": 90}, "mine_uc_raw": {"test": 40}, "mine_ua_raw": {"test": 1}}
    assert find_smallest_raw_split(Task("crepe", "mine_sc_raw"), small) == 40


def test_images_are_read_from_the_right_row_groups(data: Path):
    rows = load(Task("crepe", "laion_uc_hnatom"), data)
    rows.__dict__["_row_groups"] = [(rows.files[0], 0, 0), (rows.files[0], 0, 3), (rows.files[0], 0, 10)]
    whole = load(Task("crepe", "laion_uc_hnatom"), data)
    # Row 5 is the third of a group that begins with row 3, row 12 the third of one that begins with row 10.
    for row, expected in ((0, 0), (2, 2), (5, 2), (12, 2)):
        assert rows.read_image(row, "image") == whole.read_image(expected, "image")


def test_retrieval_among_a_single_row_is_one_message(here: Path, data: Path):
    rows = load(Task("crepe", "laion_uc_raw"), data, limit=1)
    assert rows.set_size == 1
    with pytest.raises(ValueError, match=r"crepe/laion_uc_raw: retrieval needs a wrong candidate .* of the 1 rows"):
        run(models.resolve("python:toy_models:Knows"), [rows.task], data_dir=data, limit=1)
