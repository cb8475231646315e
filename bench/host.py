"""Measure what the processors must do for a GPU: ``python -m bench.host [--rows 1200] [--repeats 3]``.

The engine runs from parquet files to result files, with open_clip's image transform and tokeniser of ViT-B-32. In place
of the towers, features are taken from the inputs' bytes, which takes no time. So the speed is that of reading,
hashing, decoding, resizing, tokenising and storing, on any machine. Captions are CREPE's (COMPEVAL_REAL_DATA; without
it, random words). Prints for four layouts, as medians:

- who prepares images: threads with the library's transform (floats), or threads or processes with pixels in bytes
- rows/s, and rows per second of processor time, which depends less on other processes
- busy: the share of the processors' time that the run used
- start: seconds until the first batch of images reaches the encoder

``--photographs N`` measures the peak memory with N images of 12 megapixels (4,000 x 3,000) instead.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import open_clip
import psutil
import torch
from PIL import Image
from torch import Tensor, nn

from bench.engine import IMAGES, make_row
from bench.gpu import make_captions
from bench.real_size import read_tree_memory
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, ImageStorage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, crop_id
from compeval.base.storage.dataset import write_config
from compeval.evaluators.engine import compute
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.models import Model
from compeval.evaluators.models.openclip import OpenClipEncoder
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure

PROCESSORS = len(os.sched_getaffinity(0))
SIZE = (640, 480)
CROP = (300, 375)
PHOTOGRAPH = (4000, 3000)
FEATURE_SIZE = 512
WAYS = ("floats", "threads", "processes")
"""Threads with the library's transform, which returns floats; threads and processes with pixels in bytes."""
SAMPLE_SECONDS = 0.25
STORAGES: tuple[ImageStorage, ...] = ("embedded", "by_reference")
LAYOUTS: list[tuple[ImageStorage, int]] = [
    (storage, rows_per_crop) for storage in STORAGES for rows_per_crop in (1, 3)
]


class Usage(NamedTuple):
    """Wall time and processor time of a run with all its processes, its start in seconds, and its peak memory."""

    seconds: float
    cpu_seconds: float
    start: float
    peak_bytes: int


class InstantEncoder(OpenClipEncoder):
    """Encoder whose features are the first numbers of its inputs, after open_clip's transform and tokeniser."""

    def __init__(self, way: str) -> None:
        preprocess: Any = open_clip.image_transform(224, is_train=False)
        super().__init__(nn.Linear(1, 1), preprocess, open_clip.get_tokenizer("ViT-B-32"), "cpu")
        self.device = "none" if way == "processes" else "cpu"
        self.started = 0.0
        if way == "floats":
            self.preprocess = preprocess

    def start_images(self, images: Sequence[Any], batch_size: int) -> Any:
        return self.encode_images(images, batch_size)

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        self.started = self.started or time.perf_counter()
        return np.stack(
            [1 + np.abs(np.asarray(image).ravel()[:FEATURE_SIZE]) for image in images],
            dtype=np.float32,
        )

    def _encode_tokens(self, tokens_TL: Tensor, batch_size: int) -> np.ndarray:
        return np.resize(tokens_TL.numpy() + 1, (len(tokens_TL), FEATURE_SIZE)).astype(np.float32)


def make_photograph(number: int, size: tuple[int, int]) -> Image.Image:
    """Return a random image that depends only on its number. Its JPEG file is about as large as a photograph's."""
    noise = np.random.default_rng(number).integers(
        0, 256, (size[1] // 4, size[0] // 4, 3), dtype=np.uint8
    )
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)


@cache
def make_large_file() -> bytes:
    buffer = io.BytesIO()
    make_photograph(0, PHOTOGRAPH).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def write_dataset(
    folder: Path, num_rows: int, storage: ImageStorage, rows_per_crop: int, size: tuple[int, int]
) -> None:
    """Write rows of a crop and six captions; the crop is cut from an image of ``size``."""

    def make_rows() -> Iterator[dict[str, Any]]:
        box = Box(0, 0, *CROP) if size == SIZE else Box(0, 0, *size)
        for number, (caption, negatives) in zip(range(num_rows), make_captions(), strict=False):
            path = folder / IMAGES / f"{number // rows_per_crop}.jpg"
            if not path.exists() and size == SIZE:
                make_photograph(number, size).save(path, quality=85)
            elif not path.exists():  # large pictures differ in a few bytes behind their ends
                path.write_bytes(make_large_file() + str(number).encode())
            columns = {
                "image": Crop(path, box),
                "crop_id": crop_id(path, box),
                "image_id": path.stem,
            }
            yield make_row(caption, negatives, box, **columns)

    (folder / IMAGES).mkdir(parents=True)
    write_config(
        folder / "crepe", "prod_hnatom", {"n8": make_rows()}, HARD_NEGATIVE_SCHEMA, storage
    )
    write_card(folder / "crepe", {}, "", measure(folder / "crepe"))


