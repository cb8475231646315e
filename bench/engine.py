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
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from bench.row_loop import (
    NetworkParts,
    compare_ranks,
    make_random_model,
    read_ranks,
    read_rows,
    score_row_by_row,
)
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, crop_id
from compeval.base.storage.dataset import write_config
from compeval.evaluators.engine.tasks import Task, discover
from compeval.evaluators.models import Model
from compeval.evaluators.models.openclip import in_process
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.benchmarks import crepe_published
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.published.rows import Row

SIZE = (500, 375)
IMAGES = "sources/images"
"""Folder of the image files next to a dataset, which may read no others."""
TYPES = {"atom": "prod_hnatom", "swap": "prod_hnswap", "negate": "prod_hnneg"}


def read_published_rows(real_data: Path, kind: str, count: int) -> list[Row]:
    """Return the first rows of a published file."""
    path = real_data / f"crepe/prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_8.csv"
    return list(
        islice(
            (row for row in crepe_published.read(path, path.stem) if isinstance(row, Row)), count
        )
    )


def clip_box(box: Box) -> Box:
    """Return the part of a box inside an image of SIZE, of at least 50 x 50 pixels."""
    x = min(box.x, SIZE[0] - 50)
    y = min(box.y, SIZE[1] - 50)
    return Box(x, y, min(box.width, SIZE[0] - x), min(box.height, SIZE[1] - y))


def make_random_image(image_id: str) -> Image.Image:
    """Return a smooth random image that depends only on the image id."""
    noise = np.random.default_rng(int(image_id)).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(SIZE, Image.Resampling.BICUBIC)


def make_row(caption: str, hard_negatives: list[str], box: Box, **columns: Any) -> dict[str, Any]:
    """Return a dataset row whose caption has no scene graph."""
    return {
        **box._asdict(),
        "caption": caption,
        "atoms": [],
        "compounds": [],
        "complexity": 8,
        "scene_graph": {"objects": [], "relations": []},
        "provenance": {"source": "bench", "captioner": "bench", "seed": 0},
        "hard_negatives": hard_negatives,
        "foils": [[] for _ in hard_negatives],
        **columns,
    }


def make_dataset_rows(rows: Sequence[Row], image_folder: Path) -> Iterator[dict[str, Any]]:
    """Yield dataset rows and write a random JPEG for each image to ``image_folder``."""
    image_folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        assert row.box is not None
        path = image_folder / row.images[0]
        box = clip_box(row.box)
        if not path.exists():
            make_random_image(row.image_id).save(path, quality=92)
        columns = {
            "image": Crop(path, box),
            "crop_id": crop_id(path, box),
            "image_id": row.image_id,
        }
        yield make_row(row.captions[0], list(row.hard_negatives), box, **columns)


def write_tasks(folder: Path, real_data: Path, num_rows: int) -> list[Task]:
    """Write the published rows of each type as a dataset, and return its tasks."""
    for kind, config in TYPES.items():
        rows = make_dataset_rows(read_published_rows(real_data, kind, num_rows), folder / IMAGES)
        write_config(folder / "crepe", config, {"n8": rows}, HARD_NEGATIVE_SCHEMA, "by_reference")
    write_card(folder / "crepe", {}, "", measure(folder / "crepe"))
    return discover(folder)


def measure_time(call: Callable[[], Any], device: str = "cpu") -> tuple[float, Any]:
    """Return the seconds of a call, until the device has finished all its work, and the call's result."""
    start = time.perf_counter()
    result = call()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def describe_device(device: str) -> str:
    """Return the name of the device; for a processor, with its bfloat16 instructions."""
    if device != "cpu":
        return torch.cuda.get_device_name(device)
    capabilities = torch.cpu.get_capabilities()
    instructions = [
        name for name, value in capabilities.items() if value is True and "bf16" in name
    ]
    return (
        f"{capabilities['cpu_name']} (bfloat16 instructions: {', '.join(instructions) or 'none'})"
    )


