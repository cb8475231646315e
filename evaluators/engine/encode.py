"""Compute what the feature cache lacks: ``Engine.compute_missing`` for chunks of any kind, and the chunks of features.

Each distinct crop and text of all tasks is encoded once per model, even over several runs. Each image is decoded once.
Features are committed chunk by chunk: if a run is killed at any moment, the next run encodes only what is missing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from compeval.evaluators.engine import images, plan
from compeval.evaluators.engine.compute import (
    READ_AHEAD_BYTES,
    Chunk,
    OnError,
    compute_here,
    start_server_for_gpu,
)
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.images import ImageCrops, UnreadableImageError
from compeval.evaluators.engine.plan import Plan
from compeval.evaluators.models import DualEncoder, Model, TruncatingReader
from compeval.evaluators.models.fingerprint import digest_each
from compeval.evaluators.models.pixels import keep_image

if TYPE_CHECKING:
    from compeval.evaluators.engine.cluster import Cluster

Report = Callable[[str, int, int], None]
"""Progress callback with the arguments stage, number of items done, total number of items."""
MIN_CROPS_PER_CHUNK = 256
MIN_TEXTS_PER_CHUNK = 2048
MAX_WHOLE_IMAGES = 64


def no_progress(stage: str, done: int, total: int) -> None:
    """No-op progress callback."""


@dataclass(frozen=True)
class Engine:
    """Model, plan, feature cache and options of a run, and what the run has computed."""

    model: Model
    plan: Plan
    store: FeatureStore
    batch_size: int
    on_error: OnError = "stop"
    """``stop`` raises an error if an image is unreadable, ``skip`` leaves out its rows."""
    report: Report = no_progress
    cluster: Cluster | None = None
    """Computes the chunks on its actors; None to compute them in this process."""
    in_processes: bool = False
    """True if processes prepare the images."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of features and scores that were computed, by stage."""
    errors: dict[bytes, str] = field(default_factory=dict)
    """Error messages of unreadable images, by the keys of their features or scores."""
    claimed: set[bytes] = field(default_factory=set)
    """Keys of all features and scores that are computed in this run."""

    def take_missing(self, keys: Sequence[bytes]) -> list[int]:
        """Return the positions of distinct keys that are neither stored nor claimed, and claim these keys."""
        missing = [index for index in self.store.missing(keys) if keys[index] not in self.claimed]
        first = {keys[index]: index for index in reversed(missing)}
        self.claimed.update(first)
        return sorted(first.values())

    def compute_missing(self, chunks: Iterable[Chunk]) -> dict[str, list[Any]]:
        """Compute the chunks, and store their results in the feature cache.

        Returns the keys of all inputs of each stage, in their order. Raises UnreadableImageError (a ValueError) if an
        image is unreadable and ``on_error`` is ``stop``.
        """
        if self.cluster:
            computed = self.cluster.compute(chunks, self.batch_size, self.on_error)
        else:
            computed = compute_here(
                self.model, self.in_processes, chunks, self.batch_size, self.on_error
            )
        keys: dict[str, list[Any]] = {}
        writing: Future[None] | None = None
        with ThreadPoolExecutor(1) as writer:
            # In the plan's order; of a cluster, in any order.
            for chunk, results in computed:
                keys.setdefault(chunk.stage, [None] * chunk.total)[chunk.part] = chunk.all_keys
                values: dict[bytes, np.ndarray] = {}
                for key, result in zip(chunk.keys, results, strict=True):
                    if isinstance(result, UnreadableImageError):
                        self.errors[key] = str(result)
                    else:
                        values[key] = result
                # One chunk is written while the next one is computed.
                if writing:
                    writing.result()
                writing = None
                if values:
                    writing = writer.submit(
                        self.store.put, list(values), np.stack(list(values.values()))
                    )
                self.counts[chunk.stage] += len(values)
                self.report(chunk.stage, chunk.part.stop, chunk.total)
            if writing:
                writing.result()
        return keys

    @cached_property
    def is_truncated(self) -> np.ndarray:
        """True for each text of the plan that the model, a TruncatingReader, truncates, (T,) bool."""
        reader: Any = self.model.encoder
        texts = self.plan.texts
        parts = [reader.find_truncated(texts[part]) for part in _text_parts(texts, self.batch_size)]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])


def encode(engine: Engine) -> tuple[list[bytes], list[bytes]]:
    """Compute and store the missing features of the plan's crops and texts, or of its texts for a text encoder.

    Returns the cache keys of the crops and of the texts.
    """
    chunks = _list_text_chunks(engine)
    if isinstance(engine.model.encoder, DualEncoder) and engine.plan.crops:
        image_chunks = _list_image_chunks(engine)
        if engine.in_processes:
            # Images and texts take turns, so that a GPU encodes texts while processes prepare images.
            chunks = heapq.merge(
                image_chunks, chunks, key=lambda chunk: chunk.part.start / chunk.total
            )
        else:
            chunks = chain(image_chunks, chunks)
    keys = engine.compute_missing(chunks)
    return keys.get("images", []), keys.get("texts", [])