class Sampler(threading.Thread):
    """Thread that samples the processor time and memory of this process and its descendants."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._cpu_seconds = dict[int, float]()
        self._stop_asked = threading.Event()

    def run(self) -> None:
        while not self._stop_asked.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        self.peak_bytes = max(self.peak_bytes, read_tree_memory(os.getpid()))
        for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self._cpu_seconds[process.pid] = times.user + times.system

    def stop(self) -> float:
        """Return the processor seconds so far."""
        self._stop_asked.set()
        self.join()
        self._sample()
        return sum(self._cpu_seconds.values())


def measure_run(data: Path, way: str) -> Usage:
    """Return what a run with an empty cache takes."""
    encoder = InstantEncoder(way)
    model = Model("instant", "instant", encoder, "instant")
    sampler = Sampler()
    before = time.process_time()
    with (
        tempfile.TemporaryDirectory() as scratch,
        mock.patch.dict(os.environ, COMPEVAL_CACHE=f"{scratch}/cache"),
    ):
        start = time.perf_counter()
        sampler.start()
        run(
            model,
            discover(data),
            EvaluationOptions(data_dir=data, output=Path(scratch), batch_size=512),
        )
        seconds = time.perf_counter() - start
        return Usage(seconds, sampler.stop() - before, encoder.started - start, sampler.peak_bytes)


def print_layouts(folder: Path, rows: int, repeats: int, ways: Sequence[str]) -> None:
    """Print a table with a line per layout and way. The ways alternate, as other processes take time from each."""
    print(
        "| crops | rows per crop | prepared in | rows/s | rows per CPU second | busy | start, s | peak, MB |"
    )
    print("| --- | ---: | --- |" + " ---: |" * 5, flush=True)
    write_dataset(folder / "first", 8, "embedded", 1, SIZE)
    measure_run(folder / "first", "threads")  # imports modules
    for storage, rows_per_crop in LAYOUTS:
        data = folder / f"{storage} {rows_per_crop}"
        write_dataset(data, rows, storage, rows_per_crop, SIZE)
        usages = {way: list[Usage]() for way in ways}
        for way in [*ways] * repeats:
            usages[way].append(measure_run(data, way))
        for way, measured in usages.items():
            seconds, cpu_seconds, start, peak = map(statistics.median, zip(*measured, strict=True))
            print(
                f"| {storage} | {rows_per_crop} | {way} | {rows / seconds:,.0f} | {rows / cpu_seconds:,.0f} | "
                f"{cpu_seconds / seconds / PROCESSORS:.0%} | {start:.2f} | {peak / 1e6:,.0f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1200, help="number of rows of a layout")
    parser.add_argument(
        "--repeats", type=int, default=3, help="number of runs; the medians are printed"
    )
    parser.add_argument(
        "--workers", type=int, default=PROCESSORS, help="number of threads or processes"
    )
    parser.add_argument(
        "--photographs", type=int, help="number of images of 12 megapixels, for the peak memory"
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="who prepares")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the processors are for the preparation
    compute.NUM_THREADS = options.workers
    print(
        f"{PROCESSORS} processors, load {os.getloadavg()[0]:.1f}, open_clip {open_clip.__version__}"
    )
    with tempfile.TemporaryDirectory() as name:
        if options.photographs is None:
            print_layouts(Path(name), options.rows, options.repeats, options.ways)
            return
        write_dataset(Path(name), options.photographs, "by_reference", 1, PHOTOGRAPH)
        usage = measure_run(Path(name), options.ways[-1])
        print(
            f"{options.photographs:,} photographs, {options.workers} workers: peak {usage.peak_bytes / 1e6:,.0f} MB"
        )


if __name__ == "__main__":
    main()
