"""Encode the crops and texts of a plan into the feature cache.

Each distinct crop and text of all tasks is encoded once per model, even over several runs. Each image is decoded once.
Features are committed chunk by chunk: if a run is killed at any moment, the next run encodes only what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.feature_cache import FeatureStore
from evaluators.engine.plan import Plan
from evaluators.models import DualEncoder, Model, TextEncoder, TruncatingReader
from evaluators.models.batches import scale_to_unit_length
from evaluators.models.custom import CustomDualEncoder
from evaluators.models.fingerprint import digest

Report = Callable[[str, int, int], None]
"""Progress callback with the arguments stage, number of items done, total number of items."""
OnError = Literal["stop", "skip"]
OUT_OF_MEMORY = re.compile(r"out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED", re.IGNORECASE)
"""Messages of other errors that also mean that the device is out of memory (MPS, cuBLAS, cuDNN)."""
MIN_CROPS_PER_CHUNK, MIN_TEXTS_PER_CHUNK = 256, 2048


def quiet(stage: str, done: int, total: int) -> None:
    """No-op progress callback."""


@dataclass(frozen=True)
class Engine:
    """Model, plan, feature cache and options of a run."""

    model: Model
    plan: Plan
    store: FeatureStore
    batch_size: int
    on_error: OnError = "stop"
    """What to do if an image is unreadable: raise an error (``stop``) or leave out its rows (``skip``)."""
    report: Report = quiet

    @cached_property
    def is_truncated(self) -> np.ndarray:
        """Whether the model truncates each text of the plan, (T,) bool. Raises TypeError if the model does not know."""
        reader, texts = self.model.encoder, self.plan.texts
        if not isinstance(reader, TruncatingReader):
            raise TypeError(f"{self.model.name} does not know which texts it truncates.")
        is_truncated_T = np.zeros(len(texts), dtype=bool)
        for chunk in text_chunks(texts, self.batch_size):
            is_truncated_T[chunk] = reader.find_truncated(texts[chunk])
        return is_truncated_T


@dataclass
class Encoded:
    """Cache keys of the plan's crops and texts, and the unreadable crops."""

    crop_keys: list[bytes] = field(default_factory=list)
    text_keys: list[bytes] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    """Error message of each unreadable crop, by its position in the plan."""
    images_encoded: int = 0
    texts_encoded: int = 0


def retry_with_smaller_batches(encode: Callable[[int], np.ndarray], batch_size: int) -> np.ndarray:
    """Return ``encode(batch_size)``. If the device runs out of memory, try again with half the batch size.

    Raises ValueError if a single item does not fit.
    """
    import torch

    while True:
        try:
            return encode(batch_size)
        except RuntimeError as error:  # the base class of torch.OutOfMemoryError
            if not isinstance(error, torch.OutOfMemoryError) and not OUT_OF_MEMORY.search(str(error)):
                raise
            if batch_size == 1:
                raise ValueError("The device has too little memory to encode a single item.") from None
        # Only here, since the error's traceback refers to the tensors of the failed batch.
        batch_size //= 2
        _empty_caches()


def _empty_caches() -> None:
    """Free the memory that PyTorch has reserved on the device."""
    import torch

    torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def crops_per_chunk(encoder: DualEncoder, batch_size: int) -> int:
    """Return the number of crops that are decoded, encoded and committed together.

    A user's own class (``python:module:Class``) gets whole images of up to several megabytes, so a chunk is one batch.
    """
    return batch_size if isinstance(encoder, CustomDualEncoder) else max(MIN_CROPS_PER_CHUNK, batch_size)


def encode(engine: Engine) -> Encoded:
    """Compute and store the missing features of the plan's crops and texts, and return the cache keys of all of them.

    Raises UnreadableImageError (a ValueError) if an image is unreadable and ``on_error`` is ``stop``.
    """
    encoder, crops, store = engine.model.encoder, engine.plan.crops, engine.store
    assert isinstance(encoder, DualEncoder)
    encoded = Encoded()
    unreadable: dict[bytes, str] = {}
    engine.report("images", 0, len(crops))
    chunks = plan.crop_chunks(crops, crops_per_chunk(encoder, engine.batch_size))
    for chunk in images.stream(crops, chunks, store.missing, encoder.preprocess):
        unreadable |= {chunk.keys[index]: message for index, message in chunk.errors.items()}
        if unreadable and engine.on_error == "stop":
            raise images.UnreadableImageError(next(iter(unreadable.values())))
        if chunk.missing:
            feature_ND = retry_with_smaller_batches(partial(encoder.encode_images, chunk.images), engine.batch_size)
            store.put(
                [chunk.keys[index] for index in chunk.missing],
                scale_to_unit_length(feature_ND, engine.model.name, "image"),
            )
            chunk.images.clear()  # before the next chunk is decoded
        for index, key in enumerate(chunk.keys):
            if key in unreadable:
                encoded.errors[chunk.start + index] = unreadable[key]
        encoded.crop_keys += chunk.keys
        encoded.images_encoded += len(chunk.missing)
        engine.report("images", chunk.start + len(chunk.keys), len(crops))
    encoded.text_keys, encoded.texts_encoded = encode_texts(
        engine.model, engine.plan.texts, store, engine.batch_size, engine.report
    )
    return encoded


def encode_texts(
    model: Model,
    texts: Sequence[str],
    store: FeatureStore,
    batch_size: int,
    report: Report = quiet,
) -> tuple[list[bytes], int]:
    """Compute and store the missing features of texts. Returns all cache keys and the number of newly encoded texts."""
    encoder, keys, encoded = model.encoder, [], 0
    assert isinstance(encoder, TextEncoder)
    report("texts", 0, len(texts))
    for chunk in text_chunks(texts, batch_size):
        chunk_keys = [text_key(text) for text in texts[chunk]]
        todo = {chunk_keys[index]: texts[chunk][index] for index in store.missing(chunk_keys)}
        if todo:
            feature_TD = retry_with_smaller_batches(partial(encoder.encode_texts, list(todo.values())), batch_size)
            store.put(list(todo), scale_to_unit_length(feature_TD, model.name, "text"))
        keys += chunk_keys
        encoded += len(todo)
        report("texts", chunk.stop, len(texts))
    return keys, encoded


def text_chunks(texts: Sequence[str], batch_size: int) -> list[slice]:
    """Return the chunks of texts that are encoded and committed together."""
    return plan.chunks(len(texts), max(MIN_TEXTS_PER_CHUNK, batch_size))


def text_key(text: str) -> bytes:
    """Return the key of a text in the feature cache."""
    return digest(b"text", text.encode())
