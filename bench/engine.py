"""Measure how many times faster the engine is than the loop over rows of the papers' scripts.

    COMPEVAL_REAL_DATA=... python -m bench.engine [--rows 200] [--model ViT-B-32] [--repeats 3] [--device cpu]

Rows: the first rows of each hard-negative type of CREPE's published productivity files at n = 8 (complexity: number of
atoms per caption). Images: random JPEG files of 500 x 375 pixels in place of Visual Genome's images. Weights: random.
The loop decodes and encodes one row at a time, as the authors' script does. Prints the ratio of median times with an
empty and with a filled feature cache, the numbers of encoded crops and texts, and on how many rows the ranks agree.
Then prints time and agreement of one run of the engine in bfloat16.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from bench.reference import compare_ranks, make_random_model, read_ranks, read_rows, score_row_by_row, wrap_model
from evaluators.engine.tasks import discover
from evaluators.models import Model
from evaluators.models.openclip import OpenClipEncoder
from evaluators.run import run
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop_id
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure

SIZE = (500, 375)
TYPES = {"atom": "prod_hnatom", "swap": "prod_hnswap", "negate": "prod_hnneg"}


def read_published_rows(real_data: Path, kind: str, count: int) -> list[dict[str, Any]]:
    """Return the first rows of a published file, with boxes clipped to a 500 x 375 image."""
    path = real_data / f"crepe/prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_8.csv"
    with path.open() as file:
        rows = list(islice(csv.DictReader(file), count))
    for row in rows:
        x, y = min(float(row["x"]), SIZE[0] - 50), min(float(row["y"]), SIZE[1] - 50)
        row["box"] = Box(x, y, min(float(row["width"]), SIZE[0] - x), min(float(row["height"]), SIZE[1] - y))
        row["hard_negatives"] = sorted(ast.literal_eval(row["hard_negs"]))
    return rows


def make_random_image(image_id: str) -> Image.Image:
    """Return a smooth random image that depends only on the image id."""
    noise = np.random.default_rng(int(image_id)).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(SIZE, Image.Resampling.BICUBIC)


def make_dataset_rows(rows: Sequence[dict[str, Any]], image_folder: Path) -> Iterator[dict[str, Any]]:
    """Yield dataset rows and write a random JPEG for each image to ``image_folder``."""
    image_folder.mkdir(exist_ok=True)
    for row in rows:
        path = image_folder / f"{row['image_id']}.jpg"
        if not path.exists():
            make_random_image(row["image_id"]).save(path, quality=92)
        yield {
            "image": Crop(path, row["box"]),
            "crop_id": crop_id(path, row["box"]),
            "image_id": row["image_id"],
            **row["box"]._asdict(),
            "caption": row["caption"],
            "atoms": [],
            "compounds": [],
            "complexity": 8,
            "scene_graph": {"objects": [], "relations": []},
            "provenance": {"source": "bench", "captioner": "published", "seed": 0},
            "hard_negatives": row["hard_negatives"],
            "foils": [[] for _ in row["hard_negatives"]],
        }


def measure_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function. Returns its duration in seconds and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def describe_processor() -> str:
    """Return the name of the processor and its bfloat16 instructions."""
    capabilities = torch.cpu.get_capabilities()
    instructions = [name for name, value in capabilities.items() if value is True and "bf16" in name]
    return f"{capabilities['cpu_name']} (bfloat16 instructions: {', '.join(instructions) or 'none'})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200, help="number of rows per type")
    parser.add_argument("--model", default="ViT-B-32", help="architecture of open_clip")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs; the median time is printed")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()

    network, preprocess, tokenizer = make_random_model(options.model, options.device)
    model = wrap_model(network, preprocess, tokenizer)
    encoder = model.encoder
    assert isinstance(encoder, OpenClipEncoder)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {}
        for kind, config in TYPES.items():
            published = read_published_rows(Path(os.environ["COMPEVAL_REAL_DATA"]), kind, options.rows)
            crops = make_dataset_rows(published, folder / "images")
            write_config(folder / "crepe", config, {"n8": crops}, HARD_NEGATIVE_SCHEMA, "by_reference")
            rows[config] = read_rows(next((folder / "crepe" / config).glob("*.parquet")))
        write_card(folder / "crepe", {}, "", measure(folder / "crepe"))
        tasks = discover(folder)
        all_rows = [row for task in tasks for row in rows[task.config]]
        texts = sorted({text for row in all_rows for text in (row["caption"], *row["hard_negatives"])})

        def run_engine(cache: str, output: Path, model: Model = model) -> None:
            os.environ["COMPEVAL_CACHE"] = str(folder / cache)
            run(model, tasks, data_dir=folder, output=output, device=options.device)

        def read_all_ranks(output: Path) -> np.ndarray:
            return np.concatenate([read_ranks(output, task) for task in tasks])

        # Loop and engine alternate, so that a change in the machine's load affects both.
        loop_times, cold_times, warm_times, reference_NK, cold_output = [], [], [], np.empty(0), folder
        for repeat in range(options.repeats):
            cold_output = folder / f"cold {repeat}"
            seconds, reference_NK = measure_time(
                lambda: score_row_by_row(network, preprocess, tokenizer, all_rows, options.device)
            )
            loop_times.append(seconds)
            if encoder.prefix_forest is not None:
                encoder.prefix_forest.nodes = 0
            cold_times.append(measure_time(partial(run_engine, f"cache {repeat}", cold_output))[0])
            warm_times.append(measure_time(partial(run_engine, f"cache {repeat}", folder / f"warm {repeat}"))[0])
        loop, cold, warm = map(statistics.median, (loop_times, cold_times, warm_times))

        counts = json.loads(next(cold_output.rglob("*.run.json")).read_text())
        crops = len({row["crop_id"] for row in all_rows})
        machine = describe_processor() if options.device == "cpu" else torch.cuda.get_device_name(options.device)
        print(f"{options.model}, {machine}, {torch.get_num_threads()} threads, {len(all_rows):,} rows")
        print(f"loop {loop:.2f} s, engine {cold:.2f} s cold, {warm:.2f} s warm")
        print(f"loop / engine cold: {loop / cold:.1f}")
        print(f"engine cold / warm: {cold / warm:.1f}")
        print(f"crops encoded {counts['images_encoded']:,} of {crops:,} distinct")
        print(f"texts encoded {counts['texts_encoded']:,} of {len(texts):,} distinct")
        if encoder.prefix_forest is not None:
            num_tokens = sum(int(end) + 1 for end in tokenizer(texts).argmax(dim=-1))
            nodes = encoder.prefix_forest.nodes
            print(f"prefix forest nodes {nodes:,}: {nodes / num_tokens:.3f} of {num_tokens:,} tokens of distinct texts")
        print(compare_ranks(reference_NK, read_all_ranks(cold_output)))

        bfloat16_model = wrap_model(network.to(torch.bfloat16), preprocess, tokenizer)
        bfloat16_time, _ = measure_time(partial(run_engine, "bfloat16 cache", folder / "bfloat16", bfloat16_model))
        agreement = compare_ranks(reference_NK, read_all_ranks(folder / "bfloat16"))
        print(f"bfloat16 on {machine}: {bfloat16_time:.2f} s, loop / engine cold {loop / bfloat16_time:.1f}")
        num_clear = agreement.rows - len(agreement.close)
        print(f"ranks in bfloat16: different on {len(agreement.different):,} of {num_clear:,} clear rows")


if __name__ == "__main__":
    main()
