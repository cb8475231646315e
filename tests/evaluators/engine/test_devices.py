from pathlib import Path

import pytest

from evaluators import models
from evaluators.engine import encode as engine
from evaluators.engine import plan
from evaluators.engine.devices import work_through
from evaluators.engine.encode import ALL, Share
from evaluators.engine.feature_cache import FeatureStore
from evaluators.engine.rows import load
from evaluators.engine.tasks import discover
from evaluators.run import run
from tests.evaluators.engine.test_encode import all_files


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TEXTS_A_CHUNK", 16)
    monkeypatch.setattr(plan, "CROPS_A_CHUNK", 4)


def test_shares_by_hand():
    # Ten items in chunks of three begin at 0, 3, 6 and 9.
    assert [list(Share(index, 2).starts(10, 3)) for index in (0, 1)] == [[0, 6], [3, 9]]
    assert list(ALL.starts(10, 3)) == [0, 3, 6, 9]


def test_shares_make_up_the_plan_without_overlap(here: Path, data: Path):
    model, store = models.resolve("python:toy_models:Company"), FeatureStore(None, "model")
    planned = plan.make(load(discover(data), data))

    def encode(share: Share) -> tuple[int, int]:
        done = engine.encode(model, planned, store, 5, "stop", lambda *_: None, share)
        return done.images_encoded, done.texts_encoded

    # 23 crops in chunks of 4 and 150 texts in chunks of 16: the even chunks, the odd ones, nothing that is left.
    assert [encode(share) for share in (Share(0, 2), Share(1, 2), ALL)] == [(12, 80), (11, 70), (0, 0)]


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_several_devices_give_the_bytes_of_one(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    tasks = [task for task in discover(data) if name == "Knows" or not task.is_raw]
    model = models.resolve(f"python:toy_models:{name}")
    run(model, tasks, data_dir=data, output=here / "one")
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "another cache"))
    run(model, tasks, data_dir=data, output=here / "two", more_devices=["cpu", "cpu"])
    assert all_files(here / "two") == all_files(here / "one")


def test_pairs_are_shared_too(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "_PAIRS_A_CHUNK", 20)
    tasks = [task for task in discover(data) if not task.is_raw]
    planned, store = plan.make(load(tasks, data)), FeatureStore(None, "model")

    def pairs(share: Share) -> int:
        model = models.resolve("python:toy_models:Pairs")
        work_through(model, planned, store, 5, share)
        return model.encoder._theirs.pairs  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]

    # Four rows of 5 pairs a chunk: of 7 rows 4 and 3, of 23 rows 12 and 11. n4 has five rows of 4 pairs, one chunk: the
    # pairs are those of the first five of the 23, of which the fifth is in the other share. n5 has nothing new.
    assert [pairs(Share(0, 2)), pairs(Share(1, 2)), pairs(ALL)] == [5 * (4 + 12) + 4, 5 * (3 + 11) - 4, 0]


def test_what_a_process_could_not_do_is_done_by_the_caller(here: Path, data: Path):
    # The class is known to this process alone, so the other one fails.
    import toy_models  # pyright: ignore[reportMissingImports]

    toy_models.Hidden = toy_models.Knows
    (result,) = run(models.resolve("python:toy_models:Hidden"), discover(data)[:1], data_dir=data, more_devices=["cpu"])
    assert result["metrics"]["recall@1"] == 1.0
