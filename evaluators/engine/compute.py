"""Run a model on chunks of images, texts or questions, in this process: ``compute_here`` has the steps in their order.

A chunk is read, its images are preprocessed, and the model computes it in batches. These steps overlap: while the model
computes one chunk, the images of the next ones are preprocessed. Threads do this or, for a model on a GPU, processes
(``workers``). On a CPU, the model itself uses all processors, and threads begin at once.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
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
from compeval.evaluators.engine.workers import Jobs, Workers, find_process_blocker, start_server
from compeval.evaluators.models import Model
from compeval.evaluators.models.batches import scale_to_unit_length

NUM_THREADS = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
READ_AHEAD_BYTES = 500_000_000
"""The next chunks are decoded ahead if their preprocessed images take no more."""
CHUNKS_AHEAD = 1
"""Maximum number of chunks that threads prepare ahead."""
CHUNKS_AHEAD_OF_GPU = 4
"""Maximum number of chunks that processes prepare ahead."""
CHUNKS_READ_AHEAD = 3
"""Maximum number of chunks whose files are read before they are prepared."""
CHUNKS_COMPUTED_AHEAD = 2
"""Maximum number of chunks that a GPU gets before the results of an earlier one are waited for."""
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
    """Keys of the results that the cache lacks."""
    items: Sequence[ImageCrops | Sequence[Any]]
    """What is computed for these keys, in their order: each item is one image, or several texts or their tokens."""
    part: slice
    """Part of the stage that the chunk covers, including what is in the cache."""
    total: int
    """Length of the whole stage."""
    all_keys: Sequence[Any] = ()
    """The keys of each element of the part, including what is in the cache."""


class Pair(NamedTuple):
    crop: CropSource
    image: Any
    """Preprocessed."""
    text: Question


def is_on_cpu(encoder: Any) -> bool:
    """Return True if a model computes on processors, or has no attribute ``device``."""
    return str(getattr(encoder, "device", "cpu")).partition(":")[0] == "cpu"


def start_server_for_gpu(encoder: Any) -> bool:
    """Start the server of worker processes if these are to prepare the images: for a model on a GPU.

    The server begins to import what the processes need. Returns False if threads prepare the images; if this is because
    the transform cannot run in processes, the reason is logged.
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
    """Yield the chunks with their results, in their order."""
    encoder: Any = model.encoder
    reader = ThreadPoolExecutor(1)
    pool: Executor
    if in_processes:
        pool = Workers(encoder.preprocess, NUM_THREADS)
        # Files are read and texts are tokenised in a thread, so that a GPU waits for neither.
        chunks = read_ahead(reader, iter(chunks), encoder)
    else:
        pool = ThreadPoolExecutor(NUM_THREADS)
    computing: deque[Computation] = deque()
    try:
        for chunk, inputs in prepare_ahead(pool, encoder, chunks):
            computing.append(start_computing(model, chunk, inputs, batch_size, on_error))
            inputs.clear()  # before the next chunk is decoded
            # A GPU gets the next chunks before the results of this one are waited for.
            overlaps = in_processes and hasattr(encoder, chunk.method.replace("encode", "start"))
            while len(computing) > (CHUNKS_COMPUTED_AHEAD if overlaps else 0):
                first = computing.popleft()
                yield first.chunk, first.wait()
        for first in computing:
            yield first.chunk, first.wait()
    except BrokenProcessPool:
        raise ValueError(
            "A process that prepares images died. If the machine has too little memory, use a smaller --batch-size. If "
            "the transform is made at run time, put it into a module that can be imported. Finished work is kept."
        ) from None
    finally:
        for executor in (reader, pool):
            executor.shutdown(cancel_futures=True)


