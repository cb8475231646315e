"""Worker processes that read, decode, crop and resize images for a GPU.

Pixels in bytes (``PixelTransform``) come through shared memory; the workers import Pillow, numpy and pyarrow, but
neither torch nor the caller's main module, so they start in a fraction of a second. Other transforms are imported once,
before the workers are forked, and what they return is pickled. A worker ends when its caller is killed. Threads are
slower on many processors, since they share Python's lock.
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
from functools import partial
from itertools import accumulate, chain, repeat
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

    def submit_images(self, items: Sequence[ImageCrops]) -> Callable[[], list[Any]]:
        """Start to prepare images. Returns a function that returns each preprocessed crop, or its error."""
        size = max(1, CROPS_PER_JOB * len(items) // max(1, sum(len(item.crops) for item in items)))
        jobs = [items[start : start + size] for start in range(0, len(items), size)]
        if not isinstance(self._preprocess, PixelTransform):
            parts = self.map(prepare, repeat(self._preprocess), jobs)
            return partial(list, chain.from_iterable(map(pickle.loads, parts)))
        starts = [0, *accumulate(sum(len(item.crops) for item in job) for job in jobs)]
        shape = (starts[-1], *self._preprocess.size, 3)
        memory = Memory(math.prod(shape))
        errors = self.map(fill_slots, repeat(self._preprocess), jobs, repeat(memory), starts)

        def collect() -> list[Any]:
            errors_N = list(chain.from_iterable(errors))
            pixels_NHWC = np.ndarray(shape, np.uint8, mmap(memory.number, 0))
            return [
                error or pixels_HWC for error, pixels_HWC in zip(errors_N, pixels_NHWC, strict=True)
            ]

        return collect


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
    errors = [value if isinstance(value, UnreadableImageError) else None for value in values]
    for pixels_HWC, value, error in zip(pixels_NHWC, values, errors, strict=True):
        if error is None:
            pixels_HWC[:] = value
    return errors
