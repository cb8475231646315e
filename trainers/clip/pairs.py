"""Image-caption pairs of webdataset shards, held in memory as tensors.

Meant for corpora of small images (the micro-world's: 64 px, a few thousand), which fit and are then read once, not
once an epoch.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from generators.readers import shards


class Pairs(NamedTuple):
    """``image_NCHW`` as the model's preprocessing leaves it, ``text_NT`` token ids, and a hash over the shards."""

    image_NCHW: Tensor
    text_NT: Tensor
    digest: str


def read_pairs(folder: Path, preprocess: Callable, tokenize: Callable) -> Pairs:
    """All readable pairs of the shards ``folder/*.tar``, in file order.

    FileNotFoundError where there is no shard; ValueError for one that is cut off or damaged, and where there is no
    readable pair.
    """
    paths = sorted(folder.glob("*.tar"))
    if not paths:
        raise FileNotFoundError(f"{folder}: no webdataset shard (*.tar). Run `dvc repro sources`.")
    images, texts, digest, skipped = [], [], hashlib.sha256(), Counter[str]()
    for path in paths:
        digest.update(path.read_bytes())
        for pair, image in shards.read_decoded_pairs(path, skipped):
            images.append(preprocess(image))
            texts.append(pair.caption)
    shards.print_skipped(folder, skipped)
    if not images:
        raise ValueError(f"{folder}: no readable image with a caption in it.")
    image_NCHW = torch.stack(images).contiguous(memory_format=torch.channels_last)
    return Pairs(image_NCHW, tokenize(texts), digest.hexdigest()[:16])
