"""Evaluate a model of a training loop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch

from compeval.evaluators import models
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.in_process import evaluate
from compeval.evaluators.models.openclip import check_deterministic
from compeval.evaluators.run import EvaluationOptions, run
from tests.close import assert_close

LAION = Task("crepe", "laion_uc_hnatom")
Loaded = tuple[Any, Callable[..., Any], Callable[..., Any]]


def load(clip: Path, precision: str = "fp32") -> Loaded:
    """Return the model, its transform and its tokeniser."""
    created: Any = open_clip.create_model_from_pretrained(f"local-dir:{clip}", precision=precision)
    return *created, open_clip.get_tokenizer(f"local-dir:{clip}")


def test_results_are_those_of_a_run(
    data: Path, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    model, *others = load(clip)
    model.train()
    model.visual.eval()
    results = evaluate(model, *others, tasks=["crepe/*_hnatom"], data_dir=data)
    names = [
        "crepe/cc12m_uc_hnatom",
        "crepe/laion_uc_hnatom",
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    ]
    assert list(results) == names
    assert not [*tmp_path.rglob("*.sqlite"), *tmp_path.glob("results")], (
        "no feature and no result is written"
    )
    (written,) = run(models.load_model(f"local:{clip}"), [LAION], EvaluationOptions(data_dir=data))
    assert results[LAION.name]["metrics"] == written["metrics"]
    assert model.training
    assert not model.visual.transformer.training
    assert list(evaluate(model, *others, tasks=names[2], data_dir=data)) == [names[2]]
    assert list(evaluate(model, *others, tasks=",".join(names[2:]), data_dir=data)) == names[2:]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("crep/", "Unknown task 'crep/'"),
        ([], "No task is given"),
        ("crepe/prod_hnatom/n44", "Unknown task"),
    ],
)
def test_wrong_tasks_leave_the_model_as_it_was(data: Path, clip: Path, tasks: Any, message: str):
    model, *others = load(clip)
    model.train()
    model.visual.eval()
    with pytest.raises(ValueError, match=message):
        evaluate(model, *others, tasks=tasks, data_dir=data)
    assert model.training
    assert not model.visual.transformer.training


def test_a_model_of_mixed_precision(data: Path, clip: Path, tmp_path: Path):
    """open_clip converts the matrices of a model in bf16, and keeps the position embeddings in fp32."""
    loaded = load(clip, "bf16")
    assert {parameter.dtype for parameter in loaded[0].parameters()} == {
        torch.float32,
        torch.bfloat16,
    }
    result = evaluate(*loaded, LAION.name, data_dir=data)
    (written,) = run(
        models.load_model(f"local:{clip}", precision="bf16"),
        [LAION],
        EvaluationOptions(data_dir=data, output=tmp_path),
    )
    assert result[LAION.name]["metrics"] == written["metrics"]
    assert result[LAION.name]["model"]["precision"] == "bf16"


def test_autocast_is_the_recorded_precision(data: Path, clip: Path):
    loaded = load(clip)
    with torch.autocast("cpu", torch.bfloat16):
        result = evaluate(*loaded, LAION.name, data_dir=data)[LAION.name]
    assert result["model"]["precision"] == "bf16"
    assert not [text for text in result["warnings"] if "padding" in text], (
        "the prefix forest agrees within tolerance"
    )
    assert evaluate(*loaded, LAION.name, data_dir=data)[LAION.name]["model"]["precision"] == "fp32"


@pytest.mark.parametrize("place", [1, 2], ids=["training", "evaluation"])
def test_a_random_transform_is_an_error(data: Path, clip: Path, place: int):
    created: Any = open_clip.create_model_and_transforms(
        "ViT-B-32", pretrained=None, force_image_size=32
    )
    model, _, tokenizer = load(clip)
    torch.manual_seed(0)
    if place == 1:
        with pytest.raises(
            ValueError, match=r"^preprocess returns other pixels .* Pass the transform for eval"
        ):
            evaluate(model, created[place], tokenizer, LAION.name, data_dir=data)
    else:
        check_deterministic(created[place])


class Wrapper:
    """A class of a user, as in the README: lists of PIL images and of strings."""

    def __init__(self, clip: Path) -> None:
        self.model, self.preprocess, self.tokenize = load(clip)

    @torch.no_grad()
    def encode_image(self, images: Any) -> torch.Tensor:
        return self.model.encode_image(torch.stack([self.preprocess(image) for image in images]))

    @torch.no_grad()
    def encode_text(self, texts: Any) -> torch.Tensor:
        return self.model.encode_text(self.tokenize(texts))


class Whole(torch.nn.Linear):
    encode_image = encode_text = print


class Half(torch.nn.Linear):
    """A torch module without encode_image."""

    encode_text = print


def test_a_class_of_ones_own_and_a_name_score_as_the_module(data: Path, clip: Path):
    expected = evaluate(*load(clip), LAION.name, data_dir=data)
    for model in (Wrapper(clip), f"local:{clip}"):
        scores = evaluate(model, tasks=LAION.name, data_dir=data)
        assert_close(scores[LAION.name]["metrics"], expected[LAION.name]["metrics"])
    assert evaluate(
        type("Scorer", (), {"score": lambda self, images, texts: [len(text) for text in texts]})(),
        data_dir=data,
    )


def test_scores_have_attributes(data: Path, clip: Path):
    scores = evaluate(*load(clip), LAION.name, data_dir=data)
    task = scores[LAION.name]
    assert task.metric == "recall@1"
    assert task.score == task.recall_at_1 == task["metrics"]["recall@1"]
    assert task.interval == tuple(task["intervals"]["recall@1"])
    assert task.chance == task["chance"]["recall@1"]
    assert scores.flat() == {f"{LAION.name}/recall@1": task.recall_at_1}
    assert repr(task).startswith(f"<{LAION.name}: recall@1 ")
    with pytest.raises(
        AttributeError,
        match=rf"{LAION.name} has no metric 'recall_at_7'. Its metrics: recall_at_1, ",
    ):
        task.recall_at_7  # noqa: B018


@pytest.mark.parametrize(
    ("model", "transforms", "message"),
    [
        ("local:nowhere", (), r"^nowhere/open_clip_config.json: not found"),
        ("clip:x", (), r"^Unknown model backend 'clip'"),
        (
            "local:nowhere",
            (print, print),
            r"^A model that is given by its name has its own preprocess",
        ),
        (
            object(),
            (),
            r"^object: has no encode_image\. A model needs encode_image and encode_text, or score",
        ),
        (
            object(),
            (print, print),
            r"^object is not a torch module\. .* leave out preprocess and tokenizer",
        ),
        (
            Half(1, 1),
            (print, print),
            r"^Half has no encode_image\. With preprocess and tokenizer, a model needs",
        ),
        (Half(1, 1), (print, None), r"^Half: preprocess is given without tokenizer\."),
        (Half, (), r"^Half is a class: pass an object, Half\(\.\.\.\)"),
        (
            Whole(1, 1),
            (print, print),
            r"^preprocess returns NoneType, expected a tensor \(3, height, width\)",
        ),
        (
            Whole(1, 1),
            (lambda _: torch.ones(1, 3, 8, 8), print),
            r"^preprocess returns shape \(1, 3, 8, 8\), expected",
        ),
        (
            Whole(1, 1),
            (lambda _: torch.ones(3, 8, 8), lambda _: {}),
            r"^tokenizer returns dict, expected a tensor \(2, length\)",
        ),
        (
            Whole(1, 1),
            (lambda _: torch.ones(3, 8, 8), lambda _: torch.ones(9)),
            r"^tokenizer returns shape \(9,\)",
        ),
    ],
)
def test_a_wrong_model_is_an_error_at_once(
    data: Path, model: Any, transforms: tuple[Any, ...], message: str
):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        evaluate(model, *transforms, tasks=LAION.name, data_dir=data)


def test_arguments_without_effect_are_errors(data: Path, clip: Path):
    with pytest.raises(ValueError, match="device='cpu' is for a model that is given by its name"):
        evaluate(*load(clip), LAION.name, data_dir=data, device="cpu")
    with pytest.raises(ValueError, match="limit=0: expected at least 1 row"):
        evaluate(*load(clip), LAION.name, data_dir=data, limit=0)
