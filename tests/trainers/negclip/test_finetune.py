"""Gradients of chunked batches, and trainings that are killed and go on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import open_clip
import pytest
import torch

from tests.trainers import toy
from trainers.clip import training as clip
from trainers.negclip import finetune, starting_model
from trainers.negclip.embedding import encode_texts, retrieval
from trainers.negclip.finetune import Recipe, batch_loss, mean_recall
from trainers.negclip.image_text import Pixels, read
from trainers.negclip.training import TrainingData, train

RECIPE = Recipe(epochs=3, batch_size=4, learning_rates=(1e-3,), warmup=2)


def quiet(title: str, done: int, total: int) -> None:
    """No progress bar."""


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> starting_model.Start:
    return starting_model.load(toy.write_model(tmp_path_factory.mktemp("start") / "clip"), "cpu")


def test_chunks_have_the_gradient_of_the_whole_batch(start: starting_model.Start, monkeypatch) -> None:
    monkeypatch.setattr(clip, "fast_bfloat16", lambda device: False)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(6, 3, 16, 16, generator=generator)
    tokens = start.tokenizer([caption for caption, _ in toy.pairs()][:12])
    gradients = []
    for chunk in (6, 2, 5):
        start.model.zero_grad()
        loss = batch_loss(start.model, pixels, tokens, chunk)
        loss.backward()
        gradients.append(
            (loss.detach(), [weight.grad.clone() for weight in start.model.parameters() if weight.grad is not None])
        )
    for loss, found in gradients[1:]:
        torch.testing.assert_close(loss, gradients[0][0])
        for one, other in zip(found, gradients[0][1], strict=True):
            torch.testing.assert_close(one, other)


def test_text_features_do_not_depend_on_padding(start: starting_model.Start) -> None:
    tokens = start.tokenizer(["a cup", "a red cup beside a blue car"])
    with torch.no_grad():
        torch.testing.assert_close(encode_texts(start.model, tokens), start.model.encode_text(tokens, normalize=True))


def test_towers_that_are_not_causal_are_encoded_by_their_own_method() -> None:
    config = {**toy.MODEL, "text_cfg": {**toy.MODEL["text_cfg"], "no_causal_mask": True, "pool_type": "last"}}
    model = open_clip.CustomTextCLIP(**config)
    tokens = open_clip.get_tokenizer("ViT-B-32", context_length=16)(["a cup", "a red cup beside a blue car"])
    with torch.no_grad():
        torch.testing.assert_close(encode_texts(model, tokens), model.encode_text(tokens, normalize=True))


def test_retrieval_counts_equal_captions_as_one(tmp_path: Path) -> None:
    class Knows(torch.nn.Module):
        """Images as their mean colour, texts all alike but for the first word."""

        logit_scale = torch.tensor(0.0)

        def encode_image(self, pixels, normalize):
            return torch.nn.functional.normalize(pixels.mean(dim=(2, 3)), dim=-1)

        def encode_text(self, tokens, normalize):
            return torch.eye(3)[tokens]

    data = read(toy.write_shards(tmp_path / "shards"))
    data = type(data)(data.places[:3], ("x", "y", "x"), data.image_C[:3])
    pixels = Pixels(
        data.places, lambda image: torch.eye(3)[0 if image.getpixel((0, 0))[1] == 0 else 1].reshape(3, 1, 1)
    )
    # The first three pictures are red on the left: all three images look alike, as the texts 0 ("x"). For the images,
    # the text of image 1 ties with none (it scores 0 against 1), so i2t finds images 0 and 2 alone.
    found = retrieval(Knows(), data, pixels, lambda texts: torch.tensor(["xy".index(text) for text in texts]))
    assert found["i2t_recall@1"] == pytest.approx(2 / 3)
    assert mean_recall({"i2t_recall@1": 0.5, "t2i_recall@1": 0.25}) == 0.375


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[Path, Path, bytes]:
    """Shards, a starting model's folder, and the weights of a training that nobody killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    shards, spec = toy.write_shards(folder / "toy"), toy.write_model(folder / "clip")
    train("negclip", spec, TrainingData(shards), folder / "out", recipe=RECIPE, report=quiet)
    return shards, folder / "clip", (folder / "out/open_clip_model.safetensors").read_bytes()


@pytest.mark.parametrize("at", [1, 4, 7])
def test_a_stopped_training_goes_on_to_the_same_weights(at: int, undisturbed, tmp_path: Path, monkeypatch) -> None:
    shards, clip, expected = undisturbed
    monkeypatch.setattr(finetune, "STEPS_PER_STATE", 1)

    def stop(title: str, done: int, total: int) -> None:
        if (title, done) == ("training", at):
            raise KeyboardInterrupt

    again = {"recipe": RECIPE}
    with pytest.raises(KeyboardInterrupt):
        train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", **again, report=stop)
    assert not (tmp_path / "out").exists()
    steps: list[int] = []
    train(
        "negclip",
        f"local:{clip}",
        TrainingData(shards),
        tmp_path / "out",
        **again,
        report=lambda *said: steps.append(said[1]),
    )
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_the_state_of_another_recipe_is_not_gone_on_from(undisturbed, tmp_path: Path, monkeypatch) -> None:
    shards, clip, expected = undisturbed
    monkeypatch.setattr(finetune, "STEPS_PER_STATE", 1)

    def stop(title: str, done: int, total: int) -> None:
        if (title, done) == ("training", 3):
            raise KeyboardInterrupt

    other = Recipe(epochs=2, batch_size=4, learning_rates=(1e-3,), warmup=2)
    with pytest.raises(KeyboardInterrupt):
        train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", recipe=other, report=stop)
    train("negclip", f"local:{clip}", TrainingData(shards), tmp_path / "out", recipe=RECIPE, report=quiet)
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.trainers.negclip.test_finetune import RECIPE
from trainers.negclip import finetune
from trainers.negclip.training import TrainingData, train
finetune.STEPS_PER_STATE = 1
def kill(title, done, total):
    if (title, done) == ("training", int(sys.argv[4])):
        os.kill(os.getpid(), signal.SIGKILL)
train("negclip", sys.argv[1], TrainingData(Path(sys.argv[2])), Path(sys.argv[3]), recipe=RECIPE, report=kill)
"""


@pytest.mark.acceptance
def test_a_killed_training_goes_on_to_the_same_weights(undisturbed, tmp_path: Path) -> None:
    shards, clip, expected = undisturbed
    root = Path(__file__).parents[3]
    for at in (2, 5, 9, 0):  # 0: not at all
        command = [sys.executable, "-c", KILLED, f"local:{clip}", str(shards), str(tmp_path / "out"), str(at)]
        done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False)
        assert done.returncode == (-signal.SIGKILL if at else 0)
    assert (tmp_path / "out/open_clip_model.safetensors").read_bytes() == expected
