from pathlib import Path

import pytest

from evaluators import models
from evaluators.engine import encode, plan
from evaluators.engine.devices import encode_share
from evaluators.engine.encode import ALL, Engine
from evaluators.engine.encode import encode as encode_plan
from evaluators.engine.feature_cache import FeatureStore
from evaluators.engine.rows import load
from evaluators.engine.tasks import discover
from evaluators.run import run
from tests.evaluators.engine.test_encode import all_files


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)


EVEN, ODD = slice(0, None, 2), slice(1, None, 2)


def test_shares_of_a_small_plan():
    # Ten items in chunks of three: 0 to 2, 3 to 5, 6 to 8, and 9.
    chunks = plan.chunks(10, 3)
    assert chunks[EVEN] == [slice(0, 3), slice(6, 9)]
    assert chunks[ODD] == [slice(3, 6), slice(9, 10)]
    assert chunks[ALL] == chunks


def test_shares_make_up_the_plan_without_overlap(here: Path, data: Path):
    model, store = models.resolve("python:toy_models:Company"), FeatureStore(None, "model")
    engine = Engine(model, plan.make(load(discover(data), data)), store, batch_size=5)

    def encode(share: slice) -> tuple[int, int]:
        encoded = encode_plan(engine, share)
        return encoded.images_encoded, encoded.texts_encoded

    # 23 crops in chunks of 5, 150 texts in chunks of 16: the even chunks, the odd ones, and then nothing is left.
    assert [encode(share) for share in (EVEN, ODD, ALL)] == [(13, 80), (10, 70), (0, 0)]


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_several_devices_write_the_same_bytes_as_one(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    tasks = [task for task in discover(data) if name == "Knows" or not task.is_raw]
    model = models.resolve(f"python:toy_models:{name}")
    run(model, tasks, data_dir=data, output=here / "one")
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "another cache"))
    run(model, tasks, data_dir=data, output=here / "two", more_devices=["cpu", "cpu"])
    assert all_files(here / "two") == all_files(here / "one")


def test_pairs_are_shared_between_processes(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("evaluators.engine.pairs.PAIRS_PER_CHUNK", 20)
    tasks = [task for task in discover(data) if not task.is_raw]
    planned, store = plan.make(load(tasks, data)), FeatureStore(None, "model")

    def pairs(share: slice) -> int:
        model = models.resolve("python:toy_models:Pairs")
        encode_share(Engine(model, planned, store, batch_size=5), share)
        return model.encoder.model.pairs  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]

    # Four rows of 5 pairs a chunk: of 7 rows 4 and 3, of 23 rows 12 and 11. n4 has five rows of 4 pairs, one chunk: the
    # pairs are those of the first five of the 23, of which the fifth is in the other share. n5 has nothing new.
    assert [pairs(EVEN), pairs(ODD), pairs(ALL)] == [5 * (4 + 12) + 4, 5 * (3 + 11) - 4, 0]


def test_the_caller_does_the_work_of_a_failed_process(here: Path, data: Path):
    # The class is known to this process alone, so the other one fails.
    import toy_models  # pyright: ignore[reportMissingImports]

    toy_models.Hidden = toy_models.Knows
    (result,) = run(models.resolve("python:toy_models:Hidden"), discover(data)[:1], data_dir=data, more_devices=["cpu"])
    assert result["metrics"]["recall@1"] == 1.0