class EngineRuns(NamedTuple):
    """Runs of the engine on the same tasks; caches and outputs are in ``folder``."""

    folder: Path
    tasks: Sequence[Task]
    device: str

    def measure(self, model: Model, cache: str, output: str) -> float:
        """Return the seconds of a run."""
        os.environ["COMPEVAL_CACHE"] = str(self.folder / cache)
        options = EvaluationOptions(
            data_dir=self.folder, output=self.folder / output, device=self.device
        )
        return measure_time(lambda: run(model, self.tasks, options))[0]

    def read_ranks(self, output: str) -> np.ndarray:
        return np.concatenate([read_ranks(self.folder / output, task) for task in self.tasks])


def print_work(
    runs: EngineRuns, num_nodes: int | None, tokenizer: Any, rows: Sequence[dict[str, Any]]
) -> None:
    """Print the numbers of crops, texts and tokens that a run with an empty cache encoded, and of distinct ones."""
    counts = json.loads(
        next((runs.folder / "cold 0").rglob("*.run.json")).read_text(encoding="utf-8")
    )
    texts = sorted({text for row in rows for text in (row["caption"], *row["hard_negatives"])})
    print(
        f"crops encoded {counts['images_encoded']:,} of {len({row['crop_id'] for row in rows}):,} distinct"
    )
    print(f"texts encoded {counts['texts_encoded']:,} of {len(texts):,} distinct")
    if num_nodes is not None:
        num_tokens = sum(int(end) + 1 for end in tokenizer(texts).argmax(dim=-1))
        share = f"{num_nodes / num_tokens:.3f} of {num_tokens:,} tokens of distinct texts"
        print(f"prefix forest nodes {num_nodes:,}: {share}")


def compare(
    runs: EngineRuns, parts: NetworkParts, rows: Sequence[dict[str, Any]], repeats: int, title: str
) -> None:
    """Time the loop and the engine, and print times and agreement."""
    network, preprocess, tokenizer = parts
    model = in_process(*parts)
    forest = getattr(model.encoder, "prefix_forest", None)
    # Loop and engine alternate, so that a change in the machine's load affects both.
    times = []
    reference_NK = np.empty(0)
    for repeat in range(repeats):
        loop, reference_NK = measure_time(lambda: score_row_by_row(*parts, rows, runs.device))
        if forest is not None:
            forest.nodes = 0
        cold = runs.measure(model, f"cache {repeat}", f"cold {repeat}")
        times.append((loop, cold, runs.measure(model, f"cache {repeat}", f"warm {repeat}")))
    loop, cold, warm = map(statistics.median, zip(*times, strict=True))
    print(f"{title}\nloop {loop:.2f} s, engine {cold:.2f} s cold, {warm:.2f} s warm")
    print(f"loop / engine cold: {loop / cold:.1f}\nengine cold / warm: {cold / warm:.1f}")
    print_work(runs, forest and forest.nodes, tokenizer, rows)
    print(compare_ranks(reference_NK, runs.read_ranks("cold 0")))

    seconds = runs.measure(
        in_process(network.to(torch.bfloat16), preprocess, tokenizer), "bfloat16 cache", "bfloat16"
    )
    agreement = compare_ranks(reference_NK, runs.read_ranks("bfloat16"))
    print(f"bfloat16: {seconds:.2f} s, loop / engine cold {loop / seconds:.1f}")
    num_clear = agreement.rows - len(agreement.close)
    print(
        f"ranks in bfloat16: different on {len(agreement.different):,} of {num_clear:,} clear rows"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200, help="number of rows per type")
    parser.add_argument("--model", default="ViT-B-32", help="architecture of open_clip")
    parser.add_argument(
        "--repeats", type=int, default=3, help="number of runs; the median time is printed"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = write_tasks(folder, Path(os.environ["COMPEVAL_REAL_DATA"]), options.rows)
        rows = [
            row
            for task in tasks
            for row in read_rows(next((folder / "crepe" / task.config).glob("*.parquet")))
        ]
        device = describe_device(options.device)
        title = f"{options.model}, {device}, {torch.get_num_threads()} threads, {len(rows):,} rows"
        parts = make_random_model(options.model, options.device)
        compare(EngineRuns(folder, tasks, options.device), parts, rows, options.repeats, title)


if __name__ == "__main__":
    main()
