"""Several runs of one model at once, over one cache and one output folder."""

import multiprocessing
from pathlib import Path

import pytest

from evaluators import models
from evaluators.engine.tasks import discover
from evaluators.run import run
from tests.evaluators.engine.test_encode import all_files

PROCESSES = 4


def evaluate(data: Path, output: Path) -> None:
    run(models.resolve("python:toy_models:Company"), discover(data), data_dir=data, output=output, batch_size=5)


def test_a_second_run_changes_nothing(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    """One split has nine rows, of which the last is in no fold of four: the second run must not count it."""
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "cache"))
    evaluate(data, here / "results")
    first = all_files(here / "results")
    evaluate(data, here / "results")
    assert all_files(here / "results") == first


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.acceptance)])
def test_four_runs_at_once_write_the_same_bytes(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch, times: int):
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "cache of one"))
    evaluate(data, here / "one")
    expected = all_files(here / "one")
    context = multiprocessing.get_context("fork")
    for attempt in range(times):
        monkeypatch.setenv("COMPEVAL_CACHE", str(here / f"cache {attempt}"))
        output = here / f"output {attempt}"
        processes = [context.Process(target=evaluate, args=(data, output)) for _ in range(PROCESSES)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * PROCESSES
        assert all_files(output) == expected
