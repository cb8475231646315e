"""Measure the engine's speed on a GPU: ``python -m bench.gpu [--rows 2000] [--models ViT-B-32 ViT-L-14]``.

Rows have crops of random JPEG images and a caption with five hard negatives: CREPE's, or of 12 to 24 random words.
Weights are random, precision is bf16. Prints one table to paste into an issue, with a line per model, in rows/s:

- loop: encodes one row at a time, as the papers' scripts do
- engine: from parquet files to result files, in the second of two runs with empty caches
- limit: encodes each distinct crop and text once, from tensors in GPU memory. The engine can exceed it: it skips
  the padding of texts.

Then prints, per model, the texts/s of both ways through the text tower with tokenising, and whether the processes that
prepare images for a GPU are used: they need normalisation on the device to equal the library's, bit by bit. Set
COMPEVAL_REAL_DATA for CREPE's captions. Without a GPU, the script runs on a few rows in fp32, to test that it works.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import open_clip
import torch
from PIL import Image
from torch import Tensor

from bench.engine import describe_device, make_random_image, make_row, measure_time
from bench.row_loop import NetworkParts, make_random_model, score_row_by_row
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.dataset import write_config
from compeval.evaluators.engine.encode import MIN_TEXTS_PER_CHUNK
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.models.batches import scale_to_unit_length
from compeval.evaluators.models.openclip import OpenClipEncoder, in_process
from compeval.evaluators.models.prefix_forest import PrefixForestEncoder, causal_tower
from compeval.evaluators.models.text_batches import LengthBatchEncoder
from compeval.evaluators.models.transforms import divide
from compeval.evaluators.run import EvaluationOptions, default_batch_size, run
from compeval.loaders.benchmarks import crepe_published
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.published.rows import Row


class Speed(NamedTuple):
    """Rows per second."""

    loop: float
    engine: float
    limit: float


WORDS = (
    "a the two red small wooden striped dog table lamp window street child car tree plate beside under on with near "
    "holding wearing behind tall blue empty man woman bench bicycle"
)
NUM_LOOP_ROWS = 100
"""Number of rows on which the loop is timed."""
CROPS_PER_IMAGE = 2
NUM_NEGATIVES = 5
Rows = Sequence[dict[str, Any]]


def make_captions() -> Iterator[tuple[str, list[str]]]:
    """Yield captions with their negatives: CREPE's, if COMPEVAL_REAL_DATA is set, otherwise random words."""
    real_data = os.environ.get("COMPEVAL_REAL_DATA")
    files = sorted(Path(real_data).glob("crepe/prod_hard_negatives/*/*.csv")) if real_data else []
    for cycle in count():
        beginning = "again, " * cycle  # texts stay distinct
        for path in files:
            for row in crepe_published.read(path, path.stem):
                if isinstance(row, Row):
                    yield (
                        beginning + row.captions[0],
                        [beginning + negative for negative in row.hard_negatives],
                    )
        if not files:
            yield from _make_random_captions(cycle)


