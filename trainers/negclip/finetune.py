"""Fine-tuning a CLIP on captioned images, with NegCLIP's hard negatives or without (CLIP-FT).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.3: AdamW, cosine schedule after 50 steps of
warm-up, batches of 1,024. Both methods see the same captions in the same order for the same number of steps.

Large batches fit small devices: features are computed chunk by chunk without keeping activations, which are computed
again when the gradient comes to a chunk (torch's checkpointing; Gao et al. 2021, arXiv:2101.06983). Every image still
meets every caption of the whole batch. Batch normalisation, which the micro-world's models have and CLIP's do not,
sees a chunk at a time.

A step is a function of the data, the seed, the weights before it and the state of torch's generator; all of it is in
the state file, so that a training that was killed goes on to the same weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from open_clip_train.scheduler import cosine_lr
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trainers.clip.training import LOGIT_SCALE_LIMIT, encode_images, optimizer_for
from trainers.negclip.embedding import encode_texts
from trainers.negclip.image_text import Pixels
from trainers.negclip.loss import negclip_loss
from trainers.negclip.mining import Batch, Mined, batches, texts

STEPS_A_STATE = 200
"""A state file is written every so many steps, and after each epoch."""


@dataclass(frozen=True)
class Recipe:
    """How a model is fine-tuned; ``batch_size`` counts captions, neighbours not among them."""

    epochs: int
    batch_size: int
    learning_rates: tuple[float, ...]
    """The one with the best validation is kept."""
    weight_decay: float = 0.2
    """open_clip's own, which the paper does not mention."""
    warmup: int = 50


@dataclass(frozen=True)
class Run:
    """One training: what is trained on, how, and where it may stop and go on."""

    start: str
    """The fingerprint of the weights that it starts from."""
    mined: Mined
    pixels: Pixels
    tokenizer: Callable[[list[str]], Tensor]
    recipe: Recipe
    learning_rate: float
    hard: bool
    seed: int
    chunk: int
    """Images that are encoded at once with their activations; twice as many texts."""
    workers: int
    state: Path

    @property
    def key(self) -> str:
        """What a state file must have been written for."""
        of_data, of_recipe = self.mined.data.digest, asdict(self.recipe)
        return f"{self.start} {of_data} {of_recipe} {self.learning_rate} {self.hard} {self.seed} {self.chunk}"

    def epoch(self, number: int) -> list[Batch]:
        return batches(self.mined, self.recipe.batch_size, self.seed, number, hard=self.hard)


def finetune(
    run: Run, model: Any, validate: Callable[[Any], dict[str, float]], report: Callable
) -> list[dict[str, float]]:
    """Train ``model`` in place; gives what was measured after each epoch. ValueError for too few captions for a batch.

    ``report(title, done, total)`` is called after every step.
    """
    a_epoch = len(run.epoch(0))
    if not a_epoch:
        raise ValueError(
            f"{len(run.mined.data.captions):,} captions have a negative; a batch takes {run.recipe.batch_size:,}."
        )
    steps = a_epoch * run.recipe.epochs
    optimizer = optimizer_for(model, run.learning_rate, run.recipe.weight_decay)
    schedule = cosine_lr(optimizer, run.learning_rate, min(run.recipe.warmup, steps), steps)
    torch.manual_seed(run.seed)
    done, losses, log = _resumed(run, model, optimizer)
    while done < steps:
        model.train()
        for batch, pixels_NCHW in _rest_of_epoch(run, done, a_epoch):
            schedule(done)
            losses.append(_step(run, model, optimizer, batch, pixels_NCHW))
            done += 1
            report("training", done, steps)
            if done % STEPS_A_STATE == 0 and done % a_epoch:
                _write_state(run, model, optimizer, done, losses, log)
        log.append({"epoch": done // a_epoch, "loss": sum(losses) / len(losses), **validate(model)})
        losses.clear()
        _write_state(run, model, optimizer, done, losses, log)
    return log


def _rest_of_epoch(run: Run, done: int, a_epoch: int) -> Iterator[tuple[Batch, Tensor]]:
    """The batches of the epoch that step ``done`` is in, from that step on, with their images."""
    rest = run.epoch(done // a_epoch)[done % a_epoch :]
    yield from zip(rest, run.pixels.batches([batch.image_N.tolist() for batch in rest], run.workers), strict=True)


def _step(run: Run, model: Any, optimizer: torch.optim.Optimizer, batch: Batch, pixels_NCHW: Tensor) -> float:
    true, negative = texts(run.mined, batch)
    optimizer.zero_grad(set_to_none=True)
    loss = batch_loss(model, pixels_NCHW, run.tokenizer([*true, *negative]), run.chunk)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.get_parameter("logit_scale").clamp_(0, LOGIT_SCALE_LIMIT)
    return loss.item()


def batch_loss(model: Any, pixels_NCHW: Tensor, text_TL: Tensor, chunk: int) -> Tensor:
    """The loss of N images, their captions and, behind these, their negative captions or none (T = 2N or N).

    Its gradient is that of the whole batch, whatever the chunk.
    """
    count = len(pixels_NCHW)
    device = model.logit_scale.device
    image_ND = in_chunks(lambda part: encode_images(model, part.to(device)), pixels_NCHW, chunk)
    text_TD = in_chunks(lambda part: encode_texts(model, part.to(device)), text_TL, 2 * chunk)
    return negclip_loss(image_ND, text_TD[:count], text_TD[count:], model.logit_scale.exp())


def in_chunks(encode: Callable[[Tensor], Tensor], batch: Tensor, chunk: int) -> Tensor:
    """The features of a batch; where it is larger than a chunk, activations are computed again for the gradient."""
    if len(batch) <= chunk:
        return encode(batch)
    parts: list[Any] = [checkpoint(encode, part, use_reentrant=False) for part in batch.split(chunk)]
    return torch.cat(parts)


def _write_state(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer, done: int, losses: list[float], log: list
) -> None:
    """Whole or not at all."""
    state = {
        "key": run.key,
        "done": done,
        "losses": losses,
        "log": log,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": torch.get_rng_state(),
        "generators": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    run.state.parent.mkdir(parents=True, exist_ok=True)
    scratch = run.state.with_suffix(".partial")
    with scratch.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(run.state)


def _resumed(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float], list[dict[str, float]]]:
    """Steps done, losses of the epoch so far and the log; of a state file for another training, nothing."""
    if not run.state.is_file():
        return 0, [], []
    state = torch.load(run.state, map_location="cpu", weights_only=True)
    if state["key"] != run.key:
        return 0, [], []
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["generator"])
    if state["generators"]:
        torch.cuda.set_rng_state_all(state["generators"])
    return state["done"], state["losses"], state["log"]


def mean_recall(measured: dict[str, float]) -> float:
    """What models are chosen by: the mean of recall@1 both ways."""
    return (measured["i2t_recall@1"] + measured["t2i_recall@1"]) / 2
