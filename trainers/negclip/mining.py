"""Hard negatives of captioned images: negative captions of each caption, and nearest neighbours of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C: up to five negative captions by exchanging
two parts (generators/hard_negatives/negclip.py), and the three nearest images by CLIP features
(neighbours.py). Captions without a negative are dropped, and so are images without a remaining caption; neighbours are
searched among the remaining images, since a neighbour contributes a caption and its negative.

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
from trainers.negclip.image_text import ImageText
from trainers.negclip.neighbours import nearest

NEIGHBOURS = 3


@dataclass(frozen=True)
class Mined:
    """Captioned images in which every caption has a negative; ``neighbour_IK`` are positions of images."""

    data: ImageText
    negatives: tuple[tuple[Negative, ...], ...]
    neighbour_IK: np.ndarray


def mine(data: ImageText, embed: Callable[[ImageText], Tensor], model: str, cache: Path) -> Mined:
    """Mine hard negatives, or read them from the file ``cache`` if it holds those of the same data and model.

    ``embed`` returns the unit features (I, D) of all images; ``model`` is the fingerprint of the CLIP that it uses.
    Raises ValueError if no caption has a negative or too few images remain for K neighbours each.
    """
    key = f"{data.digest} {model}"
    cached = json.loads(cache.read_text()) if cache.is_file() else {}
    if cached.get("key") == key:
        negatives_C = [tuple(Negative(*one) for one in some) for some in cached["negatives"]]
    else:
        negatives_C = [tuple(some) for some in make_negatives(data.captions)]
    if not any(negatives_C):
        raise ValueError(f"None of {len(negatives_C):,} captions has two parts that can be exchanged: no negatives.")
    selected = data.with_captions(np.array([bool(some) for some in negatives_C]))
    if cached.get("key") == key:
        neighbour_IK = np.array(cached["neighbours"])
    else:
        neighbour_IK = nearest(embed(selected).float().cpu(), NEIGHBOURS).numpy()
        write_json(cache, {"key": key, "negatives": negatives_C, "neighbours": neighbour_IK.tolist()})
    return Mined(selected, tuple(filter(None, negatives_C)), neighbour_IK)


@dataclass(frozen=True)
class Batch:
    """Positions of N captions, of their images and of one negative in each caption's list; None without negatives."""

    image_N: np.ndarray
    caption_N: np.ndarray
    negative_N: np.ndarray | None


def batches(mined: Mined, size: int, seed: int, epoch: int, *, hard: bool) -> list[Batch]:
    """Return the batches of an epoch: each caption once, in an order that depends on the epoch; no ragged batch.

    With ``hard``, a batch of N captions has 2N rows: N sampled neighbour images follow, each with one of its captions,
    and every row has one negative of its caption (section 4; appendix C). The order of the captions is the same.
    """
    order_C = np.random.default_rng([seed, epoch]).permutation(len(mined.data.captions))
    draw = np.random.default_rng([seed, epoch, 1])
    starts = range(0, len(order_C) - size + 1, size)
    return [_batch(mined, order_C[start : start + size], draw if hard else None) for start in starts]


def _batch(mined: Mined, caption_N: np.ndarray, draw: np.random.Generator | None) -> Batch:
    image_N = mined.data.image_C[caption_N]
    if draw is None:
        return Batch(image_N, caption_N, None)
    other_N = mined.neighbour_IK[image_N, draw.integers(NEIGHBOURS, size=len(image_N))]
    start_I, count_I = _captions_of_images(mined.data)
    caption_N = np.concatenate((caption_N, start_I[other_N] + draw.integers(count_I[other_N])))
    negative_N = draw.integers([len(mined.negatives[caption]) for caption in caption_N])
    return Batch(np.concatenate((image_N, other_N)), caption_N, negative_N)


def _captions_of_images(data: ImageText) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of each image's first caption and the number of its captions, which are in image order."""
    _, start_I, count_I = np.unique(data.image_C, return_index=True, return_counts=True)
    return start_I, count_I


def texts(mined: Mined, batch: Batch) -> tuple[list[str], list[str]]:
    """Return the captions and the negative captions of a batch."""
    true = [mined.data.captions[caption] for caption in batch.caption_N]
    if batch.negative_N is None:
        return true, []
    chosen = zip(batch.caption_N, batch.negative_N, strict=True)
    return true, [mined.negatives[caption][place].text for caption, place in chosen]
