"""Fine-tune a CLIP on captioned images, with hard negatives (NegCLIP) or without (CLIP-FT).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.3: AdamW, cosine schedule after 50 steps of
warm-up, batches of 1,024. Both methods see the same captions in the same order for the same number of steps.

Gradient caching (Gao et al. 2021, arXiv:2101.06983) makes large batches fit into small memory: features are computed
chunk by chunk, and activations are recomputed in the backward pass (torch's checkpointing). Every image is still
compared with every caption of the batch. Batch normalisation, which only the micro-world's models have, uses the
statistics of a chunk.

A state file stores the weights, the optimiser and the random state. An interrupted training resumes from it and ends
with the same weights as an uninterrupted training.
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
from trainers.clip.training import LOGIT_SCALE_LIMIT, encode_images, make_adamw
from trainers.negclip.embedding import encode_texts
from trainers.negclip.image_text import ImageDataset
from trainers.negclip.loss import negclip_loss
from trainers.negclip.mining import Batch, MinedData, get_texts, make_batches

STEPS_PER_STATE = 200
"""Number of steps between two writes of the state file, which is also written after each epoch."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters. ``batch_size`` counts captions, excluding the captions of neighbour images."""

    epochs: int
    batch_size: int
    learning_rates: tuple[float, ...]
    """One training per learning rate; the model with the best validation score is kept."""
    weight_decay: float = 0.2
    """open_clip's default; the paper does not state it."""
    warmup: int = 50


@dataclass(frozen=True)
class TrainingRun:
    """A training run: its data, hyperparameters and state file."""

    initial_weights: str
    """Fingerprint of the initial weights."""
    mined: MinedData
    images: ImageDataset
    tokenizer: Callable[[list[str]], Tensor]
    recipe: Recipe
    learning_rate: float
    use_hard_negatives: bool
    seed: int
    chunk_size: int
    """Number of images per forward pass. The number of texts is twice as large."""
    workers: int
    state_file: Path

    @property
    def key(self) -> str:
        """Identifies the inputs of the run. A state file is used only if its key is the same."""
        return (
            f"{self.initial_weights} {self.mined.data.digest} {asdict(self.recipe)} {self.learning_rate} "
            f"{self.use_hard_negatives} {self.seed} {self.chunk_size}"
        )

    def make_batches(self, epoch: int) -> list[Batch]:
        batch_size = self.recipe.batch_size
        return make_batches(self.mined, batch_size, self.seed, epoch, use_hard_negatives=self.use_hard_negatives)


def finetune(
    run: TrainingRun, model: Any, validate: Callable[[Any], dict[str, float]], report: Callable
) -> list[dict[str, float]]:
    """Train ``model`` in place and return the metrics after each epoch.

    Calls ``report(title, num_done, total)`` after every step. Raises ValueError if there are fewer captions than
    ``batch_size``.
    """
    steps_per_epoch = len(run.make_batches(0))
    if not steps_per_epoch:
        raise ValueError(
            f"{len(run.mined.data.captions):,} captions have a negative; a batch needs {run.recipe.batch_size:,}."
        )
    total_steps = steps_per_epoch * run.recipe.epochs
    optimizer = make_adamw(model, run.learning_rate, run.recipe.weight_decay)
    schedule = cosine_lr(optimizer, run.learning_rate, min(run.recipe.warmup, total_steps), total_steps)
    torch.manual_seed(run.seed)
    step, losses, log = _load_state(run, model, optimizer)
    while step < total_steps:
        model.train()
        for batch, pixels_NCHW in _read_remaining_batches(run, step, steps_per_epoch):
            schedule(step)
            losses.append(_train_step(run, model, optimizer, batch, pixels_NCHW))
            step += 1
            report("training", step, total_steps)
            if step % STEPS_PER_STATE == 0 and step % steps_per_epoch:
                _write_state(run, model, optimizer, step, losses, log)
        log.append({"epoch": step // steps_per_epoch, "loss": sum(losses) / len(losses), **validate(model)})
        losses.clear()
        _write_state(run, model, optimizer, step, losses, log)
    return log


def _read_remaining_batches(run: TrainingRun, step: int, steps_per_epoch: int) -> Iterator[tuple[Batch, Tensor]]:
    """Yield the batches from ``step`` to the end of its epoch, with their images."""
    remaining = run.make_batches(step // steps_per_epoch)[step % steps_per_epoch :]
    images = run.images.read_batches([batch.image_N.tolist() for batch in remaining], run.workers)
    yield from zip(remaining, images, strict=True)


def _train_step(
    run: TrainingRun, model: Any, optimizer: torch.optim.Optimizer, batch: Batch, pixels_NCHW: Tensor
) -> float:
    true, negative = get_texts(run.mined, batch)
    optimizer.zero_grad(set_to_none=True)
    loss = compute_batch_loss(model, pixels_NCHW, run.tokenizer([*true, *negative]), run.chunk_size)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.get_parameter("logit_scale").clamp_(0, LOGIT_SCALE_LIMIT)
    return loss.item()


def compute_batch_loss(model: Any, pixels_NCHW: Tensor, text_TL: Tensor, chunk_size: int) -> Tensor:
    """Return the loss of N images and T texts: N captions, followed by N negative captions (NegCLIP) or none (CLIP-FT).

    The chunk size does not change the gradient.
    """
    count = len(pixels_NCHW)
    device = model.logit_scale.device
    image_ND = encode_in_chunks(lambda part: encode_images(model, part.to(device)), pixels_NCHW, chunk_size)
    text_TD = encode_in_chunks(lambda part: encode_texts(model, part.to(device)), text_TL, 2 * chunk_size)
    return negclip_loss(image_ND, text_TD[:count], text_TD[count:], model.logit_scale.exp())


def encode_in_chunks(encode: Callable[[Tensor], Tensor], batch: Tensor, chunk_size: int) -> Tensor:
    """Return the features of a batch. Uses checkpointing if the batch is larger than a chunk."""
    if len(batch) <= chunk_size:
        return encode(batch)
    parts: list[Any] = [checkpoint(encode, part, use_reentrant=False) for part in batch.split(chunk_size)]
    return torch.cat(parts)


def _write_state(
    run: TrainingRun, model: nn.Module, optimizer: torch.optim.Optimizer, step: int, losses: list[float], log: list
) -> None:
    state = {
        "key": run.key,
        "done": step,
        "losses": losses,
        "log": log,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": torch.get_rng_state(),
        "generators": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    with atomic_file(run.state_file) as partial, partial.open("wb") as file:
        torch.save(state, file)


def _load_state(
    run: TrainingRun, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float], list[dict[str, float]]]:
    """Restore the state of an interrupted run. Returns finished steps, losses of the current epoch and the log.

    Returns (0, [], []) if there is no state file of the same run.
    """
    if not run.state_file.is_file():
        return 0, [], []
    state = torch.load(run.state_file, map_location="cpu", weights_only=True)
    if state["key"] != run.key:
        return 0, [], []
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["generator"])
    if state["generators"]:
        torch.cuda.set_rng_state_all(state["generators"])
    return state["done"], state["losses"], state["log"]


def compute_mean_recall(metrics: dict[str, float]) -> float:
    """Return the validation score: the mean of Recall@1 over both directions."""
    return (metrics["i2t_recall@1"] + metrics["t2i_recall@1"]) / 2
