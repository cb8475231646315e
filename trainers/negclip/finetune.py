"""Fine-tune a CLIP on captioned images, with hard negatives (NegCLIP) or without (CLIP-FT).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.3: AdamW, cosine schedule after 50 steps of
warm-up, batches of 256 captions. Both methods see the same captions in the same order for the same number of steps,
except under ``rules: paper``, where CLIP-FT keeps the captions without a negative. NegCLIP's loss is CLIP's with
negative captions as additional candidates for each image.

To train with large batches in little memory, features are computed in chunks, and the loss compares all images with all
captions of the batch. The idea is that of gradient caching (Gao et al. 2021, arXiv:2101.06983), implemented with
torch's activation checkpointing: the activations of a chunk are not stored but recomputed in the backward pass. The
chunk size does not change the gradient, except in models with batch normalisation (only the micro-world's models),
which normalise each chunk by itself.

Several processes train as one: each encodes a share of every batch (``processes``).

A state file stores the weights, the optimiser and the states of the random generators. An interrupted training resumes
from it and ends with the same weights as an uninterrupted training.

Shapes: N images of a batch, T texts, L tokens per text, D feature dimensions, CHW: channels, height and width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from open_clip_train.scheduler import cosine_lr
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from compeval.base.files.atomic import atomic_file
from compeval.base.pipeline.params import OURS
from compeval.trainers.clip.training import LOGIT_SCALE_LIMIT, make_adamw
from compeval.trainers.negclip.embedding import Precision, encode_images, encode_texts
from compeval.trainers.negclip.image_text import ImageDataset, Normalise
from compeval.trainers.negclip.mining import Batch, MinedData, get_texts, make_batches
from compeval.trainers.negclip.processes import Processes

STEPS_PER_STATE = 200
"""Number of steps between two writes of the state file, which is also written after each epoch."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of fine-tuning."""

    epochs: int
    batch_size: int
    """Number of captions drawn per batch. With hard negatives, a caption of a similar image (one of the image's nearest
    neighbours, mining.py) is added for each of them and is not counted, unless ``counts_neighbours``."""
    learning_rates: tuple[float, ...]
    """One run per learning rate. The model with the best validation score is kept."""
    weight_decay: float = 0.2
    """open_clip's default; the paper does not state it."""
    warmup: int = 50
    """Number of steps in which the learning rate increases from 0."""
    counts_neighbours: bool = False
    """If True, the similar images are a half of the ``batch_size``. The paper's N = 1,024 can mean either."""
    augment: bool = False
    """If True, images are cropped at random as in open_clip's training (90 to 100 % of the area)."""
    rules: str = OURS
    """``paper``: negative captions as in C.1, and CLIP-FT keeps the captions that have none. Without effect on the
    authors' files (published.py), whose rows without a negative are skipped."""


@dataclass(frozen=True)
class TrainingRun:
    """The data and hyperparameters of one training run."""

    initial_weights: str
    """Fingerprint of the initial weights."""
    mined: MinedData
    images: ImageDataset
    tokenizer: Callable[[list[str]], Tensor]
    recipe: Recipe
    use_hard_negatives: bool
    work: Path
    """Folder of the state file."""
    processes: Processes
    learning_rate: float
    seed: int
    chunk_size: int
    """Number of images per forward pass. Texts are encoded in chunks of ``2 * chunk_size``."""
    workers: int
    """Number of processes that read images."""
    precision: Precision

    @property
    def state_file(self) -> Path:
        return self.work / f"{self.learning_rate:g}.pt"

    @property
    def key(self) -> str:
        """String that identifies the inputs of the run. A state file with a different key is ignored."""
        data = self.mined.data
        return (
            f"{self.initial_weights} {data.digest} {data.file_states} {asdict(self.recipe)} {self.learning_rate} "
            f"{self.use_hard_negatives} {self.seed} {self.chunk_size} {self.precision}"
        )

    def make_batches(self, epoch: int) -> list[Batch]:
        """Return the parts of the batches of an epoch that this process encodes."""
        share = self.processes.shard
        batches = make_batches(
            self.mined,
            self.recipe.batch_size,
            self.seed,
            epoch,
            use_hard_negatives=self.use_hard_negatives,
            counts_neighbours=self.recipe.counts_neighbours,
        )
        return [
            Batch(
                share(image_N), share(caption_N), None if negative_N is None else share(negative_N)
            )
            for image_N, caption_N, negative_N in batches
        ]


