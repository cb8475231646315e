"""Encode the crops and texts of a plan into the feature cache.

Each distinct crop and text of all tasks is encoded once per model, even over several runs. Each image is decoded once.
Features are committed chunk by chunk: if a run is killed at any moment, the next run encodes only what is missing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, groupby
from typing import Any

import numpy as np

from compeval.evaluators.engine import images, plan
from compeval.evaluators.engine.compute import (
    READ_AHEAD_BYTES,
    Chunk,
    ComputeChunks,
    OnError,
    compute_here,
    uses_worker_processes,
)
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.images import ImageCrops, ImageFile, UnreadableImageError
from compeval.evaluators.engine.plan import Plan
from compeval.evaluators.models import DualEncoder, Model, TruncatingReader
from compeval.evaluators.models.fingerprint import digest
from compeval.evaluators.models.pixels import keep_image

Report = Callable[[str, int, int], None]
"""Progress callback with the arguments stage, number of items done, total number of items."""
MIN_CROPS_PER_CHUNK, MIN_TEXTS_PER_CHUNK = 256, 2048
MAX_WHOLE_IMAGES = 64
KEPT_BYTES = 50_000_000
"""Image files of a chunk that are kept between hashing and decoding. The others are read twice."""


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
    """What to do if an image is unreadable: raise an error (``stop``) or leave out its rows (``skip``)."""
    report: Report = no_progress
    remote: ComputeChunks | None = None
    """Computes the chunks on the actors of a cluster; None to compute them in this process."""
    in_processes: bool = False
    """Whether processes prepare the images."""
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

    def compute_missing(self, chunks: Iterable[Chunk]) -> None:
        """Compute the chunks and store the results in the feature cache.

        Raises UnreadableImageError (a ValueError) if an image is unreadable and ``on_error`` is ``stop``.
        """
        compute = self.remote or partial(compute_here, self.model, self.in_processes)
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(int)
            for chunk, results in compute(
                self._skip_cached(chunks), self.batch_size, self.on_error
            ):
                by_key = dict(zip(chunk.keys, results, strict=True))
                computed = {
                    key: result for key, result in by_key.items() if isinstance(result, np.ndarray)
                }
                self.errors.update(
                    (key, str(by_key[key])) for key in by_key.keys() - computed.keys()
                )
                written.result()
                if computed:
                    written = writer.submit(
                        self.store.put, list(computed), np.stack(list(computed.values()))
                    )
                self.counts[chunk.stage] += len(computed)
                self.report(chunk.stage, chunk.part.stop, chunk.total)
            written.result()

    def _skip_cached(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        encoder: Any = self.model.encoder
        gets_whole_images = getattr(encoder, "preprocess", None) is keep_image
        for chunk in chunks:
            if chunk.keys and chunk.method != "encode_texts" and gets_whole_images:
                yield from split_by_memory(chunk)
            elif chunk.keys:
                yield chunk
            else:
                self.report(chunk.stage, chunk.part.stop, chunk.total)

    @cached_property
    def is_truncated(self) -> np.ndarray:
        """Whether the model, a TruncatingReader, truncates each text of the plan, (T,) bool."""
        reader, texts = self.model.encoder, self.plan.texts
        assert isinstance(reader, TruncatingReader)
        parts = [reader.find_truncated(texts[part]) for part in _text_parts(texts, self.batch_size)]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])


def encode(engine: Engine) -> tuple[list[bytes], list[bytes]]:
    """Compute and store the missing features of the plan's crops and texts, or of its texts for a text encoder.

    Images and texts take turns if processes prepare images, so that a GPU encodes texts meanwhile. Returns the cache
    keys of the crops and of the texts.
    """
    crop_keys: list[bytes] = []
    text_keys: list[bytes] = []
    encoder, stages = engine.model.encoder, [_list_text_chunks(engine, text_keys)]
    if isinstance(encoder, DualEncoder) and engine.plan.crops:
        stages = [_list_image_chunks(engine, crop_keys), *stages]
    by_progress = heapq.merge(*stages, key=lambda chunk: chunk.part.start / chunk.total)
    engine.compute_missing(by_progress if engine.in_processes else chain(*stages))
    return crop_keys, text_keys


def encode_texts(
    model: Model,
    texts: Sequence[str],
    store: FeatureStore,
    batch_size: int,
    report: Report = no_progress,
) -> None:
    """Compute and store the missing features of distinct texts."""
    in_processes = uses_worker_processes(model.encoder)
    encode(
        Engine(
            model,
            Plan((), (), tuple(texts)),
            store,
            batch_size,
            report=report,
            in_processes=in_processes,
        )
    )


def _list_image_chunks(engine: Engine, crop_keys: list[bytes]) -> Iterator[Chunk]:
    """Yield the crops whose features are missing, and append the keys of all crops to ``crop_keys``.

    A crop with the same pixels as an earlier one is not encoded again, whether or not the earlier one is finished.
    """
    crops = engine.plan.crops
    engine.report("images", 0, len(crops))
    for part in plan.crop_chunks(crops, crops_per_chunk(engine.model.encoder, engine.batch_size)):
        keys, files, kept_bytes = [], list[ImageFile | None](), 0
        for crop, file in zip(crops[part], images.read(crops[part]), strict=True):
            keys.append(images.key(file, crop))
            if isinstance(file, bytes) and not (files and file is files[-1]):
                kept_bytes += len(file)
            is_cell = (
                engine.in_processes and crop.reference is None
            )  # a worker would read its whole row group again
            is_kept = (
                engine.remote
                or is_cell
                or kept_bytes <= KEPT_BYTES
                or isinstance(file, UnreadableImageError)
            )
            files.append(file if is_kept else None)
        missing = engine.take_missing(keys)
        groups = groupby(missing, key=lambda index: (id(files[index]), crops[part][index].image))
        items = [
            ImageCrops(files[indices[0]], [crops[part][index] for index in indices])
            for indices in (list(group) for _, group in groups)
        ]
        crop_keys += keys
        yield Chunk(
            "images", "encode_images", [keys[index] for index in missing], items, part, len(crops)
        )


def _list_text_chunks(engine: Engine, text_keys: list[bytes]) -> Iterator[Chunk]:
    """Yield the texts whose features are missing, and append the keys of all texts to ``text_keys``."""
    texts = engine.plan.texts
    engine.report("texts", 0, len(texts))
    for part in _text_parts(texts, engine.batch_size):
        keys = [text_key(text) for text in texts[part]]
        missing = engine.take_missing(keys)
        text_keys += keys
        items = [[texts[part][index] for index in missing]]
        yield Chunk(
            "texts", "encode_texts", [keys[index] for index in missing], items, part, len(texts)
        )
    encoder = engine.model.encoder
    tells_truncated = isinstance(encoder, TruncatingReader) and hasattr(encoder, "tokenize")
    if engine.in_processes and engine.plan.tasks and tells_truncated:
        _ = engine.is_truncated  # now, in the thread that tokenises, since nothing waits for it


def split_by_memory(chunk: Chunk, limit: int = READ_AHEAD_BYTES) -> Iterator[Chunk]:
    """Yield the parts of a chunk whose decoded images take at most ``limit`` bytes, or that have a single image.

    A file of 10 kB can have 100 million pixels. The parts do not depend on those that are finished, since each of them
    begins where the one before ends.
    """
    start, size = 0, 0
    starts, positions = [0], [0]  # of items and of keys
    num_keys = 0
    for number, item in enumerate(chunk.items):
        assert isinstance(item, ImageCrops)
        num_bytes = images.measure_decoded(item)
        if number > start and size + num_bytes > limit:
            starts.append(number)
            positions.append(num_keys)
            start, size = number, 0
        size += num_bytes
        num_keys += len(item.keys) or len(item.crops)
    stops = [*starts[1:], len(chunk.items)], [*positions[1:], len(chunk.keys)]
    for first, last, first_key, last_key in zip(starts, stops[0], positions, stops[1], strict=True):
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


def text_key(text: str) -> bytes:
    """Return the key of a text in the feature cache."""
    return digest(b"text", text.encode())
