"""Hard negatives of captioned images: wrong captions of each caption, and look-alikes of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C: up to five negative captions by exchanging
two parts (generators/hard_negatives/negative_captions.py), the three nearest images by a CLIP
(trainers/negclip/neighbours.py). Captions
without a negative leave the set, and so do images that are left without a caption; neighbours are looked for among the
images that stay, since a neighbour brings a caption and its negative.

Shapes: I images, C captions, K neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from generators.hard_negatives.negative_captions import Negative, negatives
from generators.storage.stage import write_json
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
    """Mine the negatives; ``embed`` gives the unit features (I, D) of all images by the CLIP called ``model``.

    What was mined of the same data by the same model is read from the file ``cache``. ValueError where so few captions
    have a negative that no image has K neighbours.
    """
    key = f"{data.digest} {model}"
    if cache.is_file() and (known := json.loads(cache.read_text()))["key"] == key:
        found = [tuple(Negative(*one) for one in some) for some in known["negatives"]]
        kept = data.with_captions(np.array([bool(some) for some in found]))
        return Mined(kept, tuple(filter(None, found)), np.array(known["neighbours"]))
    found = [tuple(some) for some in negatives(data.captions)]
    if not any(found):
        raise ValueError(f"None of {len(found):,} captions has two parts that could change places: no negatives.")
    kept = data.with_captions(np.array([bool(some) for some in found]))
    neighbour_IK = nearest(embed(kept).float().cpu(), NEIGHBOURS).numpy()
    write_json(cache, {"key": key, "negatives": found, "neighbours": neighbour_IK.tolist()})
    return Mined(kept, tuple(filter(None, found)), neighbour_IK)


@dataclass(frozen=True)
class Batch:
    """Captions and their images by position, row by row a pair; a negative's place in its caption's list, or none."""

    image_N: np.ndarray
    caption_N: np.ndarray
    negative_N: np.ndarray | None


def batches(mined: Mined, size: int, seed: int, epoch: int, *, hard: bool) -> list[Batch]:
    """The batches of an epoch: each caption once, in an order of the epoch's own, the last ragged batch left out.

    With ``hard`` a batch of N captions has 2N rows, those of N sampled neighbour images behind the others, each with
    one of its captions, and every row has one of its caption's negatives (section 4; appendix C). The order of the
    captions is the same without.
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
    """Position of each image's first caption, and their number; captions lie in the order of their images."""
    _, start_I, count_I = np.unique(data.image_C, return_index=True, return_counts=True)
    return start_I, count_I


def texts(mined: Mined, batch: Batch) -> tuple[list[str], list[str]]:
    """The captions and the negative captions of a batch."""
    true = [mined.data.captions[caption] for caption in batch.caption_N]
    if batch.negative_N is None:
        return true, []
    chosen = zip(batch.caption_N, batch.negative_N, strict=True)
    return true, [mined.negatives[caption][place].text for caption, place in chosen]