def _make_random_captions(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Yield a thousand captions of 12 to 24 random words. A negative differs from its caption in one word."""
    generator = np.random.default_rng(seed)
    vocabulary = WORDS.split()
    for _ in range(1000):
        words = generator.choice(vocabulary, size=generator.integers(12, 25)).tolist()
        negatives = []
        for position, word in zip(
            generator.permutation(len(words)), generator.permutation(vocabulary), strict=False
        ):
            if word != words[position] and len(negatives) < NUM_NEGATIVES:
                negatives.append(" ".join([*words[:position], str(word), *words[position + 1 :]]))
        yield " ".join(words), negatives


def make_rows(num_rows: int) -> Iterator[dict[str, Any]]:
    """Yield rows with a crop of a random image. All processors draw."""
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        files = pool.map(_make_crop, range(num_rows), chunksize=64)
        for number, (file, (caption, negatives)) in enumerate(
            zip(files, make_captions(), strict=False)
        ):
            columns = {
                "image": {"bytes": file, "path": None},
                "image_id": f"image {number // CROPS_PER_IMAGE}",
            }
            yield make_row(caption, negatives, Box(0, 0, 0, 0), crop_id=f"crop {number}", **columns)


def _make_crop(number: int) -> bytes:
    """Return the JPEG of a crop of 300 x 375 pixels of a random image."""
    image, part = divmod(number, CROPS_PER_IMAGE)
    buffer = io.BytesIO()
    make_random_image(str(image)).crop((200 * part, 0, 200 * part + 300, 375)).save(buffer, "JPEG")
    return buffer.getvalue()


def measure_engine(parts: NetworkParts, data: Path, device: str) -> float:
    """Return the seconds from parquet files to result files, with an empty cache."""
    model = in_process(*parts)
    tasks = discover(data)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, COMPEVAL_CACHE=f"{folder}/cache"),
    ):
        return measure_time(
            lambda: run(
                model, tasks, EvaluationOptions(data_dir=data, output=Path(folder), device=device)
            ),
            device,
        )[0]


@torch.inference_mode()
def measure_limit(
    network: Any, pixels_CHW: Tensor, tokenizer: Any, rows: Rows, device: str
) -> float:
    """Return the rows per second from tensors in the device's memory: one batch is encoded again and again."""
    size = default_batch_size(device)
    texts = list({text for row in rows for text in (row["caption"], *row["hard_negatives"])})
    tokens_BL = tokenizer((texts * size)[:size]).to(device)
    pixels_BCHW = pixels_CHW[None].expand(size, -1, -1, -1).contiguous().to(device)

    def encode(num_crops: int, num_texts: int) -> None:
        for start in range(0, num_crops, size):
            network.encode_image(pixels_BCHW[: num_crops - start])
        for start in range(0, num_texts, size):
            network.encode_text(tokens_BL[: num_texts - start])

    encode(2 * size, 2 * size)  # warm-up
    return len(rows) / measure_time(lambda: encode(len(rows), len(texts)), device)[0]


def describe_ways(parts: NetworkParts, rows: Rows, device: str, precision: str) -> str:
    """Return the texts/s of both ways through the text tower, their largest difference, and who prepares images."""
    texts = sorted(
        {text for row in rows for text in (row["caption"], *row["hard_negatives"])}, key=str.lower
    )
    speeds = list[str]()
    features = list[np.ndarray]()
    encoder = OpenClipEncoder(*parts, device, precision)
    tower = causal_tower(parts[0])
    for way, kind in {"forest": PrefixForestEncoder, "batches": LengthBatchEncoder}.items():
        encoder.unpadded = kind(tower, device)
        # Warm-up.
        encoder.encode_texts(texts[: default_batch_size(device)], default_batch_size(device))
        seconds, feature_ND = measure_time(
            partial(_encode_chunks, encoder, texts, default_batch_size(device)), device
        )
        features.append(feature_ND)
        speeds.append(f"{way} {len(texts) / seconds:,.0f} texts/s")
    difference = np.abs(features[0] - features[1]).max()
    is_known = divide(parts[1], device) is not None
    return f"{', '.join(speeds)}, largest difference {difference:.1e}; {'processes' if is_known else 'threads'}"


def _encode_chunks(encoder: OpenClipEncoder, texts: Sequence[str], size: int) -> np.ndarray:
    """Return features at unit length, encoded in chunks as the engine does."""
    parts = (
        slice(start, start + MIN_TEXTS_PER_CHUNK)
        for start in range(0, len(texts), MIN_TEXTS_PER_CHUNK)
    )
    return np.concatenate(
        [
            scale_to_unit_length(encoder.encode_texts(texts[part], size), "", "text")
            for part in parts
        ]
    )


def measure_model(name: str, rows: Rows, data: Path, device: str, precision: str) -> Speed:
    network, preprocess, tokenizer = parts = make_random_model(name, device, precision)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32

    def preprocess_in_dtype(image: Image.Image) -> Tensor:
        return preprocess(image).to(dtype)

    def score(rows: Rows) -> np.ndarray:
        return score_row_by_row(network, preprocess_in_dtype, tokenizer, rows, device)

    loop_rows = rows[:NUM_LOOP_ROWS]
    score(rows[:2])  # warm-up
    loop = len(loop_rows) / measure_time(lambda: score(loop_rows), device)[0]
    # The first run starts CUDA.
    _, seconds = (measure_engine(parts, data, device) for _ in range(2))
    engine = len(rows) / seconds
    image = Image.open(io.BytesIO(rows[0]["image"]["bytes"])).convert("RGB")
    return Speed(
        loop, engine, measure_limit(network, preprocess_in_dtype(image), tokenizer, rows, device)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    has_gpu = torch.cuda.is_available()
    parser.add_argument("--rows", type=int, default=2000 if has_gpu else 4, help="number of rows")
    parser.add_argument(
        "--models", nargs="+", default=["ViT-B-32", "ViT-L-14"], help="architectures of open_clip"
    )
    parser.add_argument(
        "--device", default="cuda" if has_gpu else "cpu", help="cuda, cuda:1 ... or cpu"
    )
    options = parser.parse_args()
    precision = "bf16" if options.device.startswith("cuda") else "fp32"
    versions = f"torch {torch.__version__}, open_clip {open_clip.__version__}"
    processors = f"{len(os.sched_getaffinity(0))} processors, {options.rows:,} rows"
    print(f"{describe_device(options.device)}, {versions}, {processors}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        rows = list(make_rows(options.rows))
        write_config(data / "crepe", "prod_hnatom", {"n8": rows}, HARD_NEGATIVE_SCHEMA)
        write_card(data / "crepe", {}, "", measure(data / "crepe"))
        print(
            f"\n| rows/s, {precision} | {' | '.join(Speed._fields)} | engine / loop | engine / limit |"
        )
        print("| --- |" + " ---: |" * (len(Speed._fields) + 2), flush=True)
        for model in options.models:
            speed = measure_model(model, rows, data, options.device, precision)
            ratios = f"{speed.engine / speed.loop:.1f} | {speed.engine / speed.limit:.0%}"
            print(
                f"| {model} | {' | '.join(f'{value:,.1f}' for value in speed)} | {ratios} |",
                flush=True,
            )
        print()
        for model in options.models:
            parts = make_random_model(model, options.device, precision)
            print(f"{model}: {describe_ways(parts, rows, options.device, precision)}", flush=True)


if __name__ == "__main__":
    main()
