"""Processes that prepare images: the results of threads, readable errors, and nothing left behind."""

import gc
import json
import logging
import os
import random
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators import models
from compeval.evaluators.engine import compute, encode, images, plan, workers
from compeval.evaluators.engine.images import ImageCrops
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task, discover
from compeval.evaluators.models.pixels import PixelTransform, keep_image
from compeval.evaluators.run import EvaluationOptions, evaluate_tasks, run
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.evaluators import tiny
from tests.evaluators.dying import die
from tests.evaluators.engine.test_by_reference import rows, stripes
from tests.evaluators.engine.test_faults import spoilt
from tests.evaluators.engine.test_resumption import killed
from tests.evaluators.tiny import all_files

SIZE = (16, 16)
FORKSERVER = ("_forkserver_address", "_forkserver_alive_fd", "_forkserver_pid")


@pytest.fixture
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare images as for a GPU."""
    monkeypatch.setattr(compute, "is_on_cpu", lambda encoder: False)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"local:{tiny.write_clip(tmp_path_factory.mktemp('models') / 'clip')}"


@pytest.fixture(params=["embedded", "by_reference"])
def stored(data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Folder of a dataset with images in the rows, or with crops of two image files."""
    if request.param == "embedded":
        return data
    pictures = tmp_path / "sources/pictures"  # images next to a dataset may be read
    pictures.mkdir(parents=True)
    stripes(pictures / "one.png")
    stripes(pictures / "two.png").open("ab").write(b"x")
    order = [("one.png", 0), ("two.png", 0), ("one.png", 1), ("two.png", 3)]
    written = rows(pictures, order, "ball")
    write_config(
        tmp_path / "crepe", "prod_hnatom", {"test": written}, HARD_NEGATIVE_SCHEMA, "by_reference"
    )
    write_card(tmp_path / "crepe", {}, "", measure(tmp_path / "crepe"))
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux")
def test_memory_is_open_until_the_job_that_fills_it_ends(
    data: Path, monkeypatch: pytest.MonkeyPatch
):
    """After an error in the caller, workers still run: no other file may get the descriptor that they write to."""
    memories = weakref.WeakSet[workers.Memory]()

    class Watched(workers.Memory):
        def __init__(self, num_bytes: int) -> None:
            super().__init__(num_bytes)
            memories.add(self)

    monkeypatch.setattr(workers, "Memory", Watched)
    (crop, *_) = plan.build_plan([load(Task("crepe", "laion_uc_hnatom"), data)]).crops
    with workers.Workers(PixelTransform((), (8, 6)), 1) as pool:
        pool.submit(time.sleep, 1)
        pool.submit_images([ImageCrops(None, [crop])])  # the caller drops what this returns
        gc.collect()
        assert len(memories) == 1
    gc.collect()
    assert not memories


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux")
def test_a_file_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "other"
    path.write_bytes(b"content")
    with (
        path.open("r+b") as file,
        pytest.raises(FileNotFoundError, match="the shared memory was closed"),
    ):
        workers.fill_slots(
            PixelTransform((), (4, 4)), [], Path(f"/proc/{os.getpid()}/fd/{file.fileno()}"), 0
        )
    assert path.read_bytes() == b"content"


