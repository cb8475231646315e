"""Read image-caption pairs from webdataset shards into memory.

Intended for small corpora, such as the micro-world's few thousand images of 64 px. They fit into memory, so they are
read once and not once per epoch.
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
    """Preprocessed images, token ids of their captions, and a hash of the shard files."""

    image_NCHW: Tensor
    text_NT: Tensor
    digest: str


def read_pairs(folder: Path, preprocess: Callable, tokenize: Callable) -> Pairs:
    """Read all readable pairs of the shards ``folder/*.tar``, in file order.

    Raises FileNotFoundError if there is no shard, and ValueError if a shard is damaged or no pair is readable.
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
        raise ValueError(f"{folder}: no readable image with a caption.")
    image_NCHW = torch.stack(images).contiguous(memory_format=torch.channels_last)
    return Pairs(image_NCHW, tokenize(texts), digest.hexdigest()[:16])
