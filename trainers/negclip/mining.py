"""Mine hard negatives: negative captions for each caption, and nearest neighbours of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C: up to five negative captions, made by
exchanging two parts of the caption (generators/hard_negatives/negclip.py), and the three nearest images by CLIP
features (neighbours.py). Captions without a negative are dropped, and then images without a caption. Neighbours are
searched among the remaining images only, because every neighbour adds a caption with a negative to the batch.

Shapes: I images, C captions, K neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from generators.hard_negatives.negclip import Negative, make_negatives
from generators.storage.atomic import write_json
from trainers.negclip.image_text import CaptionedImages
from trainers.negclip.neighbours import find_nearest

NEIGHBOURS = 3


@dataclass(frozen=True)
class MinedData:
    """Captioned images whose captions all have negatives. ``neighbour_IK`` holds image indices."""

    data: CaptionedImages
    negatives: tuple[tuple[Negative, ...], ...]
    neighbour_IK: np.ndarray


def mine(data: CaptionedImages, embed: Callable[[CaptionedImages], Tensor], model: str, cache: Path) -> MinedData:
    """Mine hard negatives. Reads them from the file ``cache`` if it was written for the same data and model.

    ``embed`` returns the unit features (I, D) of all images; ``model`` is the fingerprint of the model behind it.
    Raises ValueError if no caption has a negative or too few images remain for K neighbours.
    """
    key = f"{data.digest} {model}"
    cached = json.loads(cache.read_text()) if cache.is_file() else {}
    if cached.get("key") == key:
        negatives_C = [tuple(Negative(*item) for item in items) for items in cached["negatives"]]
    else:
        negatives_C = [tuple(items) for items in make_negatives(data.captions)]
    if not any(negatives_C):
        raise ValueError(
            f"None of {len(negatives_C):,} captions has two parts that can be exchanged, so there are no negatives."
        )
    selected = data.with_captions(np.array([bool(items) for items in negatives_C]))
    if cached.get("key") == key:
        neighbour_IK = np.array(cached["neighbours"])
    else:
        neighbour_IK = find_nearest(embed(selected).float().cpu(), NEIGHBOURS).numpy()
        write_json(cache, {"key": key, "negatives": negatives_C, "neighbours": neighbour_IK.tolist()})
    return MinedData(selected, tuple(filter(None, negatives_C)), neighbour_IK)


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
    return [
        _make_batch(mined, order_C[start : start + batch_size], rng if use_hard_negatives else None) for start in starts
    ]


def _make_batch(mined: MinedData, caption_N: np.ndarray, rng: np.random.Generator | None) -> Batch:
    image_N = mined.data.image_C[caption_N]
    if rng is None:
        return Batch(image_N, caption_N, None)
    neighbour_N = mined.neighbour_IK[image_N, rng.integers(NEIGHBOURS, size=len(image_N))]
    start_I, count_I = _find_caption_ranges(mined.data)
    caption_N = np.concatenate((caption_N, start_I[neighbour_N] + rng.integers(count_I[neighbour_N])))
    negative_N = rng.integers([len(mined.negatives[caption]) for caption in caption_N])
    return Batch(np.concatenate((image_N, neighbour_N)), caption_N, negative_N)


def _find_caption_ranges(data: CaptionedImages) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of each image's first caption and its number of captions. Captions are in image order."""
    _, start_I, count_I = np.unique(data.image_C, return_index=True, return_counts=True)
    return start_I, count_I


def get_texts(mined: MinedData, batch: Batch) -> tuple[list[str], list[str]]:
    """Return the captions and the negative captions of a batch."""
    true = [mined.data.captions[caption] for caption in batch.caption_N]
    if batch.negative_N is None:
        return true, []
    pairs = zip(batch.caption_N, batch.negative_N, strict=True)
    return true, [mined.negatives[caption][negative].text for caption, negative in pairs]
