"""The engine on a GPU: ``python -m bench.gpu [--rows 2000] [--models ViT-B-32 ViT-L-14] [--device cuda]``.

Rows with five hard negatives, crops of 500 x 375 JPEG stand-ins, captions of 12 to 24 words from a small vocabulary,
random weights, bf16. Prints for each model the rows per second of the engine from files to results and of the papers'
per-row loop, and the engine's share of the encoder-only limit: the same network on tensors in GPU memory, each distinct
crop and text once, texts padded. The share can exceed 100 %, since the engine's text tower computes fewer positions.

Without a GPU this is a dry run on a few rows in fp32 whose figures are meaningless.
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
from typing import Any

import numpy as np
import open_clip
import torch
from PIL import Image
from torch import Tensor

from bench.engine import stand_in
from bench.reference import row_loop
from evaluators.engine.tasks import discover
from evaluators.models.openclip import in_process
from evaluators.run import default_batch_size, run
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure

WORDS = (
    "a the two red small wooden striped dog table lamp window street child car tree plate beside under on with near "
    "holding wearing behind tall blue empty man woman bench bicycle"
)
LOOP_ROWS = 100
"""Rows for timing the per-row loop."""
CROPS_PER_IMAGE = 2
NEGATIVES = 5


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield rows whose negatives differ from the caption in one word."""
    generator, vocabulary = np.random.default_rng(0), WORDS.split()
    for number in range(count):
        words = generator.choice(vocabulary, size=generator.integers(12, 25)).tolist()
        negatives = []
        for place, word in zip(generator.permutation(len(words)), generator.permutation(vocabulary), strict=False):
            if word != words[place] and len(negatives) < NEGATIVES:
                negatives.append(" ".join([*words[:place], str(word), *words[place + 1 :]]))
        side = number % CROPS_PER_IMAGE
        buffer = io.BytesIO()
        stand_in(str(number // CROPS_PER_IMAGE)).crop((200 * side, 0, 200 * side + 300, 375)).save(buffer, "JPEG")
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


def seconds(call: Callable[[], Any], device: str) -> float:
    """Return the wall-clock time of a call, including its work on the device."""
    start = time.perf_counter()
    call()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.inference_mode()
def limit(network: Any, pixels_BCHW: Tensor, tokens_BL: Tensor, crops: int, texts: int) -> None:
    """Encode ``crops`` images and ``texts`` texts by repeating one batch in device memory."""
    for done in range(0, crops, len(pixels_BCHW)):
        network.encode_image(pixels_BCHW[: crops - done])
    for done in range(0, texts, len(tokens_BL)):
        network.encode_text(tokens_BL[: texts - done])


def measured(name: str, every: Sequence[dict[str, Any]], data: Path, device: str, precision: str) -> str:
    """Return the figures of one model as a line."""
    torch.manual_seed(0)
    network, _, preprocess = open_clip.create_model_and_transforms(name, device=device, precision=precision)
    tokenizer = open_clip.get_tokenizer(name)
    network.eval()
    batch = default_batch_size(device)
    texts = list({text for row in every for text in (row["caption"], *row["hard_negatives"])})
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    first = Image.open(io.BytesIO(every[0]["image"]["bytes"])).convert("RGB")
    pixels_BCHW = preprocess(first)[None].expand(batch, -1, -1, -1).contiguous().to(device, dtype)  # pyright: ignore
    tokens_BL = tokenizer((texts * batch)[:batch]).to(device)
    limit(network, pixels_BCHW, tokens_BL, 1, 1)
    encoder_only = seconds(lambda: limit(network, pixels_BCHW, tokens_BL, len(every), len(texts)), device)

    def cast(image: Image.Image) -> Tensor:
        return preprocess(image).to(dtype)  # pyright: ignore

    looped = every[:LOOP_ROWS]
    loop = seconds(lambda: row_loop(network, cast, tokenizer, looped, device), device) / len(looped)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COMPEVAL_CACHE"] = f"{folder}/cache"
        model = in_process(network, preprocess, tokenizer)  # pyright: ignore[reportArgumentType]
        tasks = discover(data)
        whole = seconds(lambda: run(model, tasks, data_dir=data, output=Path(folder), device=device), device)
    rate = len(every) / whole
    return (
        f"{name}, {precision}: engine {rate:,.0f} rows/s, {encoder_only / whole:.0%} of the encoder-only limit of "
        f"{len(every) / encoder_only:,.0f} rows/s; per-row loop {1 / loop:,.1f} rows/s, ratio {rate * loop:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    on_gpu = torch.cuda.is_available()
    parser.add_argument("--rows", type=int, default=2000 if on_gpu else 4)
    parser.add_argument("--models", nargs="+", default=["ViT-B-32", "ViT-L-14"])
    parser.add_argument("--device", default="cuda" if on_gpu else "cpu")
    options = parser.parse_args()
    precision = "bf16" if options.device.startswith("cuda") else "fp32"
    machine = torch.cuda.get_device_name() if on_gpu else f"{platform.processor() or platform.machine()}, a dry run"
    print(f"{machine}, {len(os.sched_getaffinity(0))} processors, {options.rows:,} rows", flush=True)
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        every = list(rows(options.rows))
        write_config(data / "crepe", "prod_hnatom", {"n8": every}, HARD_NEGATIVE_SCHEMA)
        write_card(data / "crepe", {}, "", measure(data / "crepe"))
        for model in options.models:
            print(measured(model, every, data, options.device, precision), flush=True)


if __name__ == "__main__":
    main()
