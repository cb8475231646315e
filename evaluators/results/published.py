"""Compare results with published scores of the same model on the same dataset.

scores.csv contains the values of the papers' tables and of the table of vl_compo. Its columns are model (the effective
name in results), task, metric, percent, number of tasks (if ``task`` is a glob pattern; their mean over rows is
compared) and source. CREPE's authors did not release the raw pairs of Tables 15 and 16. If you have a copy, name the
dataset ``crepe_published`` and its configs ``<corpus>_{sc,uc,ua}_raw`` and ``prod_raw``.
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
"""Tolerated difference in percentage points. Libraries decode and resize images differently, and precisions vary."""
ALIASES = {
    "NegCLIP/coco-ft": "NegCLIP",
    "openai/clip-vit-base-patch32": "ViT-B-32/openai",
    "openai/clip-vit-base-patch16": "ViT-B-16/openai",
    "openai/clip-vit-large-patch14": "ViT-L-14/openai",
    "openai/clip-vit-large-patch14-336": "ViT-L-14-336/openai",
}
SHUFFLE_TOLERANCE = 2.0
"""Tolerance for ARO's order tasks, whose published shuffles are not available."""


class PublishedScore(NamedTuple):
    model: str
    task: str
    metric: str
    percent: float
    tasks: int
    source: str

    def get_tolerance(self, num_rows: int) -> float:
        """Return the tolerance in percentage points. It is at least the weight of one row."""
        return max(SHUFFLE_TOLERANCE if fnmatchcase(self.task, "*_order") else TOLERANCE, 100 / num_rows)


class Match(NamedTuple):
    """A published score and our score for the same model and task, in percent."""

    score: PublishedScore
    ours: float
    rows: int

    @property
    def difference(self) -> float:
        return self.ours - self.score.percent

    @property
    def tolerance(self) -> float:
        return self.score.get_tolerance(self.rows)

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


@cache
def get_canonical_name(name: str) -> str:
    """Return one name for all names of a model: with -quickgelu if the weights were trained with this activation."""
    from evaluators.models.openclip import parse_name

    name = ALIASES.get(name.removeprefix("transformers:"), name)
    try:
        architecture, weights, is_quick_gelu = parse_name(name)
    except (ValueError, OSError):  # not a name of open_clip
        return name
    return f"{architecture}{'-quickgelu' if is_quick_gelu else ''}/{weights}"


def find_scores(*names: str) -> list[PublishedScore]:
    """Return the published scores of a model, given its names."""
    names = tuple(ALIASES.get(name.removeprefix("transformers:"), name) for name in names)
    if not any("/" in name.partition(":")[0] for name in names):  # none is open_clip's, which is slow to load
        return [score for score in read_scores() if score.model in names]
    canonical = {get_canonical_name(name) for name in names}
    return [score for score in read_scores() if get_canonical_name(score.model) in canonical]


def get_names(result: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the names of a result's model."""
    model = result["model"]
    return model["spec"], model["name"], model["effective"]


def match_scores(results: Sequence[Mapping[str, Any]]) -> list[Match]:
    """Return the published scores for which there is a result. Results with a row limit are ignored."""
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        if result["data"]["limit"] is None:
            by_model.setdefault(result["model"]["effective"], []).append(result)
    pairs = (
        (score, model_results)
        for model_results in by_model.values()
        for score in find_scores(*get_names(model_results[0]))
    )
    return [match for score, model_results in pairs if (match := _match_score(score, model_results))]


def _match_score(score: PublishedScore, results: Sequence[Mapping[str, Any]]) -> Match | None:
    """Compare a published score with the results of a model. Returns None if a task or the metric is missing."""
    matching = [item for item in results if fnmatchcase(item["task"], score.task) and score.metric in item["metrics"]]
    if len(matching) != score.tasks:
        return None
    num_rows = sum(item["data"]["rows"] for item in matching)
    total = sum(item["data"]["rows"] * item["metrics"][score.metric] for item in matching)
    return Match(score, 100 * total / num_rows, num_rows)
