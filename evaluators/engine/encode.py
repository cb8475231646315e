"""Encode the crops and texts of a plan into the feature cache.

Each distinct crop and text of all tasks is encoded once per model, across runs too; each image is decoded once. A chunk
is the unit of commit: killed at any moment, the next run does only what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.feature_cache import FeatureStore
from evaluators.engine.plan import Plan
from evaluators.models import DualEncoder, Model, TextEncoder
from evaluators.models.batches import unit_length
from evaluators.models.custom import CustomDualEncoder
from evaluators.models.fingerprint import digest

Report = Callable[[str, int, int], None]
"""Progress callback: stage, items done, items in total."""
OnError = Literal["stop", "skip"]
OUT_OF_MEMORY = re.compile(r"out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED", re.IGNORECASE)
"""Messages of the errors other than torch.OutOfMemoryError that mean the same (MPS, cuBLAS, cuDNN)."""
MIN_CROPS_PER_CHUNK, MIN_TEXTS_PER_CHUNK = 256, 2048
ALL = slice(None)
"""All chunks. With several processes, process i of n encodes the chunks ``slice(i, None, n)``."""


def quiet(stage: str, done: int, total: int) -> None:
    """No-op progress callback."""


@dataclass(frozen=True)
class Engine:
    """What a run encodes and scores with."""

    model: Model
    plan: Plan
    store: FeatureStore
    batch_size: int
    on_error: OnError = "stop"
    """For unreadable images: raise an error or skip their rows."""
    report: Report = quiet


@dataclass
class Encoded:
    """Cache keys of the plan's crops and texts, and the unreadable crops."""

    crop_keys: list[bytes] = field(default_factory=list)
    text_keys: list[bytes] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    """Position in the plan's crops -> message."""
    images_encoded: int = 0
    texts_encoded: int = 0


def backing_off(encode: Callable[[int], np.ndarray], batch_size: int) -> np.ndarray:
    """Return ``encode(batch_size)``, with the size halved while the device is out of memory.

    Raises ValueError if a single item does not fit.
    """
    import torch

    while True:
        try:
            return encode(batch_size)
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if not isinstance(error, torch.OutOfMemoryError) and not OUT_OF_MEMORY.search(str(error)):
                raise
            if batch_size == 1:
                raise ValueError("The device has too little memory to encode a single item.") from None
            batch_size //= 2
            _empty_caches()


def _empty_caches() -> None:
    """Return memory that PyTorch holds in reserve to the device."""
    import torch

    torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def crops_per_chunk(encoder: DualEncoder, batch_size: int) -> int:
    """Return the number of crops that are decoded, encoded and committed together.

    An adapter of your own class gets whole images, which take up to megabytes each, so a chunk is a single batch.
    """
    return batch_size if isinstance(encoder, CustomDualEncoder) else max(MIN_CROPS_PER_CHUNK, batch_size)


def encode(engine: Engine, share: slice = ALL) -> Encoded:
    """Store the features of the plan's crops and texts. ValueError for an unreadable image, unless they are skipped.

    With a ``share`` of the chunks, the returned keys are of these chunks only and unfit for scoring.
    """
    encoder, crops, store = engine.model.encoder, engine.plan.crops, engine.store
    assert isinstance(encoder, DualEncoder)
    encoded = Encoded()
    unreadable: dict[bytes, str] = {}
    engine.report("images", 0, len(crops))
    chunks = plan.crop_chunks(crops, crops_per_chunk(encoder, engine.batch_size))[share]
    for chunk in images.stream(crops, chunks, store.missing, encoder.preprocess):
        unreadable |= {chunk.keys[index]: message for index, message in chunk.errors.items()}
        if unreadable and engine.on_error == "stop":
            raise images.UnreadableImageError(next(iter(unreadable.values())))
        if chunk.missing:
            feature_ND = backing_off(partial(encoder.encode_images, chunk.images), engine.batch_size)
            store.put(
                [chunk.keys[index] for index in chunk.missing], unit_length(feature_ND, engine.model.name, "image")
            )
            chunk.images.clear()  # before the next chunk is decoded
        for index, key in enumerate(chunk.keys):
            if key in unreadable:
                encoded.errors[chunk.start + index] = unreadable[key]
        encoded.crop_keys += chunk.keys
        encoded.images_encoded += len(chunk.missing)
        engine.report("images", chunk.start + len(chunk.keys), len(crops))
    encoded.text_keys, encoded.texts_encoded = encode_texts(
        engine.model, engine.plan.texts, store, engine.batch_size, engine.report, share
    )
    return encoded


def encode_texts(
    model: Model,
    texts: Sequence[str],
    store: FeatureStore,
    batch_size: int,
    report: Report = quiet,
    share: slice = ALL,
) -> tuple[list[bytes], int]:
    """Store the features of texts; returns their cache keys and the number of texts that were encoded."""
    encoder, keys, encoded = model.encoder, [], 0
    assert isinstance(encoder, TextEncoder)
    report("texts", 0, len(texts))
    for chunk in plan.chunks(len(texts), max(MIN_TEXTS_PER_CHUNK, batch_size))[share]:
        chunk_keys = [text_key(text) for text in texts[chunk]]
        todo = {chunk_keys[index]: texts[chunk][index] for index in store.missing(chunk_keys)}
        if todo:
            feature_TD = backing_off(partial(encoder.encode_texts, list(todo.values())), batch_size)
            store.put(list(todo), unit_length(feature_TD, model.name, "text"))
        keys += chunk_keys
        encoded += len(todo)
        report("texts", chunk.stop, len(texts))
    return keys, encoded


def text_key(text: str) -> bytes:
    """The feature cache's key of a text."""
    return digest(b"text", text.encode())