def read_ahead(reader: Executor, chunks: Iterator[Chunk], encoder: Any) -> Iterator[Chunk]:
    """Yield the chunks. The files of the next ones are read and hashed in a thread, and their texts tokenised."""
    reading = deque([reader.submit(_read, chunks, encoder)])
    most_bytes = 1
    while (chunk := reading.popleft().result()) is not None:
        files = (getattr(item, "file", None) for item in chunk.items)
        most_bytes = max(most_bytes, sum(len(file) for file in files if isinstance(file, bytes)))
        while len(reading) < max(1, min(CHUNKS_READ_AHEAD, READ_AHEAD_BYTES // most_bytes)):
            reading.append(reader.submit(_read, chunks, encoder))
        yield chunk


def _read(chunks: Iterator[Chunk], encoder: Any) -> Chunk | None:
    """Return the next chunk, with tokens in place of texts if the encoder takes them; None after the last one."""
    chunk = next(chunks, None)
    if chunk and chunk.method == "encode_texts" and hasattr(encoder, "tokenize"):
        return chunk._replace(items=[encoder.tokenize(texts) for texts in chunk.items])
    return chunk


def prepare_ahead(
    pool: Executor, encoder: Any, chunks: Iterable[Chunk]
) -> Iterator[tuple[Chunk, list[Any]]]:
    """Yield the chunks with their inputs, which are prepared in the pool.

    While the caller encodes the images of one chunk, those of the next ones are decoded, unless they take more than
    READ_AHEAD_BYTES. Threads do not prepare questions ahead, because tokenisers are not thread-safe.
    """
    preparing: deque[Preparation] = deque()
    uses_processes = isinstance(pool, Workers)
    most_ahead = CHUNKS_AHEAD_OF_GPU if uses_processes else CHUNKS_AHEAD
    num_ahead = 0  # the size of a chunk is unknown before the first one
    for chunk in chunks:
        preparing.append(start_preparing(pool, encoder, chunk))
        while len(preparing) > num_ahead:
            prepared = preparing.popleft()
            inputs = prepared.collect()
            first = prepared.chunk
            del prepared  # which holds the pixels
            is_image_chunk = first.method == "encode_images"
            if inputs and (is_image_chunk or (first.method == "score" and uses_processes)):
                num_elements = first.part.stop - first.part.start
                chunk_bytes = max(map(_size, inputs)) * num_elements
                num_ahead = min(most_ahead, READ_AHEAD_BYTES // max(1, chunk_bytes))
            yield first, inputs
    for prepared in preparing:
        yield prepared.chunk, prepared.collect()


class Preparation(NamedTuple):
    """A chunk whose images are being preprocessed."""

    chunk: Chunk
    images: Jobs | None
    """None for texts, which need no preparation."""

    def collect(self) -> list[Any]:
        """Wait, and return the inputs of the model: preprocessed crops, pairs of image and text, or texts.

        The error of an unreadable image takes the place of each of its inputs.
        """
        items: Sequence[Any] = self.chunk.items
        if self.images is None:
            return list(chain.from_iterable(items))
        if self.chunk.method == "encode_images":
            return self.images.collect()
        inputs: list[Any] = []
        for item, image in zip(items, self.images.collect(), strict=True):
            for question in item.questions:
                is_readable = not isinstance(image, UnreadableImageError)
                inputs.append(Pair(item.crops[0], image, question) if is_readable else image)
        return inputs


def start_preparing(pool: Executor, encoder: Any, chunk: Chunk) -> Preparation:
    """Start to preprocess the images of a chunk in threads or ``Workers``."""
    items: Sequence[Any] = chunk.items
    if chunk.method == "encode_texts":
        return Preparation(chunk, None)
    if isinstance(pool, Workers):
        return Preparation(chunk, pool.submit_images(items))
    futures = [pool.submit(preprocess_crops, encoder.preprocess, item) for item in items]
    return Preparation(chunk, Jobs(futures))


def _size(preprocessed: Any) -> int:
    """Return the size in bytes of a preprocessed image, which may be a tensor, a dict of tensors, or an image."""
    if isinstance(preprocessed, Pair):
        return _size(preprocessed.image)
    if isinstance(preprocessed, Image.Image):
        return 3 * preprocessed.width * preprocessed.height
    if isinstance(preprocessed, dict):
        return sum(map(_size, preprocessed.values()))
    return getattr(preprocessed, "nbytes", 0)


class CopiedValues(NamedTuple):
    """Values (N, D) that are copied from the model's device."""

    values: Any
    event: Any = None
    """Event of CUDA after the copy; None if there is nothing to wait for."""

    def wait(self) -> np.ndarray:
        """Return the values when they are copied. This does not wait for what the device computes after them."""
        if self.event is not None:
            self.event.synchronize()
        return np.asarray(self.values)


@dataclass(frozen=True)
class Computation:
    """A chunk whose results a GPU may still compute."""

    chunk: Chunk
    model_name: str
    results: Results
    """The error of each unreadable image; empty arrays in place of the other results."""
    positions: list[int]
    """Positions of these other results."""
    copied: CopiedValues

    def wait(self) -> Results:
        """Return the unit-length feature or the score of each input, or the error of an unreadable image.

        Raises ValueError for features that are not finite.
        """
        if not self.positions:
            return self.results
        values = self.copied.wait()
        if self.chunk.method != "score":
            kind = "image" if self.chunk.method == "encode_images" else "text"
            values = scale_to_unit_length(values, self.model_name, kind)
        for position, value in zip(self.positions, values, strict=True):
            self.results[position] = value
        return self.results


def start_computing(
    model: Model, chunk: Chunk, inputs: Sequence[Any], batch_size: int, on_error: OnError
) -> Computation:
    """Start to compute a chunk.

    Raises the error of the first unreadable image if ``on_error`` is ``stop``.
    """
    positions: list[int] = []
    # Without the inputs, so that their memory is free before the results are needed.
    results: Results = []
    for position, value in enumerate(inputs):
        if not isinstance(value, UnreadableImageError):
            positions.append(position)
            results.append(np.empty(0))
        elif on_error == "stop":
            raise value
        else:
            results.append(value)
    copied = CopiedValues(np.empty(0))
    if positions:
        readable = [inputs[position] for position in positions]
        compute = _score if chunk.method == "score" else _encode
        computed = retry_with_smaller_batches(
            partial(compute, model, chunk.method, readable), batch_size
        )
        copied = start_copy(computed)
    return Computation(chunk, model.name, results, positions, copied)


def start_copy(value_ND: Any) -> CopiedValues:
    """Start to copy features from the model's device. A GPU copies to pinned memory, in order with what it computes."""
    if isinstance(value_ND, np.ndarray):
        return CopiedValues(value_ND)
    # To pinned memory if it does not block.
    copied = value_ND.float().to("cpu", non_blocking=value_ND.is_cuda)
    if not value_ND.is_cuda:
        return CopiedValues(copied.numpy())
    import torch

    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(value_ND.device))
    return CopiedValues(copied.numpy(), event)


def _encode(model: Model, method: str, inputs: Sequence[Any], batch_size: int) -> Any:
    """Return features (N, D); of a model of open_clip on a GPU, a tensor that the GPU still computes."""
    start_method = method.replace("encode", "start")
    if not is_on_cpu(model.encoder) and hasattr(model.encoder, start_method):
        method = start_method
    return getattr(model.encoder, method)(inputs, batch_size)


def _score(model: Model, method: str, pairs: Sequence[Pair], batch_size: int) -> np.ndarray:
    """Return the scores (M, 1) float64 of pairs. Raises ValueError, which names the row, if one is not finite."""
    encoder: Any = model.encoder
    images = [pair.image for pair in pairs]
    texts = [pair.text for pair in pairs]
    scores = [
        encoder.score(images[batch], texts[batch])
        for batch in batches_of_whole_images(images, batch_size)
    ]
    score_M = np.concatenate([np.asarray(score_B, np.float64).ravel() for score_B in scores])
    is_finite_M = np.isfinite(score_M)
    if not is_finite_M.all():
        first = int(np.argmin(is_finite_M))
        raise ValueError(
            f"{pairs[first].crop}: {model.name} returned a score that is not a finite "
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
