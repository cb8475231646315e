"""Evaluation inside open_clip's training loop and transformers' Trainer: ten steps each."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
import transformers
from open_clip.loss import ClipLoss
from torch.utils.data import Dataset

import compeval
from compeval.callbacks import (
    Evaluation,
    as_trainer_callback,
    flatten,
    log_to_tensorboard,
    log_to_wandb,
)
from compeval.evaluators.results.scores_of_tasks import Scores, TaskScores
from tests.evaluators import tiny, tiny_transformers

TASK = "crepe/prod_hnatom/n4"


def train(folder: Path, evaluation: Evaluation | None) -> torch.nn.Module:
    """Train a tiny open_clip model for ten steps with open_clip's loss, as its loop does."""
    created: Any = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    model, _, preprocess = created
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    torch.manual_seed(0)
    optimizer, compute_loss = torch.optim.AdamW(model.parameters(), lr=1e-3), ClipLoss()
    tokens = tokenizer([f"a {color} ball" for color in tiny.COLORS])
    model.train()
    if evaluation:
        evaluation.preprocess, evaluation.tokenizer = preprocess, tokenizer
    for step in range(10):
        optimizer.zero_grad()
        pixels = torch.randn(len(tokens), 3, 16, 16)
        image, text, scale = model(pixels, tokens)
        compute_loss(image, text, scale).backward()
        optimizer.step()
        if evaluation:
            evaluation(step + 1, model)
    return model


def test_evaluation_in_open_clips_loop(here: Path, data: Path, clip: Path):
    logged = []
    evaluation = Evaluation(
        print, print, TASK, every=4, data_dir=data, on_results=lambda *entry: logged.append(entry)
    )
    model = train(clip, evaluation)
    assert [step for step, _ in evaluation.history] == [4, 8]
    assert logged == evaluation.history
    assert model.training
    # The evaluation draws no random number and changes no weight: the training is the same without it.
    expected = train(clip, None).state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.state_dict().items())
    # The results are those of the weights of the time: after step 8 they are not those after step 10.
    (first, second) = (result[TASK]["model"]["fingerprint"] for _, result in evaluation.history)
    now = compeval.evaluate(model, evaluation.preprocess, evaluation.tokenizer, TASK, data_dir=data)
    assert len({first, second, now[TASK]["model"]["fingerprint"]}) == 3


def test_evaluation_in_transformers_trainer(here: Path, data: Path):
    model, tokenizer = tiny_transformers.model("clip"), tiny_transformers.tokenizer()

    class Pairs(Dataset):
        def __len__(self) -> int:
            return 10

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            color = list(tiny.COLORS)[index % 5]
            tokens = tokenizer(
                f"a {color} ball", padding="max_length", max_length=8, return_tensors="pt"
            )
            return {
                "pixel_values": torch.full((3, 16, 16), index / 10),
                "input_ids": tokens["input_ids"][0],
            }

    def preprocess(image):
        return torch.from_numpy(np.array(image.resize((16, 16)))).permute(2, 0, 1) / 255

    def tokenize(texts):
        return tokenizer(
            texts, padding="max_length", max_length=8, truncation=True, return_tensors="pt"
        )["input_ids"]

    evaluation = Evaluation(preprocess, tokenize, TASK, every=5, data_dir=data, limit=3)
    arguments = transformers.TrainingArguments(
        output_dir=str(here / "trainer"),
        max_steps=10,
        per_device_train_batch_size=5,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        label_names=[],
    )
    with_loss = type(
        "WithLoss",
        (transformers.Trainer,),
        {"compute_loss": lambda self, model, inputs, **_: model(**inputs, return_loss=True).loss},
    )
    trainer = with_loss(
        model, arguments, train_dataset=Pairs(), callbacks=[as_trainer_callback(evaluation)]
    )
    trainer.train()
    assert [step for step, _ in evaluation.history] == [5, 10]
    entries = [entry for entry in trainer.state.log_history if f"{TASK}/recall@1" in entry]
    assert [entry["step"] for entry in entries] == [5, 10]
    assert entries[1][f"{TASK}/recall@1"] == flatten(evaluation.history[1][1])[f"{TASK}/recall@1"]
    assert evaluation.history[0][1][TASK]["data"]["rows"] == 3
    json.dumps(entries)


def make_scores(share: float) -> Scores:
    """Return scores of one task, as far as loggers read them."""
    return Scores(
        {TASK: TaskScores({"main": ["recall@1"], "metrics": {"recall@1": share, "mean_rank": 2.0}})}
    )


def test_tensorboard(tmp_path: Path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        log = log_to_tensorboard(writer)
        log(4, make_scores(0.25))
        log(8, make_scores(0.5))
    events = EventAccumulator(str(tmp_path)).Reload().Scalars(f"{TASK}/recall@1")
    assert [(event.step, event.value) for event in events] == [(4, 0.25), (8, 0.5)]


@pytest.mark.acceptance
def test_wandb_offline(tmp_path: Path):
    """The training counts wandb's steps in batches; the evaluation's axis is compeval/step."""
    import wandb

    with wandb.init(
        mode="offline", dir=tmp_path, project="clip", settings=wandb.Settings(silent=True)
    ) as run:
        log = log_to_wandb(run)
        for step in range(1, 9):
            run.log({"loss": 1 / step}, step=step)
            if step % 4 == 0:
                log(step, make_scores(step / 16))
        summary = dict(run.summary)
    assert (summary["compeval/step"], summary[f"compeval/{TASK}/recall@1"], summary["loss"]) == (
        8,
        0.5,
        1 / 8,
    )
    (log_file,) = tmp_path.rglob("*.wandb")
    assert log_file.read_bytes().count(f"compeval/{TASK}/recall@1".encode()) >= 2, (
        "both evaluations are stored"
    )


def test_a_wrong_task_is_found_before_the_training(data: Path):
    with pytest.raises(ValueError, match="Unknown task 'crepe/nope'"):
        Evaluation(print, print, "crepe/nope", every=1000, data_dir=data)


def test_without_tasks_all_are_evaluated(data: Path, clip: Path):
    evaluation = Evaluation(print, print, None, every=10, data_dir=data, limit=8)
    model = train(clip, evaluation)
    ((_, scores),) = evaluation.history
    expected = compeval.evaluate(
        model, evaluation.preprocess, evaluation.tokenizer, data_dir=data, limit=8
    )
    assert list(scores) == list(expected)


def test_every_is_at_least_one():
    with pytest.raises(ValueError, match="every: 0, expected at least 1 step"):
        Evaluation(print, print, TASK, every=0)
