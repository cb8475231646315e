"""Measure the engine's speed on a GPU: ``python -m bench.gpu [--rows 2000] [--models ViT-B-32 ViT-L-14]``.

The rows are synthetic: crops of random JPEG images, captions of 12 to 24 random words, five hard negatives per row.
Weights are random, precision is bf16. Prints one table to paste into an issue, with a line per model, in rows/s:

- loop: encodes one row at a time, as the papers' scripts do
- engine: from parquet files to result files
- limit: encodes each distinct crop and text once, from tensors in GPU memory. The engine can exceed it: it skips
  the padding of texts.
- compiled: the limit with ``torch.compile``; channels-last: the limit with that memory format. The engine has neither:
  they are worth a flag only where these columns are well above the limit.

Without a GPU, the script runs on a few rows in fp32, only to test that it works.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import open_clip
import torch
from PIL import Image
from torch import Tensor

from bench.engine import make_random_image
from bench.reference import score_row_by_row
from evaluators.engine.tasks import discover
from evaluators.models.openclip import in_process
from evaluators.run import default_batch_size, run
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure


class Speed(NamedTuple):
    """Rows per second."""

    loop: float
    engine: float
    limit: float
    compiled: float
    channels_last: float


WORDS = (
    "a the two red small wooden striped dog table lamp window street child car tree plate beside under on with near "
    "holding wearing behind tall blue empty man woman bench bicycle"
)
NUM_LOOP_ROWS = 100
"""Number of rows on which the loop is timed."""
CROPS_PER_IMAGE = 2
NUM_NEGATIVES = 5


def make_rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield random rows. A negative differs from its caption in one word."""
    generator, vocabulary = np.random.default_rng(0), WORDS.split()
    for number in range(count):
        words = generator.choice(vocabulary, size=generator.integers(12, 25)).tolist()
        negatives = []
        for position, word in zip(generator.permutation(len(words)), generator.permutation(vocabulary), strict=False):
            if word != words[position] and len(negatives) < NUM_NEGATIVES:
                negatives.append(" ".join([*words[:position], str(word), *words[position + 1 :]]))
        left = 200 * (number % CROPS_PER_IMAGE)
        buffer = io.BytesIO()
        make_random_image(str(number // CROPS_PER_IMAGE)).crop((left, 0, left + 300, 375)).save(buffer, "JPEG")
        yield {
            "image": {"bytes": buffer.getvalue(), "path": None},
            "crop_id": f"crop {number}",
            "image_id": f"image {number // CROPS_PER_IMAGE}",
            **dict.fromkeys(("x", "y", "width", "height"), 0.0),
            "caption": " ".join(words),
            "atoms": [],
            "compounds": [],
            "complexity": 0,
            "scene_graph": {"objects": [], "relations": []},
            "provenance": {"source": "bench", "captioner": "random words", "seed": 0},
            "hard_negatives": negatives,
            "foils": [[] for _ in negatives],
        }


def measure_seconds(call: Callable[[], Any], device: str) -> float:
    """Return the wall-clock time of a call, until the device has finished all its work."""
    start = time.perf_counter()
    call()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.inference_mode()
def encode_repeatedly(network: Any, pixels_BCHW: Tensor, tokens_BL: Tensor, num_crops: int, num_texts: int) -> None:
    """Encode the same batch of images and texts until ``num_crops`` images and ``num_texts`` texts are encoded."""
    for start in range(0, num_crops, len(pixels_BCHW)):
        network.encode_image(pixels_BCHW[: num_crops - start])
    for start in range(0, num_texts, len(tokens_BL)):
        network.encode_text(tokens_BL[: num_texts - start])


def measure_model(name: str, rows: Sequence[dict[str, Any]], data: Path, device: str, precision: str) -> Speed:
    torch.manual_seed(0)
    network, _, preprocess = open_clip.create_model_and_transforms(name, device=device, precision=precision)
    tokenizer = open_clip.get_tokenizer(name)
    network.eval()
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32

    def preprocess_in_dtype(image: Image.Image) -> Tensor:
        return preprocess(image).to(dtype)  # pyright: ignore

    loop_rows = rows[:NUM_LOOP_ROWS]
    score_row_by_row(network, preprocess_in_dtype, tokenizer, rows[:2], device)  # warm-up
    loop_time = measure_seconds(
        lambda: score_row_by_row(network, preprocess_in_dtype, tokenizer, loop_rows, device), device
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COMPEVAL_CACHE"] = f"{folder}/cache"
        model = in_process(network, preprocess, tokenizer)  # pyright: ignore[reportArgumentType]
        tasks = discover(data)
        engine_time = measure_seconds(
            lambda: run(model, tasks, data_dir=data, output=Path(folder), device=device), device
        )
    batch_size = default_batch_size(device)
    texts = list({text for row in rows for text in (row["caption"], *row["hard_negatives"])})
    image = Image.open(io.BytesIO(rows[0]["image"]["bytes"])).convert("RGB")
    pixels_BCHW = preprocess_in_dtype(image)[None].expand(batch_size, -1, -1, -1).contiguous().to(device)
    tokens_BL = tokenizer((texts * batch_size)[:batch_size]).to(device)

    def measure_limit(pixels_BCHW: Tensor) -> float:
        encode_repeatedly(network, pixels_BCHW, tokens_BL, 2 * batch_size, 2 * batch_size)  # warm-up, compilation
        return len(rows) / measure_seconds(
            lambda: encode_repeatedly(network, pixels_BCHW, tokens_BL, len(rows), len(texts)), device
        )

    limit = measure_limit(pixels_BCHW)
    network.to(memory_format=torch.channels_last)
    channels_last = measure_limit(pixels_BCHW.contiguous(memory_format=torch.channels_last))
    network.to(memory_format=torch.contiguous_format)
    for method in ("encode_image", "encode_text"):
        setattr(network, method, torch.compile(getattr(network, method)))
    return Speed(len(loop_rows) / loop_time, len(rows) / engine_time, limit, measure_limit(pixels_BCHW), channels_last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    has_gpu = torch.cuda.is_available()
    parser.add_argument("--rows", type=int, default=2000 if has_gpu else 4, help="number of rows")
    parser.add_argument("--models", nargs="+", default=["ViT-B-32", "ViT-L-14"], help="architectures of open_clip")
    parser.add_argument("--device", default="cuda" if has_gpu else "cpu", help="cuda, cuda:1 ... or cpu")
    options = parser.parse_args()
    on_gpu = options.device.startswith("cuda")
    precision = "bf16" if on_gpu else "fp32"
    name = (
        torch.cuda.get_device_name(options.device) if on_gpu else f"{platform.processor() or platform.machine()}, test"
    )
    versions = f"torch {torch.__version__}, open_clip {open_clip.__version__}"
    print(f"{name}, {versions}, {len(os.sched_getaffinity(0))} processors, {options.rows:,} rows", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        rows = list(make_rows(options.rows))
        write_config(data / "crepe", "prod_hnatom", {"n8": rows}, HARD_NEGATIVE_SCHEMA)
        write_card(data / "crepe", {}, "", measure(data / "crepe"))
        print(f"\n| rows/s, {precision} | {' | '.join(Speed._fields)} | engine / loop | engine / limit |")
        print("| --- |" + " ---: |" * (len(Speed._fields) + 2), flush=True)
        for model in options.models:
            speed = measure_model(model, rows, data, options.device, precision)
            ratios = f"{speed.engine / speed.loop:.1f} | {speed.engine / speed.limit:.0%}"
            print(f"| {model} | {' | '.join(f'{value:,.1f}' for value in speed)} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
