"""Compare the engine's ranks with simple loops over rows: ``python -m bench.reference [--rows 5] [--task GLOB]``.

Runs on every built task with hard negatives, with a model with random weights. The loop encodes the image and the
captions of one row at a time with open_clip. Rows in which a negative scores within 1e-5 of the truth are listed, not
compared. Also checks two properties of the evaluation: R@1 is 0 for constant scores, and R@1 is at chance if a random
caption of each row is taken as the truth.

``--clip-benchmark`` compares time and R@1 with those of CLIP_benchmark instead (``pip install --no-deps
clip-benchmark==1.6.2``): its own loop, batch size and number of processes, on published rows of CREPE
(``bench.engine``; set COMPEVAL_REAL_DATA). Prints seconds, seconds of processor time, and operations.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from bench.engine import EngineRuns, write_tasks
from bench.row_loop import (
    MIN_MARGIN,
    Agreement,
    NetworkParts,
    compare_ranks,
    make_random_model,
    read_crop,
    read_ranks,
    read_rows,
    read_scores,
    score_row_by_row,
)
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task, discover, select
from compeval.evaluators.models.openclip import in_process
from compeval.evaluators.protocols.choice import rank_truth
from compeval.evaluators.run import EvaluationOptions, run


def check(
    model: NetworkParts, tasks: Sequence[Task], data: Path | None, limit: int
) -> Iterator[tuple[Task, np.ndarray, Agreement]]:
    """Yield each task with the loop's scores of its first rows and the agreement of the engine's ranks."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, COMPEVAL_CACHE=f"{folder}/cache"),
    ):
        run(
            in_process(*model),
            tasks,
            EvaluationOptions(data_dir=data, limit=limit, output=Path(folder)),
        )
        for task in tasks:
            dataset = load(task, data, limit)
            reference_NK = score_row_by_row(*model, read_rows(dataset.files[0], len(dataset)))
            yield task, reference_NK, compare_ranks(reference_NK, read_ranks(Path(folder), task))


class RowImages(torch.utils.data.Dataset):
    """Rows as CLIP_benchmark reads them: a preprocessed image and its captions, of which the first is true."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], preprocess: Any) -> None:
        self._rows = rows
        self._preprocess = preprocess

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> tuple[Any, list[str]]:
        row = self._rows[index]
        return self._preprocess(read_crop(row)), [row["caption"], *row["hard_negatives"]]


def evaluate_with_clip_benchmark(parts: NetworkParts, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return R@1 by CLIP_benchmark's loop for SugarCrepe, in fp32 on the processors."""
    from clip_benchmark.datasets.builder import image_captions_collate_fn  # pyright: ignore[reportMissingImports]
    from clip_benchmark.metrics import image_caption_selection  # pyright: ignore[reportMissingImports]

    network, preprocess, tokenizer = parts
    loader = torch.utils.data.DataLoader(
        RowImages(rows, preprocess), 64, num_workers=4, collate_fn=image_captions_collate_fn
    )
    return image_caption_selection.evaluate(network, loader, tokenizer, "cpu", amp=False)[
        "text_acc"
    ]


def count_operations(network: Any, num_crops: int, num_tokens: int) -> float:
    """Return the multiplications, in 10^9, of the weights of both towers on crops and tokens of texts."""
    visual = network.visual
    weights = [
        sum(weight.numel() for weight in tower.parameters())
        for tower in (visual, network.transformer)
    ]
    num_patches = len(visual.positional_embedding)
    return (num_crops * num_patches * weights[0] + num_tokens * weights[1]) / 1e9