def encode_texts(
    model: Model,
    texts: Sequence[str],
    store: FeatureStore,
    batch_size: int,
    report: Report = no_progress,
) -> None:
    """Compute and store the missing features of distinct texts."""
    in_processes = start_server_for_gpu(model.encoder)
    planned = Plan((), (), tuple(texts))
    encode(Engine(model, planned, store, batch_size, report=report, in_processes=in_processes))


def _list_image_chunks(engine: Engine) -> Iterator[Chunk]:
    """Yield chunks of the crops whose features are missing.

    A crop with the same pixels as an earlier one is not encoded again, whether or not the earlier one is finished.
    """
    crops = engine.plan.crops
    engine.report("images", 0, len(crops))
    for part in plan.crop_chunks(crops, crops_per_chunk(engine.model.encoder, engine.batch_size)):
        # A worker would read the whole row group of a cell again, and an actor has no files.
        is_kept = [
            bool(engine.cluster) or (engine.in_processes and crop.reference is None)
            for crop in crops[part]
        ]
        keys, files = images.read_with_keys(crops[part], is_kept)
        missing = engine.take_missing(keys)
        items: list[ImageCrops] = []
        # Crops of one image are decoded together.
        for _, group in groupby(
            missing, key=lambda index: (id(files[index]), crops[part][index].image)
        ):
            indices = list(group)
            items.append(ImageCrops(files[indices[0]], [crops[part][index] for index in indices]))
        missing_keys = [keys[index] for index in missing]
        chunk = Chunk("images", "encode_images", missing_keys, items, part, len(crops), keys)
        yield from split_whole_images(engine, chunk)


def _list_text_chunks(engine: Engine) -> Iterator[Chunk]:
    """Yield chunks of the texts whose features are missing."""
    texts = engine.plan.texts
    engine.report("texts", 0, len(texts))
    for part in _text_parts(texts, engine.batch_size):
        keys = make_text_keys(texts[part])
        missing = engine.take_missing(keys)
        items = [[texts[part][index] for index in missing]] if missing else []
        missing_keys = [keys[index] for index in missing]
        yield Chunk("texts", "encode_texts", missing_keys, items, part, len(texts), keys)
    if engine.in_processes and engine.plan.tasks:
        encoder = engine.model.encoder
        if hasattr(encoder, "tokenize") and isinstance(encoder, TruncatingReader):
            _ = engine.is_truncated  # now, in the thread that tokenises, since nothing waits for it


def split_whole_images(engine: Engine, chunk: Chunk) -> Iterator[Chunk]:
    """Yield the parts of a chunk by the memory of its images, if the model gets whole images; otherwise the chunk."""
    if getattr(engine.model.encoder, "preprocess", None) is keep_image:
        yield from split_by_memory(chunk)
    else:
        yield chunk


def split_by_memory(chunk: Chunk, limit: int = READ_AHEAD_BYTES) -> Iterator[Chunk]:
    """Yield the parts of a chunk whose decoded images take at most ``limit`` bytes, or that have a single image.

    A file of 10 kB can have 100 million pixels. The parts do not depend on those that are finished, since each of them
    begins where the one before ends.
    """
    start = 0
    size = 0
    # Positions of each part's first item and of its first key.
    starts = [0]
    key_starts = [0]
    num_keys = 0
    for number, item in enumerate(chunk.items):
        assert isinstance(item, ImageCrops)
        num_bytes = images.measure_decoded(item)
        if number > start and size + num_bytes > limit:
            starts.append(number)
            key_starts.append(num_keys)
            start = number
            size = 0
        size += num_bytes
        num_keys += len(item.keys) or len(item.crops)
    item_parts = pairwise([*starts, len(chunk.items)])
    key_parts = pairwise([*key_starts, len(chunk.keys)])
    for (first, last), (first_key, last_key) in zip(item_parts, key_parts, strict=True):
        yield chunk._replace(items=chunk.items[first:last], keys=chunk.keys[first_key:last_key])


def crops_per_chunk(encoder: Any, batch_size: int) -> int:
    """Return the number of crops that are decoded, encoded and committed together.

    A user's own class (``python:module:Class``) gets whole images. One of a camera takes 36 MB, so chunks are small.
    """
    if getattr(encoder, "gets_whole_images", False):
        return min(MAX_WHOLE_IMAGES, batch_size)
    return max(MIN_CROPS_PER_CHUNK, batch_size)


def _text_parts(texts: Sequence[str], batch_size: int) -> list[slice]:
    """Return the parts of texts that are encoded and committed together."""
    return plan.chunks(len(texts), max(MIN_TEXTS_PER_CHUNK, batch_size))


def make_text_keys(texts: Sequence[str]) -> list[bytes]:
    """Return the keys of texts in the feature cache."""
    return digest_each([(b"text", text.encode()) for text in texts])
