"""Published scores, and how ours compare where model and set are the same.

scores.csv was entered from the papers' tables and the table of vl_compo: model (as results name the effective one),
task, metric, percent, the number of tasks that ``task`` stands for where it is a glob (compared by their mean over
rows), and the source. The raw pairs of CREPE's Tables 15 and 16 were not released with its hard negatives: whoever has
them from the authors calls the dataset ``crepe_published`` and its configs ``<corpus>_{sc,uc,ua}_raw``, ``prod_raw``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

SCORES = Path(__file__).with_name("scores.csv")
POINTS = 1.0
"""Percentage points by which numbers of one model on one set may differ: libraries decode and resize images
differently, and weights were run in other precisions."""
REDRAWN_POINTS = 2.0
"""Of the orders, whose shuffles were never released and are drawn anew."""
REDRAWN = ("*_order",)


@dataclass(frozen=True)
class Score:
    model: str
    task: str
    metric: str
    percent: float
    tasks: int
    source: str

    def tolerance(self, rows: int) -> float:
        """In percentage points: never less than one row of the set is worth."""
        return max(REDRAWN_POINTS if any(fnmatchcase(self.task, glob) for glob in REDRAWN) else POINTS, 100 / rows)


@dataclass(frozen=True)
class Pair:
    """A published score and ours; ``ours`` in percent."""

    score: Score
    ours: float
    rows: int

    @property
    def difference(self) -> float:
        return self.ours - self.score.percent

    @property
    def tolerance(self) -> float:
        return self.score.tolerance(self.rows)

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.tolerance


@cache
def read_scores() -> tuple[Score, ...]:
    with SCORES.open(encoding="utf-8", newline="") as file:
        return tuple(
            Score(row["model"], row["task"], row["metric"], float(row["percent"]), int(row["tasks"]), row["source"])
            for row in csv.DictReader(file)
        )


def of_model(model: Mapping[str, Any]) -> list[Score]:
    """The published scores of a model, known by any of its names in a result."""
    names = {model["spec"], model["name"], model["effective"]}
    return [score for score in read_scores() if score.model in names]


def pairs(results: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """What result documents have beside published scores; results of only the first rows are compared with none."""
    whole = [result for result in results if result["data"]["limit"] is None]
    found = []
    for model in {result["model"]["effective"]: result["model"] for result in whole}.values():
        mine = [result for result in whole if result["model"]["effective"] == model["effective"]]
        found += [pair for score in of_model(model) if (pair := _pair(score, mine))]
    return found


def _pair(score: Score, results: Sequence[Mapping[str, Any]]) -> Pair | None:
    """None where a task of the score is missing, or has not that metric."""
    chosen = [one for one in results if fnmatchcase(one["task"], score.task) and score.metric in one["metrics"]]
    if len(chosen) != score.tasks:
        return None
    rows = [one["data"]["rows"] for one in chosen]
    total = sum(count * one["metrics"][score.metric] for count, one in zip(rows, chosen, strict=True))
    return Pair(score, 100 * total / sum(rows), sum(rows))
