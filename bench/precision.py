"""Count the ranks that differ between fp32 and bf16 with a trained model, and how close the scores of these rows are.

    python -m bench.precision local:checkpoints/clip-laion-s0 [--data .] [--task 'crepe/*_hn*']

A rank is that of the true caption among the candidates of its row; a tie counts as wrong. The margin is the absolute
difference in fp32 between the truth and the nearest wrong candidate. Prints a Markdown table with one line per task.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from bench.engine import describe_processor
from evaluators.engine.tasks import Task, discover, select
from evaluators.models import Precision, resolve
from evaluators.run import run


def read_scores(output: Path, task: Task) -> np.ndarray:
    """Return the scores (N, K) that a run wrote; the truth is candidate 0."""
    (path,) = output.rglob(f"{task.name}.parquet")
    return np.stack(pq.read_table(path)["scores"].to_numpy()).astype(np.float32)


def rank(score_NK: np.ndarray) -> np.ndarray:
    return 1 + (score_NK[:, 1:] >= score_NK[:, :1]).sum(axis=1)


def compare(expected_NK: np.ndarray, actual_NK: np.ndarray) -> tuple[int, int, int, float, float]:
    """Return the rows, those with another rank, those right in one only, the median margin and the largest with another
    rank."""
    different_N = rank(expected_NK) != rank(actual_NK)
    hits_N = (rank(expected_NK) == 1) != (rank(actual_NK) == 1)
    margin_N = np.abs(expected_NK[:, 1:] - expected_NK[:, :1]).min(axis=1)
    largest = float(margin_N[different_N].max(initial=0))
    return len(expected_NK), int(different_N.sum()), int(hits_N.sum()), float(np.median(margin_N)), largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="spec of a trained dual encoder")
    parser.add_argument("--data", type=Path, help="folder that contains the dataset folders")
    parser.add_argument("--task", default="crepe/*_hn*", help="names or globs of tasks with hard negatives")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    tasks = select(discover(options.data), options.task)
    with tempfile.TemporaryDirectory() as name:
        os.environ["COMPEVAL_CACHE"] = f"{name}/cache"
        folders: dict[Precision, Path] = {"fp32": Path(name) / "fp32", "bf16": Path(name) / "bf16"}
        for precision, folder in folders.items():
            model = resolve(options.model, options.device, precision)
            run(model, tasks, data_dir=options.data, output=folder, device=options.device)
        machine = describe_processor() if options.device == "cpu" else torch.cuda.get_device_name(options.device)
        print(f"{options.model}, bf16 against fp32 on {machine}\n")
        print("| task | rows | other rank | right in one only | median margin | largest margin with another rank |")
        print("| --- | --- | --- | --- | --- | --- |")
        scores = {task: [read_scores(folder, task) for folder in folders.values()] for task in tasks}
        totals = [0, 0, 0]
        for task, (expected_NK, actual_NK) in scores.items():
            *counts, median, largest = compare(expected_NK, actual_NK)
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
            print(f"| {task.name} | {counts[0]:,} | {counts[1]} | {counts[2]} | {median:.4f} | {largest:.4f} |")
        rows, ranks, hits = totals
        print(f"| all | {rows:,} | {ranks} ({ranks / rows:.1%}) | {hits} ({hits / rows:.1%}) | | |")


if __name__ == "__main__":
    main()
