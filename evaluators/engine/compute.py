"""Run a model on chunks of images, texts or questions: prepare the inputs ahead, then compute in batches.

Threads prepare the inputs or, for a model on a GPU, processes (``workers``). On a CPU, the model itself uses all
processors, and threads begin at once.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from compeval.evaluators.engine.images import (
    ImageCrops,
    Question,
    UnreadableImageError,
    preprocess_crops,
)
from compeval.evaluators.engine.task_dataset import CropSource
from compeval.evaluators.engine.workers import Workers, find_process_blocker, start_server
from compeval.evaluators.models import Model
from compeval.evaluators.models.batches import scale_to_unit_length

NUM_THREADS = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
READ_AHEAD_BYTES = 500_000_000
"""The next chunks are decoded ahead if their preprocessed images take no more."""
CHUNKS_AHEAD, CHUNKS_AHEAD_OF_GPU = 1, 4
"""Most chunks that are prepared ahead by threads, and by processes."""
CHUNKS_READ_AHEAD, CHUNKS_COMPUTED_AHEAD = 3, 2
"""Most chunks whose files are read before they are prepared, and that a GPU gets before results are waited for."""
OUT_OF_MEMORY = re.compile(
    r"out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED", re.IGNORECASE
)
"""Messages of other errors that also mean that the device is out of memory (MPS, cuBLAS, cuDNN)."""

OnError = Literal["stop", "skip"]
Results = list[np.ndarray | UnreadableImageError]
"""A feature (D,), a score (1,), or the error of an unreadable image, for each key of a chunk."""


class Chunk(NamedTuple):
    """Images, texts or questions that are computed together and stored in one transaction."""

    stage: str
    """``images``, ``texts`` or the name of a task, for the progress callback."""
    method: Literal["encode_images", "encode_texts", "score"]
    keys: list[bytes]
    """Keys of what the cache lacks."""
    items: Sequence[ImageCrops | Sequence[Any]]
    """What the keys stand for, in the same order: each item is one image, or several texts or their tokens."""
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
    text: Question


def is_on_cpu(encoder: Any) -> bool:
    """Return True if a model computes on processors, or has no attribute ``device``."""
    return str(getattr(encoder, "device", "cpu")).partition(":")[0] == "cpu"


def uses_worker_processes(encoder: Any) -> bool:
    """Return True if processes prepare the images: for a GPU. If the transform cannot run there, log the reason.

    The server that forks the processes begins to import what they need.
    """
    if is_on_cpu(encoder) or not hasattr(encoder, "preprocess"):
        return False
    if reason := find_process_blocker(encoder.preprocess):
        logging.getLogger(__name__).info("Threads prepare the images: %s.", reason)
        return False
    start_server(encoder.preprocess)
    return True


def compute_here(
    model: Model, in_processes: bool, chunks: Iterable[Chunk], batch_size: int, on_error: OnError
) -> Iterator[tuple[Chunk, Results]]:
    """Yield the chunks with their results, computed in this process.

    If processes prepare the images, a thread reads files and tokenises, and the GPU gets the next chunks before the
    results of a chunk are waited for.
    """
    encoder: Any = model.encoder
    pool = (
        Workers(encoder.preprocess, NUM_THREADS)
        if in_processes
        else ThreadPoolExecutor(NUM_THREADS)
    )
    computed: deque[tuple[Chunk, Callable[[], Results]]] = deque()
    reader = ThreadPoolExecutor(1)
    chunks = _read_ahead(reader, iter(chunks), encoder) if in_processes else chunks
    try:
        for chunk, inputs in _prepare_ahead(pool, encoder, chunks):
            computed.append(
                (chunk, start_computing(model, chunk.method, inputs, batch_size, on_error))
            )
            inputs.clear()  # before the next chunk is decoded
            overlaps = in_processes and hasattr(encoder, chunk.method.replace("encode", "start"))
            while len(computed) > CHUNKS_COMPUTED_AHEAD * overlaps:
                chunk, get_results = computed.popleft()
                yield chunk, get_results()
        for chunk, get_results in computed:
            yield chunk, get_results()
    except BrokenProcessPool:
        raise ValueError(
            "A process that prepares images died. If the machine has too little memory, use a smaller --batch-size. If "
            "the transform is made at run time, put it into a module that can be imported. Finished work is kept."
        ) from None
    finally:
        for executor in (reader, pool):
            executor.shutdown(cancel_futures=True)


def _read_ahead(reader: Executor, chunks: Iterator[Chunk], encoder: Any) -> Iterator[Chunk]:
    """Yield the chunks. The files of the next ones are read and hashed in a thread, and their texts tokenised."""

    def read() -> Chunk | None:
        chunk = next(chunks, None)
        if chunk and chunk.method == "encode_texts" and hasattr(encoder, "tokenize"):
            return chunk._replace(items=[encoder.tokenize(texts) for texts in chunk.items])
        return chunk

    following, most_bytes = deque([reader.submit(read)]), 1
    while (chunk := following.popleft().result()) is not None:
        files = (getattr(item, "file", None) for item in chunk.items)
        most_bytes = max(most_bytes, sum(len(file) for file in files if isinstance(file, bytes)))
        while len(following) < max(1, min(CHUNKS_READ_AHEAD, READ_AHEAD_BYTES // most_bytes)):
            following.append(reader.submit(read))
        yield chunk


def _prepare_ahead(
    pool: Executor, encoder: Any, chunks: Iterable[Chunk]
) -> Iterator[tuple[Chunk, list[Any]]]:
    """Yield the chunks with their inputs, which are prepared in the pool.

    While the caller encodes the images of one chunk, those of the next ones are decoded, unless they take more than
    READ_AHEAD_BYTES. Threads do not prepare questions ahead, because tokenisers are not thread-safe.
    """
    pending: deque[tuple[Chunk, Callable[[], list[Any]]]] = deque()
    most = CHUNKS_AHEAD_OF_GPU if isinstance(pool, Workers) else CHUNKS_AHEAD
    num_ahead = 0  # the size of a chunk is unknown before the first one
    for chunk in chunks:
        pending.append((chunk, start_preparing(pool, encoder, chunk)))
        while len(pending) > num_ahead:
            chunk, collect = pending.popleft()
            inputs = collect()
            del collect  # which holds the pixels
            if chunk.method == "encode_images" or (chunk.method == "score" and most > CHUNKS_AHEAD):
                chunk_bytes = max(map(_size, inputs), default=0) * (
                    chunk.part.stop - chunk.part.start
                )
                num_ahead = min(most, READ_AHEAD_BYTES // max(1, chunk_bytes))
            yield chunk, inputs
    for chunk, collect in pending:
        yield chunk, collect()


def start_preparing(pool: Executor, encoder: Any, chunk: Chunk) -> Callable[[], list[Any]]:
    """Start to prepare a chunk in threads or ``Workers``. Returns a function that returns its inputs.

    These are preprocessed crops, pairs of image and text, or texts. The error of an unreadable image takes the place of
    each of its inputs.
    """
    items: Sequence[Any] = chunk.items
    if chunk.method == "encode_texts":
        return lambda: list(chain.from_iterable(items))
    if isinstance(pool, Workers):
        get_images = pool.submit_images(items)
    else:
        parts = pool.map(partial(preprocess_crops, encoder.preprocess), items)
        get_images = partial(list, chain.from_iterable(parts))
    if chunk.method == "encode_images":
        return get_images
    return lambda: [
        image if isinstance(image, UnreadableImageError) else Pair(item.crops[0], image, question)
        for item, image in zip(items, get_images(), strict=True)
        for question in item.questions
    ]


def _size(preprocessed: Any) -> int:
    """Return the size in bytes of a preprocessed image, which may be a tensor, a dict of tensors, or an image."""
    if isinstance(preprocessed, Pair):
        return _size(preprocessed.image)
    if isinstance(preprocessed, Image.Image):
        return 3 * preprocessed.width * preprocessed.height
    if isinstance(preprocessed, dict):
        return sum(map(_size, preprocessed.values()))
    return getattr(preprocessed, "nbytes", 0)


def start_computing(
    model: Model, method: str, inputs: Sequence[Any], batch_size: int, on_error: OnError
) -> Callable[[], Results]:
    """Start to compute. Returns a function that waits for the unit-length feature or the score of each input.

    The error of an unreadable image takes the place of its results; raises the first one if ``on_error`` is ``stop``.
    The returned function raises ValueError for features that are not finite.
    """
    positions = [
        index for index, value in enumerate(inputs) if not isinstance(value, UnreadableImageError)
    ]
    if len(positions) < len(inputs) and on_error == "stop":
        raise next(value for value in inputs if isinstance(value, UnreadableImageError))
    # Without the inputs, so that their memory is free before the results are needed.
    results: Results = [
        value if isinstance(value, UnreadableImageError) else np.empty(0) for value in inputs
    ]
    if not positions:
        return lambda: results
    run = partial(
        _score if method == "score" else _encode,
        model,
        method,
        [inputs[index] for index in positions],
    )
    get_values = start_copy(retry_with_smaller_batches(run, batch_size))

    def get_results() -> Results:
        values = get_values()
        if method != "score":
            values = scale_to_unit_length(
                values, model.name, "image" if method == "encode_images" else "text"
            )
        for index, value in zip(positions, values, strict=True):
            results[index] = value
        return results

    return get_results


def start_copy(value_ND: Any) -> Callable[[], np.ndarray]:
    """Start to copy features from the model's device. Returns a function that waits for them, but for no later work.

    A GPU copies to pinned memory, in order with what it computes.
    """
    if isinstance(value_ND, np.ndarray):
        return lambda: value_ND
    copied = value_ND.float().to(
        "cpu", non_blocking=value_ND.is_cuda
    )  # to pinned memory if it does not block
    if not value_ND.is_cuda:
        return copied.numpy
    import torch

    is_copied = torch.cuda.Event()
    is_copied.record(torch.cuda.current_stream(value_ND.device))

    def wait() -> np.ndarray:
        is_copied.synchronize()
        return copied.numpy()

    return wait


def _encode(model: Model, method: str, inputs: Sequence[Any], batch_size: int) -> Any:
    """Return features (N, D); of a model of open_clip on a GPU, a tensor that the GPU still computes."""
    start: Any = (
        None
        if is_on_cpu(model.encoder)
        else getattr(model.encoder, method.replace("encode", "start"), None)
    )
    return (start or getattr(model.encoder, method))(inputs, batch_size)


def _score(model: Model, method: str, pairs: Sequence[Pair], batch_size: int) -> np.ndarray:
    """Return the scores (M, 1) float64 of pairs. Raises ValueError, which names the row, if one is not finite."""
    encoder: Any = model.encoder
    images, texts = [pair.image for pair in pairs], [pair.text for pair in pairs]
    scores = [
        encoder.score(images[batch], texts[batch])
        for batch in batches_of_whole_images(images, batch_size)
    ]
    score_M = np.concatenate([np.asarray(score_B, np.float64).ravel() for score_B in scores])
    if not np.isfinite(score_M).all():
        raise ValueError(
            f"{pairs[int(np.argmin(np.isfinite(score_M)))].crop}: {model.name} returned a score that is not a finite "
            "number. Check the weights; in 16 bits, try fp32 (--precision)."
        )
    return score_M[:, None]


def batches_of_whole_images(images: Sequence[Any], size: int) -> list[slice]:
    """Return batches of at most ``size`` consecutive pairs. The pairs of an image are split only if they exceed it."""
    starts = [
        index
        for index in range(len(images))
        if index == 0 or images[index] is not images[index - 1]
    ]
    batches: list[slice] = []
    for start, stop in zip(starts, [*starts[1:], len(images)], strict=True):
        if batches and stop - batches[-1].start <= size:
            batches[-1] = slice(batches[-1].start, stop)
        else:
            batches += [slice(first, min(first + size, stop)) for first in range(start, stop, size)]
    return batches


def retry_with_smaller_batches(encode: Callable[[int], Any], batch_size: int) -> Any:
    """Return ``encode(batch_size)``. If the device runs out of memory, try again with half the batch size.

    Raises ValueError if a single item does not fit.
    """
    import torch

    while True:
        try:
            return encode(batch_size)
        except RuntimeError as error:  # the base class of torch.OutOfMemoryError
            if not isinstance(error, torch.OutOfMemoryError) and not OUT_OF_MEMORY.search(
                str(error)
            ):
                raise
            if batch_size == 1:
                raise ValueError(
                    "The device has too little memory to encode a single item."
                ) from None
        # Only here, since the error's traceback refers to the tensors of the failed batch.
        batch_size //= 2
        torch.cuda.empty_cache()
        if torch.backends.mps.is_available():
            torch.mps.empty_cache()
