"""Tests of gradients with chunked batches, and of trainings that are interrupted and resumed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import open_clip
import pytest
import torch

from tests.trainers import toy
from trainers.negclip import embedding, finetune, starting_model
from trainers.negclip.embedding import encode_texts, measure_retrieval
from trainers.negclip.finetune import BatchEncoder, Recipe, compute_batch_loss, compute_mean_recall
from trainers.negclip.image_text import ImageDataset, read_captioned_images
from trainers.negclip.training import TrainingData, train

RECIPE = Recipe(epochs=3, batch_size=4, learning_rates=(1e-3,), warmup=2)


def ignore_progress(title: str, num_done: int, total: int) -> None:
    """Print no progress."""


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> starting_model.StartingModel:
    return starting_model.load(toy.write_model(tmp_path_factory.mktemp("start") / "clip"), "cpu")


def test_chunk_size_does_not_change_loss_and_gradient(start: starting_model.StartingModel, monkeypatch) -> None:
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
            (loss.detach(), [weight.grad.clone() for weight in start.model.parameters() if weight.grad is not None])
        )
    for loss, chunked_gradients in gradients[1:]:
        torch.testing.assert_close(loss, gradients[0][0])
        for actual, expected in zip(chunked_gradients, gradients[0][1], strict=True):
            torch.testing.assert_close(actual, expected)


def test_text_features_do_not_depend_on_padding(start: starting_model.StartingModel) -> None:
    tokens = start.tokenizer(["a cup", "a red cup beside a blue car"])
    with torch.no_grad():
        torch.testing.assert_close(encode_texts(start.model, tokens), start.model.encode_text(tokens, normalize=True))


def test_text_towers_that_are_not_causal_use_open_clips_method() -> None:
    config = {**toy.MODEL, "text_cfg": {**toy.MODEL["text_cfg"], "no_causal_mask": True, "pool_type": "last"}}
    model = open_clip.CustomTextCLIP(**config)
    tokens = open_clip.get_tokenizer("ViT-B-32", context_length=16)(["a cup", "a red cup beside a blue car"])
    with torch.no_grad():
        torch.testing.assert_close(encode_texts(model, tokens), model.encode_text(tokens, normalize=True))


def test_retrieval_treats_equal_captions_as_one_text(tmp_path: Path) -> None:
    class ToyModel(torch.nn.Module):
        """Encodes images as their mean colour and texts as one-hot vectors."""

        logit_scale = torch.tensor(0.0)

        def encode_image(self, pixels, normalize):
            return torch.nn.functional.normalize(pixels.mean(dim=(2, 3)), dim=-1)

        def encode_text(self, tokens, normalize):
            return torch.eye(3)[tokens]

    data = read_captioned_images(toy.write_shards(tmp_path / "shards"))
    data = type(data)(data.locations[:3], ("x", "y", "x"), data.image_C[:3])
    images = ImageDataset(
        data.locations, lambda image: torch.eye(3)[0 if image.getpixel((0, 0))[1] == 0 else 1].reshape(3, 1, 1)
    )
    # The first three images are red on the left, so all of them have the features of text "x" (images 0 and 2). Text
    # "y" (image 1) scores 0 with all images, so image-to-text retrieval succeeds for images 0 and 2 only.
    metrics = measure_retrieval(
        ToyModel(), data, images, lambda texts: torch.tensor(["xy".index(text) for text in texts])
    )
    assert metrics["i2t_recall@1"] == pytest.approx(2 / 3)
    assert compute_mean_recall({"i2t_recall@1": 0.5, "t2i_recall@1": 0.25}) == 0.375


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> tuple[Path, Path, bytes]:
    """Shards, the folder of the starting model, and the weights of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    shards, spec = toy.write_shards(folder / "toy"), toy.write_model(folder / "clip")
    train("negclip", spec, TrainingData(shards), folder / "out", recipe=RECIPE, report=ignore_progress)
    return shards, folder / "clip", (folder / "out/open_clip_model.safetensors").read_bytes()


@pytest.mark.parametrize("last_step", [1, 4, 7])
def test_a_resumed_training_ends_with_the_same_weights(
    last_step: int, uninterrupted, tmp_path: Path, monkeypatch
) -> None:
    shards, clip, expected = uninterrupted
    monkeypatch.setattr(finetune, "STEPS_PER_STATE", 1)

    def stop(title: str, num_done: int, total: int) -> None:
        if (title, num_done) == ("training", last_step):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", recipe=RECIPE, report=stop)
    assert not (tmp_path / "out").exists()
    steps: list[int] = []
    train(
        "negclip",
        f"local:{clip}",
        TrainingData(shards),
        tmp_path / "out",
        recipe=RECIPE,
        report=lambda title, num_done, total: steps.append(num_done),
    )
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_state_file_of_another_recipe_is_ignored(uninterrupted, tmp_path: Path, monkeypatch) -> None:
    shards, clip, expected = uninterrupted
    monkeypatch.setattr(finetune, "STEPS_PER_STATE", 1)

    def stop(title: str, num_done: int, total: int) -> None:
        if (title, num_done) == ("training", 3):
            raise KeyboardInterrupt

    shorter_recipe = Recipe(epochs=2, batch_size=4, learning_rates=(1e-3,), warmup=2)
    with pytest.raises(KeyboardInterrupt):
        train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", recipe=shorter_recipe, report=stop)
    train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", recipe=RECIPE, report=ignore_progress)
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.trainers.negclip.test_finetune import RECIPE
from trainers.negclip import finetune
from trainers.negclip.training import TrainingData, train
finetune.STEPS_PER_STATE = 1
def kill(title, num_done, total):
    if (title, num_done) == ("training", int(sys.argv[4])):
        os.kill(os.getpid(), signal.SIGKILL)
train("negclip", sys.argv[1], TrainingData(Path(sys.argv[2])), Path(sys.argv[3]), recipe=RECIPE, report=kill)
"""


@pytest.mark.acceptance
def test_a_killed_training_ends_with_the_same_weights_after_a_restart(uninterrupted, tmp_path: Path) -> None:
    shards, clip, expected = uninterrupted
    root = Path(__file__).parents[3]
    for last_step in (2, 5, 9, 0):  # 0: not killed
        command = [sys.executable, "-c", KILLED, f"local:{clip}", str(shards), str(tmp_path / "out"), str(last_step)]
        process = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False)
        assert process.returncode == (-signal.SIGKILL if last_step else 0)
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected
