"""Runs that are killed, repeated, or run at once write the same bytes, and encode nothing that is already on disk."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from compeval.evaluators.engine import encode
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.run import EvaluationOptions, run
from tests.evaluators.tiny import all_files, toy

KILLS, PROCESSES = 20, 4


class Watched(FeatureStore):
    """Feature store that exits with code 3 when a feature is encoded that is already on disk."""

    def put(self, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        if len(self.missing(keys)) < len(keys):
            os._exit(3)
        super().put(keys, feature_ND)


def evaluate(data: Path, output: Path) -> None:
    run(
        toy("Company"),
        discover(data),
        EvaluationOptions(data_dir=data, output=output, batch_size=5),
    )


def start(data: Path, folder: Path) -> int:
    """Start a process that evaluates all tasks, with cache and results in ``folder``. Returns its process id."""
    if child := os.fork():
        return child
    try:
        os.environ["COMPEVAL_CACHE"] = str(folder / "cache")
        evaluate(data, folder / "results")
        os._exit(0)
    finally:
        os._exit(1)


def killed(child: int, after: float) -> bool:
    """Kill a process after some seconds. Returns False if it had already ended, which must be without error."""
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)


@pytest.fixture
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compeval.evaluators.run.FeatureStore", Watched)


@pytest.mark.acceptance
@pytest.mark.usefixtures("_watched")
def test_twenty_kills_do_not_change_the_results(here: Path, data: Path):
    began = time.monotonic()
    assert os.waitpid(start(data, here / "whole"), 0)[1] == 0
    seconds = time.monotonic() - began
    moments, kills, trials = random.Random(0), 0, 0
    while kills < KILLS:
        trials += 1
        folder = here / f"trial {trials}"
        while killed(start(data, folder), moments.uniform(0, seconds)):
            kills += 1
        assert all_files(folder / "results") == all_files(here / "whole" / "results")


@pytest.mark.usefixtures("_watched")
def test_a_kill_while_the_side_file_is_written_leaves_no_files(here: Path, data: Path):
    assert os.waitpid(start(data, here), 0)[1] == 0
    (side,) = (here / "results").rglob("*.run.json")
    left = side.rename(side.with_name(f".{side.name}.elsewhere-1-a.partial"))
    os.utime(left, (0, 0))
    assert os.waitpid(start(data, here), 0)[1] == 0
    assert not left.exists()
    assert json.loads(side.read_text(encoding="utf-8"))["images_encoded"] == 0


@pytest.mark.usefixtures("_watched")
def test_a_kill_after_each_number_of_chunks(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """Kill attempt k after its k-th commit, so that a run is stopped at every chunk border."""

    def put(self: Watched, keys: Sequence[bytes], feature_ND: np.ndarray) -> None:
        Watched.put(self, keys, feature_ND)
        os.kill(os.getpid(), signal.SIGKILL)

    assert os.waitpid(start(data, here / "whole"), 0)[1] == 0
    monkeypatch.setattr(
        "compeval.evaluators.run.FeatureStore", type("Dying", (Watched,), {"put": put})
    )
    attempts = 1
    while (
        os.waitstatus_to_exitcode(os.waitpid(start(data, here / "killed"), 0)[1]) == -signal.SIGKILL
    ):
        attempts += 1
    # 23 crops in chunks of 5, 150 texts in chunks of 16, and the attempt that finds them all.
    assert attempts == 5 + 10 + 1
    assert all_files(here / "killed" / "results") == all_files(here / "whole" / "results")


def test_a_second_run_changes_nothing(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    """One split has nine rows, of which the last is in no fold of four: the second run must not count it."""
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "cache"))
    evaluate(data, here / "results")
    first = all_files(here / "results")
    evaluate(data, here / "results")
    assert all_files(here / "results") == first


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.acceptance)])
def test_four_runs_at_once_write_the_same_bytes(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch, times: int
):
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "cache of one"))
    evaluate(data, here / "one")
    expected = all_files(here / "one")
    context = multiprocessing.get_context("fork")
    for attempt in range(times):
        monkeypatch.setenv("COMPEVAL_CACHE", str(here / f"cache {attempt}"))
        output = here / f"output {attempt}"
        processes = [
            context.Process(target=evaluate, args=(data, output)) for _ in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * PROCESSES
        assert all_files(output) == expected
