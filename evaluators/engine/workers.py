"""Worker processes that read, decode, crop and resize images for a GPU.

Pixels in bytes (``PixelTransform``) come through shared memory; the workers import Pillow, numpy and pyarrow, but
neither torch nor the caller's main module, so they start in a fraction of a second. Other transforms are imported once,
before the workers are forked, and what they return is pickled. A worker ends when its caller is killed. Threads are
slower on many processors, since they share Python's lock.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from mmap import mmap
from multiprocessing import forkserver, parent_process
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

if sys.platform == "win32":  # it has no forkserver, and no memfd_create either, so Workers is never used there
    from multiprocessing.context import SpawnContext as ForkServerContext
    from multiprocessing.context import SpawnProcess as ForkServerProcess
else:
    from multiprocessing.context import ForkServerContext, ForkServerProcess

from evaluators.engine.images import ImageCrops, UnreadableImageError, preprocess_crops
from evaluators.models.pixels import PixelTransform

CROPS_PER_JOB = 8
MAX_TRANSFORM_BYTES = 100_000
"""Size of the largest transform that is sent to processes, with each job."""


def explain_threads(preprocess: Any) -> str | None:
    """Return why an image transform cannot run in processes, or None if it can."""
    if not hasattr(os, "memfd_create"):
        return "processes need Linux"
    try:
        pickled = pickle.dumps(preprocess)
    except Exception as error:  # of any class, since pickling calls methods of the object
        return f"the transform cannot be pickled ({error})"
    if b"__main__" in pickled:
        return "the transform is defined in the program itself, which processes do not import: move it to a module"
    size = len(pickled)
    return f"the transform takes {size:,} bytes, as if it held a model" if size > MAX_TRANSFORM_BYTES else None


class _Process(ForkServerProcess):
    """Process that does not import the caller's main module, which may be a script without ``__name__`` check."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return ForkServerProcess._Popen(process_obj)  # pyright: ignore
        finally:
            sys.modules["__main__"] = main


class _Context(ForkServerContext):
    Process = _Process


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


class Memory(NamedTuple):
    """The path of shared memory, and its identity: a closed descriptor may be reused for another file."""

    path: Path
    device: int
    inode: int


class Workers(ProcessPoolExecutor):
    """Executor of ``count`` processes that run ``preprocess`` on images (Linux)."""

    def __init__(self, preprocess: Callable[[Image.Image], Any], count: int) -> None:
        context = _Context()
        context.set_forkserver_preload([__name__, getattr(preprocess, "func", preprocess).__module__])
        forkserver.ensure_running()  # it imports while the caller reads
        super().__init__(count, context, _start)
        self._preprocess = preprocess

    def submit_images(self, items: Sequence[ImageCrops]) -> Callable[[], list[Any]]:
        """Start to prepare images. Returns a function that returns each preprocessed crop, or its error."""
        jobs = list(_make_jobs(items))
        if not isinstance(self._preprocess, PixelTransform):
            pickled = [self.submit(prepare, self._preprocess, job) for job in jobs]
            return lambda: [value for future in pickled for value in pickle.loads(future.result())]
        starts = [0, *accumulate(sum(len(item.crops) for item in job) for job in jobs)]
        shape = (starts[-1], *self._preprocess.size, 3)
        memory = os.memfd_create("pixels")
        os.ftruncate(memory, math.prod(shape))
        place = Memory(Path(f"/proc/{os.getpid()}/fd/{memory}"), os.fstat(memory).st_dev, os.fstat(memory).st_ino)
        futures = [
            self.submit(fill_slots, self._preprocess, job, place, start)
            for job, start in zip(jobs, starts, strict=False)
        ]

        def collect() -> list[Any]:
            errors = [error for future in futures for error in future.result()]
            pixels_NHWC = np.ndarray(shape, np.uint8, mmap(memory, 0))
            return [error or pixels_HWC for error, pixels_HWC in zip(errors, pixels_NHWC, strict=True)]

        weakref.finalize(collect, os.close, memory)
        return collect


def _make_jobs(items: Sequence[ImageCrops]) -> Iterator[list[ImageCrops]]:
    """Divide images into jobs of about CROPS_PER_JOB crops."""
    job: list[ImageCrops] = []
    for item in items:
        job.append(item)
        if sum(len(item.crops) for item in job) >= CROPS_PER_JOB:
            yield job
            job = []
    if job:
        yield job


def prepare(preprocess: Callable[[Image.Image], Any], items: Sequence[ImageCrops]) -> bytes:
    """Return the pickled list of preprocessed crops. The executor's own pickling would open a file for each tensor."""
    return pickle.dumps([value for item in items for value in preprocess_crops(preprocess, item.file, item.crops)])


def fill_slots(
    transform: PixelTransform, items: Sequence[ImageCrops], memory: Memory, start: int
) -> list[UnreadableImageError | None]:
    """Write the pixels of crops into shared memory, from slot ``start`` on. Returns the error of each crop, or None.

    Raises FileNotFoundError if the memory was closed, as after an error in the caller.
    """
    with memory.path.open("r+b") as file:
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != memory[1:]:
            raise FileNotFoundError(f"{memory.path}: the shared memory was closed.")
        values = [value for item in items for value in preprocess_crops(transform, item.file, item.crops)]
        shape = (len(values), *transform.size, 3)
        pixels_NHWC = np.memmap(file, np.uint8, "r+", start * math.prod(shape[1:]), shape)
    errors = [value if isinstance(value, UnreadableImageError) else None for value in values]
    for pixels_HWC, value, error in zip(pixels_NHWC, values, errors, strict=True):
        if error is None:
            pixels_HWC[:] = value
    return errors
