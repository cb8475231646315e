"""Run a model on chunks of images, texts or questions: prepare the inputs in threads, then compute in batches."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from evaluators.engine.images import ImageFile, UnreadableImageError, preprocess_crops
from evaluators.engine.task_dataset import CropSource
from evaluators.models import CaptionChooser, Model
from evaluators.models.batches import scale_to_unit_length

NUM_THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
READ_AHEAD_BYTES = 500_000_000
"""The next chunk is decoded ahead if its preprocessed images take no more."""
OUT_OF_MEMORY = re.compile(r"out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED", re.IGNORECASE)
"""Messages of other errors that also mean that the device is out of memory (MPS, cuBLAS, cuDNN)."""

OnError = Literal["stop", "skip"]
Results = list[np.ndarray | UnreadableImageError]
"""A feature (D,), a score (1,), or the error of an unreadable image, for each key of a chunk."""
Question = tuple[str, ...]
"""One caption, or two captions to choose from in this order."""


class ImageCrops(NamedTuple):
    """Crops to encode of one source image."""

    file: ImageFile
    crops: list[CropSource]


class AskedImage(NamedTuple):
    """A crop, the questions about it, and their keys in the cache."""

    file: ImageFile
    crop: CropSource
    questions: list[Question]
    keys: list[bytes]


class Chunk(NamedTuple):
    """Images, texts or questions that are computed together and stored in one transaction."""

    stage: str
    """``images``, ``texts`` or the name of a task, for the progress callback."""
    method: Literal["encode_images", "encode_texts", "score"]
    keys: list[bytes]
    """Keys of what the cache lacks."""
    items: Sequence[ImageCrops | AskedImage | Sequence[str]]
    """What the keys stand for, in the same order: each item is one image, or several texts."""
    part: slice
    """Part of the stage that the chunk covers, including what is in the cache."""
    total: int
    """Length of the whole stage."""


ComputeChunks = Callable[[Iterable[Chunk], int, OnError], Iterator[tuple[Chunk, Results]]]
"""A function that computes chunks, in any order, given the batch size and what to do if an image is unreadable."""


class Pair(NamedTuple):
    crop: CropSource
    image: Any
    """Preprocessed."""
    text: Any
    """A caption, or two captions to choose from."""


def compute_here(
    model: Model, chunks: Iterable[Chunk], batch_size: int, on_error: OnError
) -> Iterator[tuple[Chunk, Results]]:
    """Yield the chunks with their results, computed in this process."""
    pool = ThreadPoolExecutor(NUM_THREADS)
    try:
        for chunk, inputs in _prepare_ahead(pool, model.encoder, chunks):
            results = compute(model, chunk.method, inputs, batch_size, on_error)
            inputs.clear()  # before the next chunk is decoded
            yield chunk, results
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_ahead(
    pool: ThreadPoolExecutor, encoder: Any, chunks: Iterable[Chunk]
) -> Iterator[tuple[Chunk, list[Any]]]:
    """Yield the chunks with their inputs, which are prepared in threads.

    While the caller encodes the images of one chunk, those of the next one are decoded, unless a chunk takes more than
    READ_AHEAD_BYTES. Other chunks are not prepared ahead, because tokenisers are not thread-safe.
    """
    pending: deque[tuple[Chunk, list[Future[list[Any]]]]] = deque()
    num_ahead = 0  # the size of a chunk is unknown before the first one
    for chunk in chunks:
        pending.append((chunk, [pool.submit(prepare, encoder, chunk.method, item) for item in chunk.items]))
        while len(pending) > num_ahead:
            chunk, inputs = _collect(*pending.popleft())
            chunk_bytes = max(map(_size, inputs), default=0) * (chunk.part.stop - chunk.part.start)
            num_ahead = int(chunk.method == "encode_images" and chunk_bytes <= READ_AHEAD_BYTES)
            yield chunk, inputs
    while pending:
        yield _collect(*pending.popleft())


def _collect(chunk: Chunk, futures: Sequence[Future[list[Any]]]) -> tuple[Chunk, list[Any]]:
    return chunk, [value for future in futures for value in future.result()]


def _size(preprocessed: Any) -> int:
    """Return the size in bytes of a preprocessed image, which may be a tensor, a dict of tensors, or an image."""
    if isinstance(preprocessed, Image.Image):
        return 3 * preprocessed.width * preprocessed.height
    if isinstance(preprocessed, dict):
        return sum(map(_size, preprocessed.values()))
    return getattr(preprocessed, "nbytes", 0)


def prepare(encoder: Any, method: str, item: Any) -> list[Any]:
    """Return the inputs of an item: preprocessed crops, pairs of image and text, or texts.

    The error of an unreadable image takes the place of each of its inputs.
    """
    if method == "encode_images":
        return preprocess_crops(encoder.preprocess, item.file, item.crops)
    if method == "encode_texts":
        return list(item)
    (image,) = preprocess_crops(encoder.preprocess, item.file, [item.crop])
    if isinstance(image, UnreadableImageError):
        return [image] * len(item.questions)
    chooses = isinstance(encoder, CaptionChooser)
    return [Pair(item.crop, image, question if chooses else question[0]) for question in item.questions]


def compute(model: Model, method: str, inputs: Sequence[Any], batch_size: int, on_error: OnError) -> Results:
    """Return the unit-length feature or the score of each input, or its error if the image is unreadable.

    Raises the first error if ``on_error`` is ``stop``, and ValueError for features or scores that are not finite.
    """
    results: Results = list(inputs)
    positions = [index for index, value in enumerate(inputs) if not isinstance(value, UnreadableImageError)]
    if len(positions) < len(inputs) and on_error == "stop":
        raise next(value for value in inputs if isinstance(value, UnreadableImageError))
    if positions:
        run = partial(_score if method == "score" else _encode, model, method, [inputs[index] for index in positions])
        for index, value in zip(positions, retry_with_smaller_batches(run, batch_size), strict=True):
            results[index] = value
    return results


def _encode(model: Model, method: str, inputs: Sequence[Any], batch_size: int) -> np.ndarray:
    feature_ND = getattr(model.encoder, method)(inputs, batch_size)
    return scale_to_unit_length(feature_ND, model.name, "image" if method == "encode_images" else "text")


def _score(model: Model, method: str, pairs: Sequence[Pair], batch_size: int) -> np.ndarray:
    """Return the scores (M, 1) float64 of pairs. Raises ValueError, which names the row, if one is not finite."""
    encoder: Any = model.encoder
    images, texts = [pair.image for pair in pairs], [pair.text for pair in pairs]
    scores = [encoder.score(images[batch], texts[batch]) for batch in batches_of_whole_images(images, batch_size)]
    score_M = np.concatenate([np.asarray(score_B, np.float64).ravel() for score_B in scores])
    if not np.isfinite(score_M).all():
        raise ValueError(
            f"{pairs[int(np.argmin(np.isfinite(score_M)))].crop}: {model.name} returned a score that is not a finite "
            "number. Check the weights, or try `--precision fp32`."
        )
    return score_M[:, None]


def batches_of_whole_images(images: Sequence[Any], size: int) -> list[slice]:
    """Return batches of at most ``size`` consecutive pairs. The pairs of an image are split only if they exceed it."""
    starts = [index for index in range(len(images)) if index == 0 or images[index] is not images[index - 1]]
    batches: list[slice] = []
    for start, stop in zip(starts, [*starts[1:], len(images)], strict=True):
        if batches and stop - batches[-1].start <= size:
            batches[-1] = slice(batches[-1].start, stop)
        else:
            batches += [slice(first, min(first + size, stop)) for first in range(start, stop, size)]
    return batches


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
        torch.cuda.empty_cache()
        if torch.backends.mps.is_available():
            torch.mps.empty_cache()
