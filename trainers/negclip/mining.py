"""Mine hard negatives: negative captions for each caption, and nearest neighbours of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C: up to five negative captions, made by
exchanging two parts of the caption (generators/hard_negatives/negclip), and the three nearest images by CLIP
features (neighbours.py). Both are computed in chunks, so that an interrupted mining resumes. Captions without a
negative are dropped, and then images without a caption. Neighbours are searched among the remaining images only,
because every neighbour adds a caption with a negative to the batch.

Shapes: I images, C captions, K neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from generators.files.atomic import atomic_file
from trainers.negclip.image_text import CaptionedImages, ImageLocation
from trainers.negclip.negatives import Negatives, mine_negatives
from trainers.negclip.neighbours import find_nearest

NEIGHBOURS = 3
IMAGES_PER_CHUNK = 4096
"""Number of images whose features are one file."""
Embed = Callable[[Sequence[ImageLocation]], Tensor]
"""Function that returns the unit features (I, D) of images."""


@dataclass(frozen=True)
class MinedData:
    """Captioned images whose captions all have negatives. ``neighbour_IK`` holds image indices."""

    data: CaptionedImages
    negatives: Negatives
    neighbour_IK: np.ndarray


def quiet(title: str, done: int, total: int) -> None:
    """No-op progress callback."""


def mine(
    data: CaptionedImages, embed: Embed, model: str, folder: Path, workers: int = 0, report: Callable = quiet
) -> MinedData:
    """Mine hard negatives. What an interrupted mining of the same data and model wrote to ``folder`` is read.

    ``model`` is the fingerprint of the model behind ``embed``; ``workers`` is the number of processes that read
    captions. Raises ValueError if no caption has a negative or too few images remain for K neighbours.
    """
    folder = folder / data.digest
    negatives = mine_negatives(data.captions, folder / "negatives", workers, report)
    if not negatives.count_C.any():
        raise ValueError(
            f"None of {len(negatives):,} captions has two parts that can be exchanged, so there are no negatives."
        )
    has_negative_C = negatives.count_C > 0
    selected = data.with_captions(has_negative_C)
    neighbour_IK = _mine_neighbours(selected.locations, embed, folder / model, report)
    return MinedData(selected, negatives.select(has_negative_C), neighbour_IK)


def _mine_neighbours(locations: Sequence[ImageLocation], embed: Embed, folder: Path, report: Callable) -> np.ndarray:
    """Return the indices (I, K) of each image's nearest images. Files in ``folder`` are read instead of computed."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "neighbours.npy"
    if not result.exists():
        parts = []
        for start in range(0, len(locations), IMAGES_PER_CHUNK):
            path, chunk = folder / f"{start:09d}.npy", locations[start : start + IMAGES_PER_CHUNK]
            if not path.exists():
                _save_array(path, embed(chunk).float().cpu().numpy())
            parts.append(torch.from_numpy(np.load(path)))
            report("images", start + len(chunk), len(locations))
        _save_array(result, find_nearest(torch.cat(parts), NEIGHBOURS).numpy())
    return np.load(result)


def _save_array(path: Path, array: np.ndarray) -> None:
    with atomic_file(path) as partial, partial.open("wb") as file:
        np.save(file, array)


@dataclass(frozen=True)
class Batch:
    """Indices of N captions and their images, and for each caption the index of one of its negatives (None: unused)."""

    image_N: np.ndarray
    caption_N: np.ndarray
    negative_N: np.ndarray | None


def make_batches(mined: MinedData, batch_size: int, seed: int, epoch: int, *, use_hard_negatives: bool) -> list[Batch]:
    """Return the batches of an epoch. Each caption occurs at most once; an incomplete last batch is dropped.

    With hard negatives, a batch of N captions has 2N rows: the N captions and one caption of a sampled neighbour image
    for each of them. Every row gets one negative of its caption (section 4; appendix C). The order of the captions is
    the same with and without hard negatives.
    """
    order_C = np.random.default_rng([seed, epoch]).permutation(len(mined.data.captions))
    rng = np.random.default_rng([seed, epoch, 1])
    starts = range(0, len(order_C) - batch_size + 1, batch_size)
    parts = [order_C[start : start + batch_size] for start in starts]
    if not use_hard_negatives:
        return [Batch(mined.data.image_C[caption_N], caption_N, None) for caption_N in parts]
    start_I, count_I = mined.data.find_caption_ranges()
    return [_add_hard_negatives(mined, caption_N, start_I, count_I, rng) for caption_N in parts]


def _add_hard_negatives(
    mined: MinedData, caption_N: np.ndarray, start_I: np.ndarray, count_I: np.ndarray, rng: np.random.Generator
) -> Batch:
    image_N = mined.data.image_C[caption_N]
    neighbour_N = mined.neighbour_IK[image_N, rng.integers(NEIGHBOURS, size=len(image_N))]
    caption_N = np.concatenate((caption_N, start_I[neighbour_N] + rng.integers(count_I[neighbour_N])))
    negative_N = rng.integers(mined.negatives.count_C[caption_N])
    return Batch(np.concatenate((image_N, neighbour_N)), caption_N, negative_N)


def get_texts(mined: MinedData, batch: Batch) -> tuple[list[str], list[str]]:
    """Return the captions and the negative captions of a batch."""
    true = [mined.data.captions[caption] for caption in batch.caption_N]
    if batch.negative_N is None:
        return true, []
    pairs = zip(batch.caption_N, batch.negative_N, strict=True)
    return true, [mined.negatives.get_text(caption, negative) for caption, negative in pairs]
