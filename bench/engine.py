"""The engine against the papers' loop, as ratios.

    COMPEVAL_REAL_DATA=... python -m bench.engine [--rows 200] [--model ViT-B-32] [--repeats 3] [--device cpu]

The first rows of each hard-negative type of CREPE's published productivity files at n = 8, JPEG stand-ins of 500 x 375
for Visual Genome's images, random weights. Both sides decode; the loop encodes one row at a time, as the authors'
script does. Prints the ratio of median times with a cold and with a warm cache, the number of encoded crops and texts,
and the agreement of ranks; then the same for one run of the engine in bfloat16.
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

from bench.reference import agreement, random_model, read_ranks, read_rows, row_loop, wrapped
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


def published_rows(real_data: Path, kind: str, count: int) -> list[dict[str, Any]]:
    """Return the first rows of a published file, with boxes clipped to a 500 x 375 image."""
    path = real_data / f"crepe/prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_8.csv"
    with path.open() as file:
        rows = list(islice(csv.DictReader(file), count))
    for row in rows:
        x, y = min(float(row["x"]), SIZE[0] - 50), min(float(row["y"]), SIZE[1] - 50)
        row["box"] = Box(x, y, min(float(row["width"]), SIZE[0] - x), min(float(row["height"]), SIZE[1] - y))
        row["hard_negatives"] = sorted(ast.literal_eval(row["hard_negs"]))
    return rows


def stand_in(image_id: str) -> Image.Image:
    """Return a smooth random image, a function of the image id."""
    noise = np.random.default_rng(int(image_id)).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(SIZE, Image.Resampling.BICUBIC)


def dataset_rows(rows: Sequence[dict[str, Any]], images: Path) -> Iterator[dict[str, Any]]:
    """Yield dataset rows and write JPEG stand-ins of their images to a folder."""
    images.mkdir(exist_ok=True)
    for row in rows:
        path = images / f"{row['image_id']}.jpg"
        if not path.exists():
            stand_in(row["image_id"]).save(path, quality=92)
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


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call and its result."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def processor() -> str:
    """The processor's name and the instructions that it has for bfloat16."""
    capabilities = torch.cpu.get_capabilities()
    instructions = [name for name, value in capabilities.items() if value is True and "bf16" in name]
    return f"{capabilities['cpu_name']} (bfloat16 instructions: {', '.join(instructions) or 'none'})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--model", default="ViT-B-32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    network, preprocess, tokenizer = random_model(options.model, options.device)
    model = wrapped(network, preprocess, tokenizer)
    encoder = model.encoder
    assert isinstance(encoder, OpenClipEncoder)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {}
        for kind, config in TYPES.items():
            published = published_rows(Path(os.environ["COMPEVAL_REAL_DATA"]), kind, options.rows)
            crops = dataset_rows(published, folder / "images")
            write_config(folder / "crepe", config, {"n8": crops}, HARD_NEGATIVE_SCHEMA, "by_reference")
            rows[config] = read_rows(next((folder / "crepe" / config).iterdir()))
        write_card(folder / "crepe", {}, "", measure(folder / "crepe"))
        tasks = discover(folder)
        every = [row for task in tasks for row in rows[task.config]]
        texts = sorted({text for row in every for text in (row["caption"], *row["hard_negatives"])})

        def engine(cache: str, output: Path, model: Model = model) -> None:
            os.environ["COMPEVAL_CACHE"] = str(folder / cache)
            run(model, tasks, data_dir=folder, output=output, device=options.device)

        def ranks(output: Path) -> np.ndarray:
            return np.concatenate([read_ranks(output, task) for task in tasks])

        # Alternate both sides, so that a change in the machine's load affects both.
        loops, colds, warms, reference, cold_output = [], [], [], np.empty(0), folder
        for repeat in range(options.repeats):
            cold_output = folder / f"cold {repeat}"
            seconds, reference = timed(lambda: row_loop(network, preprocess, tokenizer, every, options.device))
            loops.append(seconds)
            if encoder.prefix_forest is not None:
                encoder.prefix_forest.nodes = 0
            colds.append(timed(partial(engine, f"cache {repeat}", cold_output))[0])
            warms.append(timed(partial(engine, f"cache {repeat}", folder / f"warm {repeat}"))[0])
        loop, cold, warm = map(statistics.median, (loops, colds, warms))

        counts = json.loads(next(cold_output.rglob("*.run.json")).read_text())
        crops = len({row["crop_id"] for row in every})
        machine = processor() if options.device == "cpu" else torch.cuda.get_device_name(options.device)
        print(f"{options.model}, {machine}, {torch.get_num_threads()} threads, {len(every):,} rows")
        print(f"loop {loop:.2f} s, engine {cold:.2f} s cold, {warm:.2f} s warm")
        print(f"loop / engine cold: {loop / cold:.1f}")
        print(f"engine cold / warm: {cold / warm:.1f}")
        print(f"crops encoded {counts['images_encoded']:,} of {crops:,} distinct")
        print(f"texts encoded {counts['texts_encoded']:,} of {len(texts):,} distinct")
        if encoder.prefix_forest is not None:
            real = sum(int(end) + 1 for end in tokenizer(texts).argmax(dim=-1))
            nodes = encoder.prefix_forest.nodes
            print(f"prefix forest nodes {nodes:,}: {nodes / real:.3f} of the {real:,} tokens of distinct texts")
        print(agreement(reference, ranks(cold_output)))

        low = wrapped(network.to(torch.bfloat16), preprocess, tokenizer)
        half, _ = timed(partial(engine, "bfloat16 cache", folder / "bfloat16", low))
        agreed = agreement(reference, ranks(folder / "bfloat16"))
        print(f"bfloat16 on {machine}: {half:.2f} s, loop / engine cold {loop / half:.1f}")
        clear = agreed.rows - len(agreed.close)
        print(f"ranks in bfloat16: different on {len(agreed.different):,} of {clear:,} clear rows")


if __name__ == "__main__":
    main()
