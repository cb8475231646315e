import multiprocessing
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from compeval.evaluators.engine import feature_cache as features
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.models import fingerprint
from compeval.evaluators.models.fingerprint import of_features

KEYS = [bytes([number]) * 16 for number in range(3)]
VALUES = np.arange(6, dtype=np.float32).reshape(3, 2)


def cache_file(folder: Path, model_fingerprint: str) -> Path:
    return folder / f"{of_features(model_fingerprint)}{features.SUFFIX}"


def test_get_returns_stored_features_in_the_requested_order(tmp_path: Path):
    store = FeatureStore(tmp_path, "model")
    store.put(KEYS[:2], VALUES[:2])
    store.close()
    store = FeatureStore(tmp_path, "model")
    assert store.missing(KEYS) == [2]
    np.testing.assert_array_equal(store.get([KEYS[1], KEYS[0], KEYS[1]]), VALUES[[1, 0, 1]])


def test_more_keys_than_fit_in_one_query(tmp_path: Path):
    keys = [number.to_bytes(16, "big") for number in range(1201)]
    store = FeatureStore(None, "model")
    store.put(keys[:1200], np.zeros((1200, 1), np.float32))
    assert store.missing(keys) == [1200]
    assert store.get(keys[:1200]).shape == (1200, 1)


def test_models_do_not_share_features(tmp_path: Path):
    FeatureStore(tmp_path, "one").put(KEYS, VALUES)
    assert FeatureStore(tmp_path, "other").missing(KEYS) == [0, 1, 2]


def test_the_first_value_of_a_key_is_kept():
    store = FeatureStore(None, "model")
    store.put(KEYS, VALUES)
    store.put(KEYS, VALUES + 1)
    np.testing.assert_array_equal(store.get(KEYS), VALUES)


@pytest.mark.parametrize("recent_bytes", [0, 16, 500])
def test_features_that_are_kept_in_memory_are_those_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recent_bytes: int
):
    monkeypatch.setattr(features, "RECENT_BYTES", recent_bytes)
    first, second = FeatureStore(tmp_path, "model"), FeatureStore(tmp_path, "model")
    first.put(KEYS[:1], VALUES[:1])
    second.put(KEYS[:2], VALUES[:2] + 1)  # keeps the first feature
    second.put(KEYS[2:], VALUES[2:])
    expected = VALUES + np.array([[0], [1], [0]], np.float32)
    for store in (first, second, FeatureStore(tmp_path, "model")):
        np.testing.assert_array_equal(store.get([KEYS[2], *KEYS]), expected[[2, 0, 1, 2]])


def test_a_chunk_is_stored_completely_or_not_at_all():
    store = FeatureStore(None, "model")
    with pytest.raises(ValueError, match="argument 2 is longer"):
        store.put(KEYS[:2], VALUES)
    assert store.missing(KEYS) == [0, 1, 2]


def test_a_damaged_file_is_one_clear_message(tmp_path: Path):
    path = cache_file(tmp_path, "model")
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(
        ValueError, match=rf"{path}: the feature cache failed .*delete it and run again"
    ):
        FeatureStore(tmp_path, "model")


def test_a_cache_folder_that_is_a_file(tmp_path: Path):
    (tmp_path / "cache").write_text("", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"the feature cache cannot be created .*Set COMPEVAL_CACHE"
    ):
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
    [
        ("database is locked", "Another process is writing: wait"),
        ("disk I/O error", "Free some space"),
    ],
)
def test_an_intact_cache_is_not_called_damaged(message: str, remedy: str):
    """A second process, a quota or a full disk is not damage, so the message must not advise to delete the file."""
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
    old = cache_file(tmp_path, "old")
    os.utime(old, (0, 0))
    assert {file.path.name for file in features.list_cache(tmp_path)} == {
        old.name,
        cache_file(tmp_path, "new").name,
    }
    assert [file.path for file in features.prune(tmp_path, older_than_days=30)] == [old]
    assert not old.exists()
    assert sqlite3.connect(cache_file(tmp_path, "new")).execute(
        "SELECT COUNT(*) FROM feature"
    ).fetchone() == (3,)


@pytest.mark.parametrize("part", ["_encoding_code", "_encoding_versions"])
def test_features_of_other_code_or_packages_are_not_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
):
    FeatureStore(tmp_path, "model").put(KEYS, VALUES)
    assert FeatureStore(tmp_path, "model").missing(KEYS) == []
    monkeypatch.setattr(fingerprint, part, lambda: "changed")
    assert FeatureStore(tmp_path, "model").missing(KEYS) == [0, 1, 2]


def test_the_decoder_and_the_adapters_are_part_of_the_encoding_code(
    monkeypatch: pytest.MonkeyPatch,
):
    seen: list[str] = []
    monkeypatch.setattr(fingerprint, "strip_comments", lambda source: seen.append(source) or "")
    fingerprint._encoding_code.__wrapped__()
    for line in (
        "def decode_image(",
        "def crop_image(",
        "class OpenClipEncoder",
        "class TransformersEncoder",
    ):
        assert any(line in source for source in seen)
    assert {"pillow", "torchvision", "torch"} <= fingerprint._encoding_versions().keys()


def _put(folder: Path, number: int) -> None:
    store = FeatureStore(folder, "model")
    for step in range(20):
        store.put([bytes([number, step]) * 8], np.full((1, 4), number, np.float32))
    store.close()


@pytest.mark.acceptance
def test_processes_that_create_one_cache_at_once_all_store_their_features(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_put, args=(tmp_path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    keys = [bytes([number, step]) * 8 for number in range(4) for step in range(20)]
    assert FeatureStore(tmp_path, "model").missing(keys) == []
