"""Worker processes that read, decode, crop and resize images for a GPU.

Pixels in bytes (``PixelTransform``) come through shared memory; the workers import Pillow, numpy and pyarrow, but
neither torch nor the caller's main module, so they start in a fraction of a second. Other transforms are imported once,
before the workers are forked, and what they return is pickled. A worker ends when its caller is killed. Threads are
slower on many processors, since they share Python's lock.

Two simpler ways were measured with ``bench.host`` (2,000 rows, two processors, in turn with this one):

- ``torch.utils.data.DataLoader``, whose sampler is the stream of jobs: 155 instead of 196 rows per second of processor
  time for stored crops, 212 instead of 325 for crops of image files; the first batch after 7.9 instead of 4.4 s and a
  third more memory, because its workers import torch. These imports are counted; without them, we estimate a loss of
  5 to 10 %. It also bounds what is prepared ahead in jobs, not in bytes.
- Pixels through the pipe of the executor instead of shared memory: the same speed on two processors, but 0.30 instead
  of 0.12 ms of the main process per image. That is the whole time that a fast GPU leaves for an image.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain
from mmap import mmap
from multiprocessing import forkserver, parent_process
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image

from compeval.base.pipeline.workers import SafePool, safe_path
from compeval.evaluators.engine.images import ImageCrops, UnreadableImageError, preprocess_crops
from compeval.evaluators.models.pixels import PixelTransform

CROPS_PER_JOB = 8
"""Average number of crops that a process prepares at a time."""
MEMORY_NAME = "pixels"
MAX_TRANSFORM_BYTES = 100_000
"""Size of the largest transform that is sent to processes, with each job."""


class _Limited(io.BytesIO):
    """Buffer for a transform, which is not pickled to its end if it is too large."""

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > MAX_TRANSFORM_BYTES:
            raise ValueError(
                f"it takes more than {MAX_TRANSFORM_BYTES:,} bytes, as if it held a model"
            )
        return super().write(data)


def find_process_blocker(preprocess: Any) -> str | None:
    """Return why an image transform cannot run in processes, or None if it can."""
    if not hasattr(os, "memfd_create"):
        return "processes need Linux"
    pickled = _Limited()
    try:
        pickle.Pickler(pickled).dump(preprocess)
    except Exception as error:  # of any class, since pickling calls methods of the object
        return f"the transform cannot be pickled ({error})"
    if b"__main__" in pickled.getvalue():
        return "the transform is defined in the program itself, which processes do not import: move it to a module"
    return None


def _start() -> None:
    """Prepare a worker: it ignores Ctrl-C, which its caller handles, and ends with its caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_caller, daemon=True).start()
    Image.preinit()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _end_with_caller() -> None:
    caller = parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


class Memory:
    """Shared memory, which a worker gets as a path. It is closed when no job and no caller refers to it any more."""

    def __init__(self, num_bytes: int) -> None:
        self.number = os.memfd_create(MEMORY_NAME)
        os.ftruncate(self.number, num_bytes)
        weakref.finalize(self, os.close, self.number)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (f"/proc/{os.getpid()}/fd/{self.number}",)


@dataclass(frozen=True)
class Jobs:
    """Images that are being prepared. Each future returns the preprocessed crops of some of them, or their errors."""

    futures: Sequence[Future[Any]]

    def collect(self) -> list[Any]:
        """Wait, and return each preprocessed crop, or its error."""
        return list(chain.from_iterable(future.result() for future in self.futures))


class PickledJobs(Jobs):
    """Jobs whose futures return pickled lists."""

    def collect(self) -> list[Any]:
        return list(chain.from_iterable(pickle.loads(future.result()) for future in self.futures))


@dataclass(frozen=True)
class PixelJobs(Jobs):
    """Jobs that write pixels into shared memory. Each future returns the errors of its crops, or None."""

    memory: Memory
    shape: tuple[int, ...]
    """Crops, height, width, and three colours."""

    def collect(self) -> list[Any]:
        errors_N = super().collect()
        pixels_NHWC = np.ndarray(self.shape, np.uint8, mmap(self.memory.number, 0))
        return [
            error or pixels_HWC for error, pixels_HWC in zip(errors_N, pixels_NHWC, strict=True)
        ]


def start_server(preprocess: Callable[[Image.Image], Any]) -> None:
    """Start the process that workers are forked from. It imports what they need while the caller goes on."""
    forkserver.set_forkserver_preload(
        [__name__, getattr(preprocess, "func", preprocess).__module__]
    )
    with safe_path():
        forkserver.ensure_running()


class Workers(SafePool):
    """Executor of ``count`` processes that run ``preprocess`` on images (Linux)."""

    def __init__(self, preprocess: Callable[[Image.Image], Any], count: int) -> None:
        start_server(preprocess)
        super().__init__(count, "forkserver", _start)
        self._preprocess = preprocess

    def _spawn_process(self) -> None:
        """Start a worker that does not import the caller's main module, which may have no ``__name__`` check."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super()._spawn_process()
        finally:
            sys.modules["__main__"] = main

    def submit_images(self, items: Sequence[ImageCrops]) -> Jobs:
        """Start to prepare images."""
        if not items:
            return Jobs([])
        num_crops = sum(len(item.crops) for item in items)
        size = max(1, CROPS_PER_JOB * len(items) // num_crops)
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        if not isinstance(self._preprocess, PixelTransform):
            return PickledJobs([self.submit(prepare, self._preprocess, part) for part in parts])
        shape = (num_crops, *self._preprocess.size, 3)
        memory = Memory(math.prod(shape))
        path: Any = memory  # pickled as its path
        futures: list[Future[list[UnreadableImageError | None]]] = []
        start = 0
        for part in parts:
            futures.append(self.submit(fill_slots, self._preprocess, part, path, start))
            start += sum(len(item.crops) for item in part)
        return PixelJobs(futures, memory, shape)


def prepare(preprocess: Callable[[Image.Image], Any], items: Sequence[ImageCrops]) -> bytes:
    """Return the pickled list of preprocessed crops. The executor's own pickling would open a file for each tensor."""
    return pickle.dumps([value for item in items for value in preprocess_crops(preprocess, item)])


def fill_slots(
    transform: PixelTransform, items: Sequence[ImageCrops], memory: Path, start: int
) -> list[UnreadableImageError | None]:
    """Write the pixels of crops into shared memory, from slot ``start`` on. Returns the error of each crop, or None.

    Raises FileNotFoundError if the path leads to a file instead: if the caller fails, it may reuse the number.
    """
    values = [value for item in items for value in preprocess_crops(transform, item)]
    shape = (len(values), *transform.size, 3)
    if not memory.readlink().name.startswith(f"memfd:{MEMORY_NAME}"):
        raise FileNotFoundError(f"{memory}: the shared memory was closed.")
    pixels_NHWC = np.memmap(memory, np.uint8, "r+", start * math.prod(shape[1:]), shape)
    errors: list[UnreadableImageError | None] = []
    for pixels_HWC, value in zip(pixels_NHWC, values, strict=True):
        if isinstance(value, UnreadableImageError):
            errors.append(value)
        else:
            pixels_HWC[:] = value
            errors.append(None)
    return errors
