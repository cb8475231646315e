import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from evaluators.engine import feature_cache as features
from evaluators.engine.feature_cache import FeatureStore

KEYS = [bytes([number]) * 16 for number in range(3)]
VALUES = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_what_was_put_is_there_in_the_order_asked_for(tmp_path: Path):
    store = FeatureStore(tmp_path, "model")
    store.put(KEYS[:2], VALUES[:2])
    store.close()
    store = FeatureStore(tmp_path, "model")
    assert store.missing(KEYS) == [2]
    np.testing.assert_array_equal(store.get([KEYS[1], KEYS[0], KEYS[1]]), VALUES[[1, 0, 1]])


def test_more_keys_than_one_query_takes(tmp_path: Path):
    keys = [number.to_bytes(16, "big") for number in range(1201)]
    store = FeatureStore(None, "model")
    store.put(keys[:1200], np.zeros((1200, 1)))
    assert store.missing(keys) == [1200]
    assert store.get(keys[:1200]).shape == (1200, 1)


def test_models_do_not_share_features(tmp_path: Path):
    FeatureStore(tmp_path, "one").put(KEYS, VALUES)
    assert FeatureStore(tmp_path, "other").missing(KEYS) == [0, 1, 2]


def test_the_first_value_of_a_key_stays():
    store = FeatureStore(None, "model")
    store.put(KEYS, VALUES)
    store.put(KEYS, VALUES + 1)
    np.testing.assert_array_equal(store.get(KEYS), VALUES)


def test_a_chunk_is_stored_whole_or_not_at_all():
    store = FeatureStore(None, "model")
    with pytest.raises(ValueError, match="argument 2 is longer"):
        store.put(KEYS[:2], VALUES)
    assert store.missing(KEYS) == [0, 1, 2]


def test_a_damaged_file_is_one_clear_message(tmp_path: Path):
    path = tmp_path / f"model{features.SUFFIX}"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(ValueError, match=rf"{path}: the feature cache failed .*delete it and run again"):
        FeatureStore(tmp_path, "model")


def test_a_truncated_file_is_one_clear_message(tmp_path: Path):
    store = FeatureStore(tmp_path, "model")
    keys = [number.to_bytes(16, "big") for number in range(2000)]
    store.put(keys, np.ones((2000, 16)))
    store.close()
    path = tmp_path / f"model{features.SUFFIX}"
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ValueError, match="delete it and run again"):
        FeatureStore(tmp_path, "model").get(keys)


def test_a_cache_folder_that_is_a_file(tmp_path: Path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(ValueError, match=r"the feature cache cannot be made .*Set COMPEVAL_CACHE"):
        FeatureStore(tmp_path / "cache", "model")


def test_a_full_disk_is_one_clear_message(tmp_path: Path):
    store = FeatureStore(tmp_path, "model")
    store._database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(ValueError, match=r"database or disk is full.*encoded features are kept"):
        store.put([number.to_bytes(16, "big") for number in range(500)], np.ones((500, 64)))


class Failing:
    def __init__(self, message: str) -> None:
        self._message = message

    def execute(self, *_: object) -> None:
        raise sqlite3.OperationalError(self._message)


@pytest.mark.parametrize(
    ("message", "remedy"),
    [("database is locked", "Another process is writing: wait"), ("disk I/O error", "Free some space")],
)
def test_a_sound_cache_is_not_called_damaged(message: str, remedy: str):
    """A second process, a quota, a disk too full for SQLite's index of the log: nobody should delete the file."""
    store = FeatureStore(None, "model")
    store._database = Failing(message)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match=remedy) as caught:
        store.missing(KEYS)
    assert "delete" not in str(caught.value)


def test_list_and_prune(tmp_path: Path):
    for name in ("old", "new"):
        store = FeatureStore(tmp_path, name)
        store.put(KEYS, VALUES)
        store.close()
    old = tmp_path / f"old{features.SUFFIX}"
    os.utime(old, (0, 0))
    assert {file.path.name for file in features.list_cache(tmp_path)} == {old.name, f"new{features.SUFFIX}"}
    assert [file.path for file in features.prune(tmp_path, older_than_days=30)] == [old]
    assert not old.exists()
    assert sqlite3.connect(tmp_path / f"new{features.SUFFIX}").execute("SELECT COUNT(*) FROM feature").fetchone() == (
        3,
    )
