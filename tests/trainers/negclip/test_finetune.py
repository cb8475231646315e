"""Tests of the loss, of gradients with chunked batches, and of trainings that are interrupted and resumed."""

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import open_clip
import pytest
import torch
from open_clip.loss import ClipLoss
from torch.nn import functional

from compeval.evaluators.models.local import WEIGHTS
from compeval.trainers.negclip import embedding, finetune, starting_model
from compeval.trainers.negclip.embedding import encode_texts, measure_retrieval
from compeval.trainers.negclip.finetune import (
    BatchEncoder,
    Recipe,
    compute_batch_loss,
    compute_mean_recall,
    negclip_loss,
)
from compeval.trainers.negclip.image_text import ImageDataset, read_captioned_images
from compeval.trainers.negclip.training import TrainingData, train
from tests.close import assert_close, count_terms
from tests.trainers import toy

EYE, ONE = torch.eye(2, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
RECIPE = Recipe(epochs=3, batch_size=4, learning_rates=(1e-3,), warmup=2)


@pytest.fixture(scope="module")
def start(spec: str) -> starting_model.StartingModel:
    return starting_model.load(spec, "cpu")


def test_chunk_size_does_not_change_loss_and_gradient(
    start: starting_model.StartingModel, monkeypatch
) -> None:
    monkeypatch.setattr(embedding, "has_fast_bfloat16", lambda device: False)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(6, 3, 16, 16, generator=generator)
    tokens = start.tokenizer([caption for caption, _ in toy.pairs()][:12])
    gradients = []
    for chunk_size in (6, 2, 5):
        start.model.zero_grad()
        encoder = BatchEncoder(start.model, chunk_size, lambda part: part)
        loss = compute_batch_loss(encoder, pixels, tokens, lambda feature: feature)
        loss.backward()
        gradients.append(
            (
                loss.detach(),
                [
                    weight.grad.clone()
                    for weight in start.model.parameters()
                    if weight.grad is not None
                ],
            )
        )
    # Forwards and backwards; the terms of a small gradient are as large as those of the largest.
    terms = 2 * count_terms(start.model)
    size = max(float(gradient.abs().max()) for gradient in gradients[0][1])
    for loss, chunked_gradients in gradients[1:]:
        assert_close(loss, gradients[0][0], summed=terms)
        for actual, expected in zip(chunked_gradients, gradients[0][1], strict=True):
            assert_close(actual, expected, summed=terms, size=size)


def test_text_features_do_not_depend_on_padding(start: starting_model.StartingModel) -> None:
    tokens = start.tokenizer(["a cup", "a red cup beside a blue car"])
    with torch.no_grad():
        expected = start.model.encode_text(tokens, normalize=True)
        assert_close(encode_texts(start.model, tokens), expected, summed=count_terms(start.model))


def test_text_towers_that_are_not_causal_use_open_clips_method() -> None:
    config = {
        **toy.MODEL,
        "text_cfg": {**toy.MODEL["text_cfg"], "no_causal_mask": True, "pool_type": "last"},
    }
    model = open_clip.CustomTextCLIP(**config)
    tokens = open_clip.get_tokenizer("ViT-B-32", context_length=16)(
        ["a cup", "a red cup beside a blue car"]
    )
    with torch.no_grad():
        expected = model.encode_text(tokens, normalize=True)
        assert_close(encode_texts(model, tokens), expected, summed=count_terms(model))


def test_retrieval_treats_equal_captions_as_one_text(shards: Path) -> None:
    class ToyModel(torch.nn.Module):
        """Encodes images as their mean colour and texts as one-hot vectors."""

        logit_scale = torch.tensor(0.0)

        def encode_image(self, pixels, normalize):
            return torch.nn.functional.normalize(pixels.mean(dim=(2, 3)), dim=-1)

        def encode_text(self, tokens, normalize):
            return torch.eye(3)[tokens]

    data = read_captioned_images(shards)
    data = type(data)(data.locations[:3], ("x", "y", "x"), data.image_C[:3])
    images = ImageDataset(
        data.locations,
        lambda image: torch.eye(3)[0 if image.getpixel((0, 0))[1] == 0 else 1].reshape(3, 1, 1),
    )
    # The first three images are red on the left, so all of them have the features of text "x" (images 0 and 2). Text
    # "y" (image 1) scores 0 with all images, so image-to-text retrieval succeeds for images 0 and 2 only.
    metrics = measure_retrieval(
        ToyModel(), data, images, lambda texts: torch.tensor(["xy".index(text) for text in texts])
    )
    assert_close(metrics["i2t_recall@1"], 2 / 3)
    assert compute_mean_recall({"i2t_recall@1": 0.5, "t2i_recall@1": 0.25}) == 0.375


@pytest.fixture(scope="module")
def expected(spec: str, shards: Path, tmp_path_factory) -> bytes:
    """The weights of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    train(
        "negclip",
        spec,
        TrainingData(shards),
        folder / "out",
        recipe=RECIPE,
        report=toy.ignore_progress,
    )
    return (folder / "out" / WEIGHTS).read_bytes()


# In the first epoch, at the end of the first epoch (after 4 steps), and in the second epoch of another recipe.
@pytest.mark.parametrize(("last_step", "epochs"), [(1, 3), (4, 3), (5, 2)])
def test_a_resumed_training_ends_with_the_same_weights(
    last_step: int,
    epochs: int,
    spec: str,
    shards: Path,
    expected: bytes,
    tmp_path: Path,
    monkeypatch,
) -> None:
    monkeypatch.setattr(finetune, "STEPS_PER_STATE", 1)

    def stop(title: str, num_done: int, total: int) -> None:
        if (title, num_done) == ("training", last_step):
            raise KeyboardInterrupt

    data, recipe = TrainingData(shards), replace(RECIPE, epochs=epochs)
    with pytest.raises(KeyboardInterrupt):
        train("negclip", spec, data, tmp_path / "out", recipe=recipe, report=stop)
    assert not (tmp_path / "out").exists()
    steps: list[int] = []
    train(
        "negclip",
        spec,
        data,
        tmp_path / "out",
        recipe=RECIPE,
        report=lambda title, done, _: steps.append(done) if title == "training" else None,
    )
    # The state file of another recipe is ignored. The step after which it was stopped had not been saved.
    assert steps[0] == (max(1, last_step) if recipe == RECIPE else 1)
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.trainers.negclip.test_finetune import RECIPE
from compeval.trainers.negclip import finetune
from compeval.trainers.negclip.training import TrainingData, train
finetune.STEPS_PER_STATE = 1
def kill(title, num_done, total):
    if (title, num_done) == ("training", int(sys.argv[4])):
        os.kill(os.getpid(), signal.SIGKILL)
train("negclip", sys.argv[1], TrainingData(Path(sys.argv[2])), Path(sys.argv[3]), recipe=RECIPE, report=kill)
"""


@pytest.mark.acceptance
def test_a_killed_training_ends_with_the_same_weights_after_a_restart(
    spec: str, shards: Path, expected: bytes, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    for last_step in (2, 5, 9, 0):  # 0: not killed
        command = [
            sys.executable,
            "-c",
            KILLED,
            spec,
            str(shards),
            str(tmp_path / "out"),
            str(last_step),
        ]
        process = subprocess.run(
            command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False
        )
        assert process.returncode == (-signal.SIGKILL if last_step else 0)
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == expected


def test_loss_of_two_images_and_four_captions() -> None:
    # Scores with the true captions: [[1, 0], [0, 1]]; with the negative captions: [[1/2, 0], [0, 1/2]].
    # Row-wise: -log(e / (e + 1 + e^0.5 + 1)) = log(6.367003) - 1 = 0.851129, for both images.
    # Column-wise, without negatives: -log(e / (e + 1)) = log(3.718282) - 1 = 0.313262. The mean is 0.582195.
    expected = (math.log(math.e + 2 + math.exp(0.5)) - 1 + math.log(math.e + 1) - 1) / 2
    assert_close(expected, 0.582195, within=5e-7)
    assert_close(negclip_loss(EYE, EYE, EYE / 2, ONE), expected)


def test_loss_without_negatives_is_clips_loss() -> None:
    image, text = functional.normalize(
        torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)), dim=-1
    )
    scale = torch.tensor(7.0)
    assert_close(
        negclip_loss(image, text, text[:0], scale), ClipLoss()(image, text, scale), summed=4 + 5
    )


def test_gradient_equals_finite_differences() -> None:
    generator = torch.Generator().manual_seed(1)
    parts = [
        torch.randn(3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(3)
    ]
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(negclip_loss, (*parts, scale))


def test_negatives_change_only_the_row_wise_loss() -> None:
    # The negatives increase the loss by half of the increase of the row-wise loss.
    generator = torch.Generator().manual_seed(2)
    image, text, negative = (
        torch.randn(3, 4, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    logits = image @ torch.cat((text, negative)).T
    row_wise_increase = functional.cross_entropy(
        logits, torch.arange(3)
    ) - functional.cross_entropy(logits[:, :3], torch.arange(3))
    increase = negclip_loss(image, text, negative, ONE) - negclip_loss(
        image, text, negative[:0], ONE
    )
    # The difference of two losses, each near 1.
    assert_close(increase, row_wise_increase / 2, size=1, summed=4 + 6)
