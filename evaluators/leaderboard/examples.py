"""Rows of the benchmarks with their picture and what each model chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators.leaderboard.scores import BenchmarkScores
from evaluators.report.examples import find_best, is_current, make_data_uri, mark_changes
from evaluators.report.results import Result
from loaders.datasets.load import load_dataset

ROWS_PER_BENCHMARK = 8


@dataclass(frozen=True)
class Choice:
    """A caption, marked where it differs from the true one, and the models that ranked it first."""

    parts: Sequence[tuple[str, bool]]
    is_truth: bool
    models: Sequence[str]


@dataclass(frozen=True)
class RowExample:
    benchmark: str
    task: str
    row: int
    image: str | None
    """Data URI, or None if the dataset is not here."""
    choices: Sequence[Choice]

    @property
    def id(self) -> str:
        return f"row-{self.task}-{self.row}".replace("/", "-").replace("@", "-")


def collect_examples(benchmarks: Sequence[BenchmarkScores], data_dir: Path | None) -> list[RowExample]:
    """Return the rows with hard negatives of each benchmark on which the models disagree most."""
    return [
        example
        for benchmark in benchmarks
        for task, members in list(benchmark.paths.items())
        if next(iter(members.values())).data["protocol"] == "choice"
        for example in _collect(benchmark, task, members, data_dir)
    ]


def _collect(
    benchmark: BenchmarkScores, task: str, members: Mapping[str, Result], data_dir: Path | None
) -> list[RowExample]:
    frames = {model: result.examples.set_index("row") for model, result in members.items()}
    shared = sorted(set.intersection(*(set(rows.index) for rows in frames.values())))
    hits_N = np.mean([(rows.loc[shared, "rank"] == 1).to_numpy() for rows in frames.values()], axis=0)
    count = max(1, ROWS_PER_BENCHMARK // len(benchmark.tasks))
    order = np.argsort(np.abs(hits_N - 0.5), kind="stable")[:count]
    first = next(iter(members.values()))
    split: Any = None
    if is_current(first, data_dir):
        split = load_dataset(first.data["dataset"], first.data["config"], first.data["split"], data_dir)
    return [_make_example(benchmark.name, task, int(shared[index]), frames, split) for index in order]


def _make_example(benchmark: str, task: str, row: int, frames: Mapping[str, pd.DataFrame], split: Any) -> RowExample:
    columns: Any = next(iter(frames.values())).loc[row]
    captions = [columns["caption"], *columns["hard_negatives"]]
    picks = {model: find_best(list(rows.loc[row]["scores"])) for model, rows in frames.items()}
    choices = [
        Choice(mark_changes(captions[0], text), index == 0, [model for model, best in picks.items() if best == index])
        for index, text in enumerate(captions)
    ]
    return RowExample(benchmark, task, row, make_data_uri(split[row]["image"]) if split is not None else None, choices)
