"""Evaluate a model of a training loop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch

from evaluators import models
from evaluators.engine.tasks import Task
from evaluators.models.openclip import check_deterministic
from evaluators.run import evaluate, run

LAION = Task("crepe", "laion_uc_hnatom")
Loaded = tuple[Any, Callable[..., Any], Callable[..., Any]]


def load(clip: Path, precision: str = "fp32") -> Loaded:
    """Return the model, its transform and its tokeniser."""
    created: Any = open_clip.create_model_from_pretrained(f"local-dir:{clip}", precision=precision)
    return *created, open_clip.get_tokenizer(f"local-dir:{clip}")


def test_results_are_those_of_a_run(data: Path, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    model, *others = load(clip)
    model.train()
    model.visual.eval()
    results = evaluate(model, *others, ["crepe/*_hnatom"], data_dir=data)
    names = ["crepe/cc12m_uc_hnatom", "crepe/laion_uc_hnatom", "crepe/prod_hnatom/n4", "crepe/prod_hnatom/n5"]
    assert list(results) == names
    assert not [*tmp_path.rglob("*.sqlite"), *tmp_path.glob("results")], "no feature and no result is written"
    (written,) = run(models.resolve(f"local:{clip}"), [LAION], data_dir=data)
    assert results[LAION.name]["metrics"] == written["metrics"]
    assert model.training
    assert not model.visual.transformer.training
    assert list(evaluate(model, *others, names[2], data_dir=data)) == [names[2]]
    assert list(evaluate(model, *others, ",".join(names[2:]), data_dir=data)) == names[2:]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [("crep/", "Unknown task 'crep/'"), ([], "No task is given"), ("crepe/prod_hnatom/n44", "Unknown task")],
)
def test_wrong_tasks_leave_the_model_as_it_was(data: Path, clip: Path, tasks: Any, message: str):
    model, *others = load(clip)
    model.train()
    model.visual.eval()
    with pytest.raises(ValueError, match=message):
        evaluate(model, *others, tasks, data_dir=data)
    assert model.training
    assert not model.visual.transformer.training


def test_a_model_of_mixed_precision(data: Path, clip: Path, tmp_path: Path):
    """open_clip converts the matrices of a model in bf16, and keeps the position embeddings in fp32."""
    loaded = load(clip, "bf16")
    assert {parameter.dtype for parameter in loaded[0].parameters()} == {torch.float32, torch.bfloat16}
    result = evaluate(*loaded, LAION.name, data_dir=data)
    (written,) = run(models.resolve(f"local:{clip}", precision="bf16"), [LAION], data_dir=data, output=tmp_path)
    assert result[LAION.name]["metrics"] == written["metrics"]
    assert result[LAION.name]["model"]["precision"] == "bf16"


def test_autocast_is_the_recorded_precision(data: Path, clip: Path):
    loaded = load(clip)
    with torch.autocast("cpu", torch.bfloat16):
        result = evaluate(*loaded, LAION.name, data_dir=data)[LAION.name]
    assert result["model"]["precision"] == "bf16"
    assert not [text for text in result["warnings"] if "padding" in text], "the prefix forest agrees within tolerance"
    assert evaluate(*loaded, LAION.name, data_dir=data)[LAION.name]["model"]["precision"] == "fp32"


@pytest.mark.parametrize("place", [1, 2], ids=["training", "evaluation"])
def test_a_random_transform_is_an_error(data: Path, clip: Path, place: int):
    created: Any = open_clip.create_model_and_transforms("ViT-B-32", pretrained=None, force_image_size=32)
    model, _, tokenizer = load(clip)
    torch.manual_seed(0)
    if place == 1:
        with pytest.raises(ValueError, match=r"^preprocess returns other pixels .* Pass the transform for eval"):
            evaluate(model, created[place], tokenizer, LAION.name, data_dir=data)
    else:
        check_deterministic(created[place])