def finetune(
    run: TrainingRun, model: Any, validate: Callable[[Any], dict[str, float]], report: Callable
) -> list[dict[str, float]]:
    """Train ``model`` in place and return the metrics after each epoch.

    ``validate`` returns the validation metrics of a model. Calls ``report("training", step, total_steps)`` after every
    step. Raises ValueError if there are fewer captions than ``batch_size``.
    """
    steps_per_epoch = len(run.make_batches(0))
    if not steps_per_epoch:
        raise ValueError(
            f"Too few captions: {len(run.mined.data.captions):,} captions have a negative, but a batch needs "
            f"{run.recipe.batch_size:,}. Use more data or a smaller batch size."
        )
    total_steps = steps_per_epoch * run.recipe.epochs
    optimizer = make_adamw(model.parameters(), run.learning_rate, run.recipe.weight_decay)
    schedule = cosine_lr(
        optimizer, run.learning_rate, min(run.recipe.warmup, total_steps), total_steps
    )
    torch.manual_seed(run.seed)
    step, losses, log = _load_state(run, model, optimizer)
    encoder = run.processes.wrap(
        BatchEncoder(model, run.chunk_size, run.images.normalise, run.precision)
    )
    while step < total_steps:
        model.train()
        epoch = step // steps_per_epoch
        remaining = run.make_batches(epoch)[step % steps_per_epoch :]
        images = run.images.read_batches(
            [batch.image_N.tolist() for batch in remaining], run.workers, epoch
        )
        for batch, pixels_NCHW in zip(remaining, images, strict=True):
            schedule(step)
            losses.append(_train_step(run, model, encoder, optimizer, batch, pixels_NCHW))
            step += 1
            report("training", step, total_steps)
            if step % STEPS_PER_STATE == 0 and step % steps_per_epoch:
                _write_state(run, model, optimizer, step, losses, log)
        log.append(
            {"epoch": step // steps_per_epoch, "loss": sum(losses) / len(losses), **validate(model)}
        )
        losses.clear()
        _write_state(run, model, optimizer, step, losses, log)
    return log


def _train_step(
    run: TrainingRun,
    model: Any,
    encoder: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    pixels_NCHW: Tensor,
) -> float:
    true, negative = get_texts(run.mined, batch)
    optimizer.zero_grad(set_to_none=True)
    loss = compute_batch_loss(
        encoder, pixels_NCHW, run.tokenizer([*true, *negative]), run.processes.gather
    )
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.get_parameter("logit_scale").clamp_(0, LOGIT_SCALE_LIMIT)
    return loss.item()


class BatchEncoder(nn.Module):
    """Encoder of the images and texts of a batch, in chunks.

    ``normalise`` turns pixels on the model's device into the model's input.
    """

    def __init__(
        self, model: Any, chunk_size: int, normalise: Normalise, precision: Precision = "auto"
    ) -> None:
        super().__init__()
        self.model = model
        self._chunk_size = chunk_size
        self._normalise = normalise
        self._precision: Precision = precision

    def forward(self, pixels_NCHW: Tensor, text_TL: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the unit features of the images and of the texts, and the exponential of the logit scale."""
        model = self.model
        device = self.model.logit_scale.device
        size = self._chunk_size

        def encode_pixels(part: Tensor) -> Tensor:
            return encode_images(
                model, self._normalise(part.to(device, non_blocking=True)), self._precision
            )

        def encode_tokens(part: Tensor) -> Tensor:
            return encode_texts(model, part.to(device, non_blocking=True), self._precision)

        image_ND = encode_in_chunks(encode_pixels, pixels_NCHW, size)
        text_TD = encode_in_chunks(encode_tokens, text_TL, 2 * size)
        return image_ND, text_TD, model.logit_scale.exp()


def compute_batch_loss(
    encoder: nn.Module, pixels_NCHW: Tensor, text_TL: Tensor, gather: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the loss of a batch, of which this process encodes N images.

    ``text_TL`` holds the tokens of their captions. For NegCLIP, the tokens of their N negative captions follow.
    ``gather`` returns the features of all processes.
    """
    num_images = len(pixels_NCHW)
    image_ND, text_TD, logit_scale = encoder(pixels_NCHW, text_TL)
    negative_ND = text_TD[num_images:]
    if len(negative_ND):
        negative_ND = gather(negative_ND)
    return negclip_loss(gather(image_ND), gather(text_TD[:num_images]), negative_ND, logit_scale)


def negclip_loss(
    image_ND: Tensor, text_ND: Tensor, negative_ND: Tensor, logit_scale: Tensor
) -> Tensor:
    """Return NegCLIP's loss (section 4), the mean over both directions, of N images, their captions and N negatives.

    Row-wise (image to text) cross-entropy runs over all 2N captions; column-wise (text to image) over the N true
    captions only, since no image belongs to a negative caption. Features have unit length. ``logit_scale`` is the
    exponential of the learned parameter. Without negative captions (0 rows), the result is CLIP's loss.
    """
    positive_NN = logit_scale * image_ND @ text_ND.T
    negative_NN = logit_scale * image_ND @ negative_ND.T
    target_N = torch.arange(len(image_ND), device=image_ND.device)
    image_to_text = functional.cross_entropy(torch.cat((positive_NN, negative_NN), dim=1), target_N)
    text_to_image = functional.cross_entropy(positive_NN.T, target_N)
    return (image_to_text + text_to_image) / 2


def encode_in_chunks(encode: Callable[[Tensor], Tensor], batch: Tensor, chunk_size: int) -> Tensor:
    """Return the features of a batch. Recomputes activations in the backward pass if there is more than one chunk."""
    if len(batch) <= chunk_size:
        return encode(batch)
    parts: list[Any] = [
        checkpoint(encode, part, use_reentrant=False) for part in batch.split(chunk_size)
    ]
    return torch.cat(parts)


def _write_state(
    run: TrainingRun,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    step: int,
    losses: list[float],
    log: list,
) -> None:
    """Write the state file. All processes have the same state, and the first one writes it."""
    if not run.processes.is_first:
        return
    state = {
        "key": run.key,
        "done": step,
        "losses": losses,
        "log": log,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": torch.get_rng_state(),  # state of the CPU's random generator
        # states of the random generators of all GPUs
        "generators": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    with atomic_file(run.state_file) as partial, partial.open("wb") as file:
        torch.save(state, file)


def _load_state(
    run: TrainingRun, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float], list[dict[str, float]]]:
    """Restore the weights, the optimiser and the random generators of an interrupted run.

    Returns the number of finished steps, the losses of the current epoch, and the metrics of the finished epochs.
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
    """Return the validation score: the mean of image-to-text and text-to-image Recall@1."""
    return (metrics["i2t_recall@1"] + metrics["t2i_recall@1"]) / 2
