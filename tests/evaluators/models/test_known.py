"""Finished results are read without loading the model, as long as its files stay the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models, run
from compeval.evaluators.engine.task_dataset import TaskDataset, load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.models import known, open_clip_names
from compeval.evaluators.models.local_folder import CONFIG, TRAINING, WEIGHTS


def call(*arguments: object) -> str:
    result = CliRunner().invoke(
        app, [str(argument) for argument in arguments], catch_exceptions=False
    )
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def copy(here: Path, clip: Path) -> Path:
    """A copy of the model, whose files may be changed."""
    return shutil.copytree(clip, here / "copy")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The specs of the models that were loaded."""
    specs: list[str] = []
    load_model = models.load_model
    monkeypatch.setattr(
        models, "load_model", lambda spec, *rest: specs.append(spec) or load_model(spec, *rest)
    )
    return specs


def test_finished_results_need_no_model(copy: Path, data: Path, loaded: list[str]):
    arguments: list[Any] = ["run", f"local:{copy}", "--data", data, "--json"]
    first = call(*arguments)
    assert call(*arguments) == first
    assert len(loaded) == 1
    assert [item["task"] for item in json.loads(call(*arguments, "--task", "crepe/*"))]
    assert len(loaded) == 2  # some of these tasks were not finished


def test_tasks_after_the_first_unfinished_one_are_opened_once(
    copy: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []

    def count(task: Task, *arguments: Any, **options: Any) -> TaskDataset:
        opened.append(task.name)
        return load(task, *arguments, **options)

    monkeypatch.setattr(run, "load", count)
    tasks = [f"crepe/prod_hnatom/{split}" for split in ("n4", "n5")]
    arguments: list[Any] = ["run", f"local:{copy}", "--data", data, "--task", ",".join(tasks)]
    call(*arguments)
    assert opened == tasks, "the model is not known, so no result is looked for"
    opened.clear()
    call(*arguments)
    assert opened == tasks, "all results are read"
    # The first task has no result on two rows, so the second one is opened only to be evaluated.
    opened.clear()
    call(*arguments, "--limit", 2)
    assert opened == [tasks[0], *tasks]


@pytest.mark.parametrize("file", [CONFIG, WEIGHTS, TRAINING])
def test_a_model_whose_files_were_written_again_is_loaded(
    copy: Path, data: Path, loaded: list[str], file: str
):
    call("run", f"local:{copy}", "--data", data)
    os.utime(copy / file, ns=(0, 0))
    call("run", f"local:{copy}", "--data", data)
    assert len(loaded) == 2


def test_a_recalled_model_is_the_loaded_one_for_its_precision(here: Path, clip: Path):
    model = models.load_model(f"local:{clip}")
    known.save_model_info(model)
    recalled = known.load_model_info(model.spec, "fp32")
    assert recalled is not None
    fields = set(vars(model)) - {"encoder"}
    assert {name: getattr(recalled, name) for name in fields} == {
        name: getattr(model, name) for name in fields
    }
    assert isinstance(recalled.encoder, models.DualEncoder)
    assert known.load_model_info(model.spec, "bf16") is None


def make_model(spec: str) -> models.Model:
    return models.Model(spec, "name", encoder=None, fingerprint="weights")


def test_files_of_a_tag_are_those_of_the_snapshot_that_the_hub_names(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(here))
    tag = "ViT-B-32/laion400m_e32"
    model = make_model(tag)
    known.save_model_info(model)
    assert known.load_model_info(tag, "fp32") is None
    repository = (
        open_clip_names.get_pretrained_cfg(*tag.split("/"))["hf_hub"].strip("/").replace("/", "--")
    )
    snapshots = here / f"models--{repository}/snapshots"
    for revision in ("a", "b"):
        (snapshots / revision).mkdir(parents=True)
        (snapshots / revision / "weights").touch()
    head = here / f"models--{repository}/refs/main"
    head.parent.mkdir()
    head.write_text("b", encoding="utf-8")
    known.save_model_info(model)
    (snapshots / "a" / "weights").write_text("other", encoding="utf-8")
    recalled = known.load_model_info(tag, "fp32")
    assert recalled is not None
    assert recalled.fingerprint == "weights"
    head.write_text("a", encoding="utf-8")
    assert known.load_model_info(tag, "fp32") is None
    head.write_text("b", encoding="utf-8")
    (snapshots / "b" / "weights").write_text("other", encoding="utf-8")
    assert known.load_model_info(tag, "fp32") is None


@pytest.mark.parametrize(
    "spec", ["python:module:Class", "transformers:org/name", "ViT-B-16-SigLIP/webli"]
)
def test_other_models_are_loaded_each_time(here: Path, spec: str):
    known.save_model_info(make_model(spec))
    assert known.load_model_info(spec, "fp32") is None


SCRIPT = """
import sys
from compeval.cli import app
app(sys.argv[1:], standalone_mode=False)
sys.exit(f"imported: {heavy}" if (heavy := {"torch", "open_clip"} & set(sys.modules)) else 0)
"""


@pytest.mark.acceptance
def test_a_cached_run_imports_neither_torch_nor_open_clip(copy: Path, data: Path):
    call("run", f"local:{copy}", "--data", data)
    arguments = ["run", f"local:{copy}", "--data", str(data), "--device", "cpu"]
    subprocess.run([sys.executable, "-c", SCRIPT, *arguments], check=True)
