"""Find known causes of a disagreement with a published score. Each one is checked on the results; none is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, NamedTuple

from evaluators.results.scores import DECLARATIONS, PublishedScore
from loaders.datasets.folders import is_published

KINDS = {
    "activation": "the published model ran with another activation than its weights were trained with",
    "rows": "another release of the file, or rows without image: the number of rows differs",
    "mean": "another mean (macro or micro) or the authors' own rule agrees",
    "ties": "ties, which are errors here, explain the difference",
    "shuffles": "the published shuffles are not available and were drawn again",
    "precision": "the result is not in fp32",
    "crop": "transformers crops some images one pixel beside open_clip, which the published scores come from",
}
"""Kind of cause -> what it means, in the order of a report."""
ROWS = {
    **{"retrieval/coco": 5000, "retrieval/flickr30k": 1000, "classification/imagenet": 50_000},
    **{"classification/cifar10": 10_000, "classification/cifar100": 10_000},
}
"""Rows of the sets that no declaration describes: the Karpathy test splits and the usual validation sets."""


class Cause(NamedTuple):
    """A cause of a disagreement: its kind and what was found."""

    kind: str
    text: str


def find_causes(
    score: PublishedScore, runs_otherwise: bool, results: Sequence[Mapping[str, Any]], tolerance: float
) -> Iterator[Cause]:
    """Yield the known causes that apply to a score and our results of its tasks, which disagree.

    ``runs_otherwise``: the published model has another activation than its weights.
    """
    if runs_otherwise:
        yield Cause("activation", f"{score.model} ran with GELU, the weights were trained with QuickGELU")
    for result in results:
        expected, rows = _count_published_rows(result["task"]), result["data"]["rows"]
        if expected not in (None, rows):
            yield Cause("rows", f"{result['task']}: {rows:,} rows here, {expected:,} published")
    if score.by == "" and len(results) == 1:
        yield from _compare_metrics(score, results[0]["metrics"], tolerance)
    if fnmatchcase(score.task, "*_order"):
        yield Cause("shuffles", "the published shuffles are not available")
    if any(_is_cropped_by_transformers(result["model"]) for result in results):
        yield Cause("crop", "ran through transformers, which crops a tenth to a quarter of the images one pixel off")
    precisions = {result["model"].get("precision") or "fp32" for result in results} - {"fp32"}
    if precisions:
        yield Cause("precision", f"computed in {', '.join(sorted(precisions))}")


def _is_cropped_by_transformers(model: Mapping[str, Any]) -> bool:
    """Return True for a CLIP that ran through transformers. The offset of its crop is truncated, open_clip's rounded.

    FLAVA and BLIP, which are marked, were published by way of transformers or their own code.
    """
    return model["spec"].startswith("transformers:") and not model.get("contaminated")


def _compare_metrics(score: PublishedScore, metrics: Mapping[str, float], tolerance: float) -> Iterator[Cause]:
    """Yield the other metrics that agree with a score, and the ties if they do when they count as correct."""
    base = score.metric.partition("_macro_")[0]
    for name, value in metrics.items():
        is_other = name != score.metric and (name == base or name.startswith((f"{base}_macro_", "authors_")))
        if is_other and "tie_rate" not in name and abs(100 * value - score.percent) <= tolerance:
            yield Cause("mean", f"{name} agrees ({100 * value:.2f})")
    ties = metrics.get(re.sub(r"(recall@1|score|accuracy)$", "tie_rate", base), 0.0)
    ours = metrics[score.metric]
    if ties and 100 * ours < score.percent <= 100 * (ours + ties) + tolerance:
        yield Cause("ties", f"{ties:.1%} of the queries are ties, which are errors here")


def _count_published_rows(task: str) -> int | None:
    """Return the number of rows of a task in the published files; None if it is not known."""
    dataset, _, rest = task.partition("/")
    if not is_published(dataset):
        return ROWS.get(task)
    rows = import_module(DECLARATIONS).load(dataset).rows
    return rows.get(rest, rows.get(f"{rest}/test"))
