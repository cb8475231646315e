"""Tests of NegCLIP and CLIP-FT from captioned images to a checkpoint."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from PIL.Image import Image
from safetensors.torch import load_file, save_file

from compeval.base.pipeline.params import PAPER
from compeval.evaluators.models import load_model, local
from compeval.trainers.negclip import image_text, starting_model
from compeval.trainers.negclip.finetune import Recipe
from compeval.trainers.negclip.image_text import read_captioned_images
from compeval.trainers.negclip.training import PRESETS, TrainingData, read_or_mine, train
from tests.trainers import toy

RECIPE = Recipe(epochs=1, batch_size=4, learning_rates=(1e-3, 1e-12), warmup=1)


def test_preset_has_the_papers_hyperparameters() -> None:
    # Appendix C.3.
    recipe = PRESETS["paper"]
    assert (recipe.epochs, recipe.batch_size, recipe.warmup, recipe.rules) == (5, 256, 50, PAPER)
    assert recipe.learning_rates == (1e-5, 5e-6, 1e-6)
    assert recipe.augment  # it builds on open_clip's code


@pytest.mark.parametrize("method", ["negclip", "clip-ft"])
def test_checkpoint_is_loadable_and_has_the_best_learning_rate(
    method, spec: str, shards: Path, tmp_path: Path
) -> None:
    metrics = train(
        method,
        spec,
        TrainingData(shards),
        tmp_path / "out",
        recipe=RECIPE,
        report=toy.ignore_progress,
    )
    rates = {rate: log[-1] for rate, log in metrics["learning_rates"].items()}
    assert rates.keys() == {"0.001", "1e-12"}
    best = max(rates, key=lambda rate: rates[rate]["i2t_recall@1"] + rates[rate]["t2i_recall@1"])
    assert float(best) == metrics["chosen"]
    assert metrics["after"] == rates[best]
    assert json.loads((tmp_path / "out/metrics.json").read_text(encoding="utf-8")) == metrics
    model = load_model(f"local:{tmp_path / 'out'}")
    assert (model.corpus, model.corpus_source, model.contaminated) == ("toy", "microworld", None)
    record = json.loads((tmp_path / "out/training.json").read_text(encoding="utf-8"))
    assert (record["method"], record["start"], record["captions"]) == (method, spec, 19)


def test_training_on_a_karpathy_file_marks_the_model_as_contaminated(
    spec: str, karpathy: Path, tmp_path: Path
) -> None:
    """A learning rate of zero does not change the weights."""
    data, recipe = (
        TrainingData(karpathy, validation=karpathy),
        replace(RECIPE, learning_rates=(0.0,)),
    )
    train("negclip", spec, data, tmp_path / "out", recipe=recipe, report=toy.ignore_progress)
    record = local.read_training(tmp_path / "out")
    assert record["corpus"] is None
    assert record["contaminated"] == "fine-tuned on train.json"
    before, after = (
        folder / local.WEIGHTS for folder in (Path(spec.removeprefix("local:")), tmp_path / "out")
    )
    assert before.read_bytes() == after.read_bytes()


def test_a_checkpoint_that_does_not_fit_its_configuration_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "clip"
    spec = toy.write_model(folder)
    weights = load_file(folder / local.WEIGHTS)
    save_file(
        weights | {"token_embedding.weight": weights["token_embedding.weight"][:9]},
        folder / local.WEIGHTS,
    )
    with pytest.raises(
        ValueError,
        match=r"clip: the model cannot be loaded .*token_embedding\.weight \(9, 16\), not \(",
    ):
        starting_model.load(spec, "cpu")


def test_images_for_neighbours_are_read_by_other_processes(
    spec: str, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers, decode = tmp_path / "readers", image_text.decode_image

    def note_process(data: bytes) -> Image:
        with readers.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        return decode(data)

    monkeypatch.setattr(image_text, "decode_image", note_process)
    data, start = read_captioned_images(shards), starting_model.load(spec, "cpu")
    read_or_mine(shards, start, data, tmp_path / "work", 2, toy.ignore_progress)
    assert str(os.getpid()) not in readers.read_text(encoding="utf-8").split()


def test_error_for_fewer_captions_than_a_batch(spec: str, shards: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="19 captions have a negative, but a batch needs 256"):
        train(
            "negclip",
            spec,
            TrainingData(shards),
            tmp_path / "out",
            recipe=PRESETS["paper"],
            report=toy.ignore_progress,
        )


def test_error_for_a_model_that_is_not_from_open_clip() -> None:
    with pytest.raises(ValueError, match="only open_clip models"):
        starting_model.load("transformers:org/name", "cpu")