def evaluate_twice(
    here: Path, data: Path, load: Callable[[], models.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluate a model with images from threads and from processes. The results must have the same bytes."""
    for folder in ("threads", "processes"):
        monkeypatch.setenv("COMPEVAL_CACHE", str(here / f"cache of {folder}"))
        monkeypatch.setattr(
            compute, "is_on_cpu", lambda encoder, folder=folder: folder == "threads"
        )
        model = load()
        outcomes = evaluate_tasks(
            model,
            discover(data),
            EvaluationOptions(data_dir=data, output=here / folder, batch_size=4),
        )
        # Those that are not results are refused tasks, if any.
        assert [outcome for outcome in outcomes if isinstance(outcome, dict)]
    assert all_files(here / "threads")
    assert all_files(here / "processes") == all_files(here / "threads")


@pytest.mark.parametrize("kept_bytes", [0, images.KEPT_BYTES])
def test_processes_write_the_results_of_threads(
    here: Path, stored: Path, clip: str, kept_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(images, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(encode, "MIN_CROPS_PER_CHUNK", 4)
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)
    evaluate_twice(here, stored, partial(models.load_model, clip), monkeypatch)


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_processes_decode_the_images_of_your_own_class(
    here: Path, data: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    evaluate_twice(here, data, partial(tiny.toy, name), monkeypatch)


@pytest.mark.acceptance
@pytest.mark.parametrize("family", ["clip", "blip"])
def test_processes_run_the_image_processors_of_transformers(
    here: Path,
    data: Path,
    family: str,
    transformers_folder: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
):
    evaluate_twice(
        here,
        data,
        partial(models.load_model, f"transformers:{transformers_folder(family)}"),
        monkeypatch,
    )


@pytest.mark.parametrize(
    ("preprocess", "reason"),
    [
        (PixelTransform((), SIZE), None),
        (keep_image, None),
        (lambda image: image, "the transform cannot be pickled"),
        (
            bytes(workers.MAX_TRANSFORM_BYTES),
            r".* \(it takes more than 100,000 bytes, as if it held a model\)",
        ),
        ("__main__", "the transform is defined in the program itself"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux")
def test_threads_prepare_images_if_the_transform_cannot_be_sent(
    preprocess: Any, reason: str | None, caplog: pytest.LogCaptureFixture
):
    encoder = SimpleNamespace(device="cuda", preprocess=preprocess)
    # A command that ran before in this process has set a level of its own.
    with caplog.at_level(logging.INFO, logger="compeval"):
        assert compute.start_server_for_gpu(encoder) == (reason is None)
    assert len(caplog.messages) == (reason is not None)
    assert all(
        re.match(f"Threads prepare the images: {reason}", message) for message in caplog.messages
    )


@pytest.mark.usefixtures("_processes")
def test_a_corrupt_image_is_named_and_can_be_skipped(here: Path, tmp_path: Path, clip: str):
    data = spoilt(tmp_path / "spoilt")
    model, tasks = models.load_model(clip), discover(data)
    with pytest.raises(
        ValueError, match=r"laion_uc_hnatom, row 2: the image cannot be decoded .*--on-error skip"
    ):
        run(model, tasks, EvaluationOptions(data_dir=data))
    (result,) = run(model, tasks, EvaluationOptions(data_dir=data, on_error="skip"))
    assert [item["row"] for item in result["skipped"]] == [2, 4]


@pytest.mark.usefixtures("_processes")
def test_a_worker_that_dies_is_one_message(here: Path, data: Path, clip: str):
    model = models.load_model(clip)
    model.encoder.preprocess = PixelTransform((die,), SIZE)  # pyright: ignore
    with pytest.raises(
        ValueError, match=r"^A process that prepares images died\. .* Finished work is kept\.$"
    ):
        run(model, discover(data), EvaluationOptions(data_dir=data))


def evaluate_in_child(model: models.Model, data: Path, folder: Path) -> int:
    """Start a process that evaluates all tasks, with cache and results in ``folder``. Returns its process id."""
    if child := os.fork():
        return child
    try:
        # The parent's, if it has one.
        vars(forkserver._forkserver).update(dict.fromkeys(FORKSERVER))
        os.environ["COMPEVAL_CACHE"] = str(folder / "cache")
        run(
            model,
            discover(data),
            EvaluationOptions(data_dir=data, output=folder / "results", batch_size=4),
        )
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.acceptance
@pytest.mark.usefixtures("_processes")
def test_twenty_kills_do_not_change_the_results(
    here: Path, data: Path, clip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "MIN_CROPS_PER_CHUNK", 4)
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)
    model = models.load_model(clip)
    began = time.monotonic()
    assert os.waitpid(evaluate_in_child(model, data, here / "whole"), 0)[1] == 0
    seconds = time.monotonic() - began
    moments, kills, trials = random.Random(0), 0, 0
    while kills < 20:
        trials += 1
        folder = here / f"trial {trials}"
        while killed(evaluate_in_child(model, data, folder), moments.uniform(0, seconds)):
            kills += 1
        assert all_files(folder / "results") == all_files(here / "whole" / "results")


SCRIPT = """
import json, time
from compeval.evaluators.engine.workers import Workers
from compeval.evaluators.models.pixels import PixelTransform, keep_image
import os
print("started")
workers = Workers(PixelTransform((), (1, 1)), 2)
modules = "[name for name in ('torch', 'open_clip', 'scipy', 'script') if name in __import__('sys').modules]"
print(json.dumps([workers.submit(os.getpid).result(), workers.submit(eval, modules).result()]), flush=True)
time.sleep(60)
"""


def test_workers_import_no_torch_and_end_with_a_killed_caller(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    root = str(Path(__file__).parents[3])
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": root},
    ) as caller:
        assert caller.stdout
        assert caller.stdout.readline() == b"started\n"
        worker, modules = json.loads(caller.stdout.readline())
        assert modules == []
        caller.kill()
    deadline = time.monotonic() + 20
    while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)
