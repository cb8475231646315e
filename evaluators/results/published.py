"""Published scores, and ours for the same model and dataset.

scores.csv was entered from the papers' tables and the table of vl_compo: model (the effective name in results), task,
metric, percent, number of tasks if ``task`` is a glob (compared by their mean over rows), source. The raw pairs of
CREPE's Tables 15 and 16 were not released with its hard negatives: with a copy from the authors, name the dataset
``crepe_published`` and its configs ``<corpus>_{sc,uc,ua}_raw``, ``prod_raw``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

SCORES = Path(__file__).with_name("scores.csv")
TOLERANCE = 1.0
"""Percentage points by which scores of one model on one dataset may differ: libraries decode and resize images
differently, and precisions vary."""
SHUFFLE_TOLERANCE = 2.0
"""For ARO's order tasks, whose shuffles were not released and are drawn again."""


class PublishedScore(NamedTuple):
    model: str
    task: str
    metric: str
    percent: float
    tasks: int
    source: str

    def tolerance(self, rows: int) -> float:
        """In percentage points; at least the weight of one row."""
        return max(SHUFFLE_TOLERANCE if fnmatchcase(self.task, "*_order") else TOLERANCE, 100 / rows)


class Match(NamedTuple):
    """A published score and ours, in percent."""

    score: PublishedScore
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
def read_scores() -> tuple[PublishedScore, ...]:
    with SCORES.open(encoding="utf-8", newline="") as file:
        return tuple(
            PublishedScore(model, task, metric, float(percent), int(tasks), source)
            for model, task, metric, percent, tasks, source in list(csv.reader(file))[1:]
        )


def of_model(model: Mapping[str, Any]) -> list[PublishedScore]:
    """The published scores of a model, under any of its names in a result document."""
    names = {model["spec"], model["name"], model["effective"]}
    return [score for score in read_scores() if score.model in names]


def matches(results: Sequence[Mapping[str, Any]]) -> list[Match]:
    """The published scores with results of ours; results on only the first rows do not count."""
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        if result["data"]["limit"] is None:
            by_model.setdefault(result["model"]["effective"], []).append(result)
    pairs = ((score, own) for own in by_model.values() for score in of_model(own[0]["model"]))
    return [match for score, own in pairs if (match := _match(score, own))]


def _match(score: PublishedScore, results: Sequence[Mapping[str, Any]]) -> Match | None:
    """None if a task of the score is missing, or lacks the metric."""
    of_score = [one for one in results if fnmatchcase(one["task"], score.task) and score.metric in one["metrics"]]
    if len(of_score) != score.tasks:
        return None
    rows = sum(one["data"]["rows"] for one in of_score)
    total = sum(one["data"]["rows"] * one["metrics"][score.metric] for one in of_score)
    return Match(score, 100 * total / rows, rows)
