"""The engine against the papers' loop, as ratios.

    COMPEVAL_REAL_DATA=... python -m bench.engine [--rows 200] [--model ViT-B-32] [--repeats 3] [--device cpu]

The first rows of each hard-negative type of CREPE's published productivity files at n = 8, JPEG stand-ins of 500 x 375
for Visual Genome's images, random weights. Both sides decode; the loop encodes one row at a time, as the authors'
script does. Reports the median time of the loop over that of the engine, cold and over a warm cache, what was encoded,
and on how many rows the ranks agree.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow.parquet as pq
import torch
from PIL import Image

from evaluators.models import Model
from evaluators.models.openclip import OpenClipEncoder, in_process
from evaluators.run import run
from evaluators.tasks import Task, discover
from generators.crops import rounded
from generators.dataset import HARD_NEGATIVE_SCHEMA, write_config
from generators.scene_graph import Box
from loaders.cards import measure, write_card

SIZE = (500, 375)
TYPES = {"atom": "prod_hnatom", "swap": "prod_hnswap", "negate": "prod_hnneg"}


def published_rows(real_data: Path, kind: str, count: int) -> list[dict[str, Any]]:
    """The first rows of a published file, their boxes moved into a 500 x 375 image."""
    path = real_data / f"crepe/prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_8.csv"
    with path.open() as file:
        rows = list(islice(csv.DictReader(file), count))
    for row in rows:
        x, y = min(float(row["x"]), SIZE[0] - 50), min(float(row["y"]), SIZE[1] - 50)
        row["box"] = Box(x, y, min(float(row["width"]), SIZE[0] - x), min(float(row["height"]), SIZE[1] - y))
        row["hard_negatives"] = sorted(ast.literal_eval(row["hard_negs"]))
    return rows


def stand_in(image_id: str) -> Image.Image:
    """A smooth random picture that depends on the image's id alone."""
    noise = np.random.default_rng(int(image_id)).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(SIZE, Image.Resampling.BICUBIC)


def crop_bytes(row: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    stand_in(row["image_id"]).crop(rounded(row["box"])).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()


def dataset_rows(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "image": {"bytes": crop_bytes(row), "path": None},
            "crop_id": f"{row['image_id']}:{rounded(row['box'])}",
            "image_id": row["image_id"],
            **row["box"]._asdict(),
            "caption": row["caption"],
            "atoms": [],
            "compounds": [],
            "complexity": 8,
            "scene_graph": {"objects": [], "relations": []},
            "provenance": {"source": "bench", "captioner": "published", "seed": 0, "code": ""},
            "hard_negatives": row["hard_negatives"],
            "foils": [[] for _ in row["hard_negatives"]],
        }


@torch.inference_mode()
def row_loop(model: Any, preprocess: Any, tokenizer: Any, rows: Sequence[dict[str, Any]], device: str) -> np.ndarray:
    """Ranks by the papers' loop: for each row decode the image, encode it and its captions, compare."""
    ranks = []
    for row in rows:
        image = Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB")
        seen = model.encode_image(preprocess(image)[None].to(device), normalize=True)
        read = model.encode_text(tokenizer([row["caption"], *row["hard_negatives"]]).to(device), normalize=True)
        scores = (seen @ read.T)[0].float()
        ranks.append(1 + int((scores[1:] >= scores[0]).sum()))
    return np.array(ranks)


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median seconds of a call, and what it gave last."""
    seconds, value = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), value


def compare_ranks(output: Path, tasks: Sequence[Task], reference: np.ndarray) -> str:
    """How many rows with a margin above 1e-5 have the reference's rank."""
    paths = [next(output.rglob(f"{task.config}/{task.split}.parquet")) for task in tasks]
    tables = [pq.read_table(path) for path in paths]
    scores = np.concatenate([np.stack(table["scores"].to_numpy()) for table in tables])
    ranks = np.concatenate([table["rank"].to_numpy() for table in tables])
    clear = np.abs(scores[:, 1:] - scores[:, :1]).min(axis=1) > 1e-5
    return (
        f"{(ranks == reference)[clear].sum():,} of {clear.sum():,} clear rows; {(~clear).sum():,} rows closer than 1e-5"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--model", default="ViT-B-32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    torch.manual_seed(0)
    network, _, preprocess = open_clip.create_model_and_transforms(options.model, device=options.device)
    network.eval()
    tokenizer = open_clip.get_tokenizer(options.model)
    model: Model = in_process(network, preprocess, tokenizer)  # pyright: ignore[reportArgumentType]
    encoder = model.encoder
    assert isinstance(encoder, OpenClipEncoder)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {}
        for kind, config in TYPES.items():
            published = published_rows(Path(os.environ["COMPEVAL_REAL_DATA"]), kind, options.rows)
            rows[config] = list(dataset_rows(published))
            write_config(folder / "crepe", config, {"n8": rows[config]}, HARD_NEGATIVE_SCHEMA)
        write_card(folder / "crepe", {}, "", measure(folder / "crepe"))
        tasks = discover(folder)
        every = [row for task in tasks for row in rows[task.config]]
        attempt = iter(range(10_000))

        def engine(cache: str) -> list[dict[str, Any]]:
            os.environ["COMPEVAL_CACHE"] = str(folder / cache)
            return run(model, tasks, data_dir=folder, output=folder / f"results-{next(attempt)}", device=options.device)

        loop, reference = timed(
            lambda: row_loop(network, preprocess, tokenizer, every, options.device), options.repeats
        )
        cold, _ = timed(lambda: engine(f"cache-{next(attempt)}"), options.repeats)
        engine("warm")
        warm, _ = timed(lambda: engine("warm"), options.repeats)

        texts = sorted({text for row in every for text in (row["caption"], *row["hard_negatives"])})
        if encoder.packed is not None:
            encoder.packed.positions = 0
        side = folder / "counted"
        os.environ["COMPEVAL_CACHE"] = str(folder / "cache-counted")
        run(model, tasks, data_dir=folder, output=side, device=options.device)
        counts = json.loads(next(side.rglob("*.run.json")).read_text())
        crops = len({row["crop_id"] for row in every})
        print(f"{options.model}, {options.device}, {torch.get_num_threads()} threads, {len(every):,} rows")
        print(f"loop {loop:.2f} s, engine {cold:.2f} s cold, {warm:.2f} s warm")
        print(f"loop / engine cold: {loop / cold:.1f}")
        print(f"engine cold / warm: {cold / warm:.1f}")
        print(f"crops encoded {counts['images_encoded']:,} of {crops:,} distinct")
        print(f"texts encoded {counts['texts_encoded']:,} of {len(texts):,} distinct")
        if encoder.packed is not None:
            real = sum(int(end) + 1 for end in tokenizer(texts).argmax(dim=-1))
            positions = encoder.packed.positions
            print(f"text positions {positions:,}: {positions / real:.3f} of the {real:,} real tokens of distinct texts")
        print(f"ranks equal on {compare_ranks(side, tasks, reference)}")


if __name__ == "__main__":
    main()
