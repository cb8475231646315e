"""Fine-tuning a CLIP on captioned images, with NegCLIP's hard negatives or without (CLIP-FT).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.3: AdamW, cosine schedule after 50 steps of
warm-up, batches of 1,024. Both methods see the same captions in the same order for the same number of steps.

Large batches fit small devices through gradient caching (Gao et al. 2021, arXiv:2101.06983): features are computed
chunk by chunk, and torch's checkpointing recomputes activations in the backward pass. Every image is still compared
with every caption of the batch. Batch normalisation, which the micro-world's models have and CLIP's do not, sees one
chunk at a time.

The state file holds the weights, the optimiser and the random state, so an interrupted training resumes and ends with
the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from open_clip_train.scheduler import cosine_lr
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from generators.storage.atomic import atomic_file
from trainers.clip.training import LOGIT_SCALE_LIMIT, encode_images, optimizer_for
from trainers.negclip.embedding import encode_texts
from trainers.negclip.image_text import Pixels
from trainers.negclip.loss import negclip_loss
from trainers.negclip.mining import Batch, Mined, batches, texts

STEPS_PER_STATE = 200
"""Steps between two state files; one is also written after each epoch."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a fine-tuning; ``batch_size`` counts captions without those of neighbours."""

    epochs: int
    batch_size: int
    learning_rates: tuple[float, ...]
    """Candidates; the model with the best validation score is kept."""
    weight_decay: float = 0.2
    """open_clip's default; the paper does not state it."""
    warmup: int = 50


@dataclass(frozen=True)
class Run:
    """One training run: its data, hyperparameters and state file."""

    start: str
    """Fingerprint of the initial weights."""
    mined: Mined
    pixels: Pixels
    tokenizer: Callable[[list[str]], Tensor]
    recipe: Recipe
    learning_rate: float
    hard: bool
    seed: int
    chunk: int
    """Images per forward pass with activations; texts: twice as many."""
    workers: int
    state: Path

    @property
    def key(self) -> str:
        """The key that a state file must have to be resumed from."""
        of_data, of_recipe = self.mined.data.digest, asdict(self.recipe)
        return f"{self.start} {of_data} {of_recipe} {self.learning_rate} {self.hard} {self.seed} {self.chunk}"

    def epoch(self, number: int) -> list[Batch]:
        return batches(self.mined, self.recipe.batch_size, self.seed, number, hard=self.hard)


def finetune(
    run: Run, model: Any, validate: Callable[[Any], dict[str, float]], report: Callable
) -> list[dict[str, float]]:
    """Train ``model`` in place and return the metrics after each epoch.

    ``report(title, done, total)`` is called after every step. Raises ValueError if there are fewer captions than a
    batch needs.
    """
    steps_per_epoch = len(run.epoch(0))
    if not steps_per_epoch:
        raise ValueError(
            f"{len(run.mined.data.captions):,} captions have a negative; a batch needs {run.recipe.batch_size:,}."
        )
    steps = steps_per_epoch * run.recipe.epochs
    optimizer = optimizer_for(model, run.learning_rate, run.recipe.weight_decay)
    schedule = cosine_lr(optimizer, run.learning_rate, min(run.recipe.warmup, steps), steps)
    torch.manual_seed(run.seed)
    done, losses, log = _resumed(run, model, optimizer)
    while done < steps:
        model.train()
        for batch, pixels_NCHW in _rest_of_epoch(run, done, steps_per_epoch):
            schedule(done)
            losses.append(_step(run, model, optimizer, batch, pixels_NCHW))
            done += 1
            report("training", done, steps)
            if done % STEPS_PER_STATE == 0 and done % steps_per_epoch:
                _write_state(run, model, optimizer, done, losses, log)
        log.append({"epoch": done // steps_per_epoch, "loss": sum(losses) / len(losses), **validate(model)})
        losses.clear()
        _write_state(run, model, optimizer, done, losses, log)
    return log


def _rest_of_epoch(run: Run, done: int, steps_per_epoch: int) -> Iterator[tuple[Batch, Tensor]]:
    """Yield the remaining batches of the epoch of step ``done``, with their images."""
    rest = run.epoch(done // steps_per_epoch)[done % steps_per_epoch :]
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
    """Return the loss of N images, their captions and then their negative captions, if any (T = N or 2N).

    The gradient is that of the whole batch for any chunk size.
    """
    count = len(pixels_NCHW)
    device = model.logit_scale.device
    image_ND = in_chunks(lambda part: encode_images(model, part.to(device)), pixels_NCHW, chunk)
    text_TD = in_chunks(lambda part: encode_texts(model, part.to(device)), text_TL, 2 * chunk)
    return negclip_loss(image_ND, text_TD[:count], text_TD[count:], model.logit_scale.exp())


def in_chunks(encode: Callable[[Tensor], Tensor], batch: Tensor, chunk: int) -> Tensor:
    """Return the features of a batch, with checkpointing if it is larger than a chunk."""
    if len(batch) <= chunk:
        return encode(batch)
    parts: list[Any] = [checkpoint(encode, part, use_reentrant=False) for part in batch.split(chunk)]
    return torch.cat(parts)


def _write_state(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer, done: int, losses: list[float], log: list
) -> None:
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
    with atomic_file(run.state) as partial, partial.open("wb") as file:
        torch.save(state, file)


def _resumed(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float], list[dict[str, float]]]:
    """Return steps done, losses of the current epoch and the log from a state file of the same run, if there is one."""
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
    """Return the mean of recall@1 over both directions, the validation score."""
    return (measured["i2t_recall@1"] + measured["t2i_recall@1"]) / 2