def compare_with_clip_benchmark(name: str, rows_per_type: int) -> None:
    """Print time, operations and R@1 of CLIP_benchmark and of the engine, with an empty cache, on published rows."""
    with tempfile.TemporaryDirectory() as scratch, mock.patch.dict(os.environ):
        folder = Path(scratch)
        tasks = write_tasks(folder, Path(os.environ["COMPEVAL_REAL_DATA"]), rows_per_type)
        rows = [
            row
            for task in tasks
            for row in read_rows(next((folder / "crepe" / task.config).glob("*.parquet")))
        ]
        parts = make_random_model(name)
        model = in_process(*parts)
        runs = EngineRuns(folder, tasks, "cpu")
        texts = {text for row in rows for text in (row["caption"], *row["hard_negatives"])}
        context = parts[0].context_length * sum(1 + len(row["hard_negatives"]) for row in rows)
        print(
            f"{name}, {len(rows):,} rows, {len({row['crop_id'] for row in rows}):,} crops, {len(texts):,} texts"
        )
        seconds = {}
        for who in ("CLIP_benchmark", "engine"):
            before = os.times()
            start = time.perf_counter()
            if who == "engine":
                runs.measure(model, "cache", "results")
                recall = float((runs.read_ranks("results") == 1).mean())
                crops = len({row["crop_id"] for row in rows})
                tokens = model.encoder.prefix_forest.nodes  # pyright: ignore
            else:
                recall = evaluate_with_clip_benchmark(parts, rows)
                crops = len(rows)
                tokens = context
            seconds[who] = time.perf_counter() - start
            used = sum(os.times()[:4]) - sum(before[:4])
            operations = count_operations(parts[0], crops, tokens)
            print(
                f"{who}: R@1 {recall:.6f}, {seconds[who]:.1f} s, processors {used:.1f} s, {operations:,.0f} x 10^9 "
                f"multiplications ({operations / used:.1f} x 10^9 per second of a processor)",
                flush=True,
            )
        score_NK = np.concatenate([read_scores(folder / "results", task) for task in tasks])
        close = int((np.abs(score_NK[:, 0] - score_NK[:, 1:].max(axis=1)) <= MIN_MARGIN).sum())
        print(
            f"rows that rounding may decide, because the truth and a negative are closer than {MIN_MARGIN}: {close}"
        )
        print(f"CLIP_benchmark / engine: {seconds['CLIP_benchmark'] / seconds['engine']:.2f}")


def measure_shuffled_truth(scores: Iterable[np.ndarray], seed: int = 0) -> tuple[float, float]:
    """Return R@1 and its chance if a random caption of each row is taken as the truth."""
    generator = np.random.default_rng(seed)
    hits = []
    chances = []
    for score_NK in scores:
        rows, size = score_NK.shape
        order_NK = (generator.integers(size, size=(rows, 1)) + np.arange(size)) % size
        hits.append(rank_truth(np.take_along_axis(score_NK, order_NK, axis=1)).rank_N == 1)
        chances.append(np.full(rows, 1 / size))
    return float(np.concatenate(hits).mean()), float(np.concatenate(chances).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5, help="number of rows per task")
    parser.add_argument("--model", default="ViT-B-32", help="architecture of open_clip")
    parser.add_argument("--task", default="crepe/*_hn*", help="glob pattern of task names")
    parser.add_argument("--data", type=Path, help="folder that contains the dataset folders")
    parser.add_argument(
        "--clip-benchmark", action="store_true", help="compare with CLIP_benchmark, --rows per type"
    )
    options = parser.parse_args()
    if options.clip_benchmark:
        compare_with_clip_benchmark(options.model, options.rows)
        return
    tasks = select(discover(options.data), [options.task])
    scores = []
    for task, reference_NK, agreement in check(
        make_random_model(options.model), tasks, options.data, options.rows
    ):
        print(f"{task.name}: {agreement}", flush=True)
        scores.append(reference_NK)
    constant = [(rank_truth(np.ones_like(score_NK)).rank_N == 1).mean() for score_NK in scores]
    print(f"constant encoder: R@1 {np.mean(constant):.1%}")
    print("shuffled truth: R@1 {:.1%}, chance {:.1%}".format(*measure_shuffled_truth(scores)))


if __name__ == "__main__":
    main()
