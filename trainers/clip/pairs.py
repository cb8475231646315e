"""Image-caption pairs of webdataset shards, held in memory as tensors.

Meant for corpora of small images (the micro-world's: 64 px, a few thousand), which fit and are then read once, not
once an epoch.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from webdataset.autodecode import DecodingError
from webdataset.filters import decode, to_tuple
from webdataset.pipeline import DataPipeline
from webdataset.shardlists import SimpleShardList
from webdataset.tariterators import tarfile_to_samples

from generators.readers import shards as tar


class Pairs(NamedTuple):
    """``image_NCHW`` as the model's preprocessing leaves it, ``text_NT`` token ids, and a hash over the shards."""

    image_NCHW: Tensor
    text_NT: Tensor
    digest: str


def read_pairs(folder: Path, preprocess: Callable, tokenize: Callable) -> Pairs:
    """All pairs of the shards ``folder/*.tar``, in file order.

    FileNotFoundError where there is no shard; ValueError for one that is cut off or damaged, and for an image that
    cannot be decoded.
    """
    shards = sorted(folder.glob("*.tar"))
    if not shards:
        raise FileNotFoundError(f"{folder}: no webdataset shard (*.tar). Run `dvc repro sources`.")
    images, texts, digest = [], [], hashlib.sha256()
    for path in shards:
        tar.check_whole(path)
        digest.update(path.read_bytes())
        samples = DataPipeline(
            SimpleShardList([str(path)]), tarfile_to_samples(), decode("pil"), to_tuple("jpg", "txt")
        )
        try:
            for image, text in samples:
                images.append(image)
                texts.append(text)
        except tarfile.TarError as error:
            raise tar.broken(path, error.args[0]) from None
        except DecodingError as error:
            raise ValueError(f"{path}: {error.key} cannot be decoded. Make or download the shard again.") from None
    image_NCHW = torch.stack([preprocess(image) for image in images]).contiguous(memory_format=torch.channels_last)
    return Pairs(image_NCHW, tokenize(texts), digest.hexdigest()[:16])
