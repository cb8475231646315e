"""Find known causes of a disagreement with a published score. Each one is checked on the results; none is guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from compeval.evaluators.results.matches import Cause, Match
from compeval.evaluators.results.scores import MEAN, PublishedScore, count_rows
from compeval.evaluators.results.ties import get_tie_rate

KINDS = {
    "activation": "the published model ran with another activation than its weights were trained with",
    "rows": "the score is over other rows: another release of the file, a part of it, or rows without image",
    "mean": "another mean (macro or micro) or the authors' own rule agrees",
    "ties": "ties, which are errors here, explain the difference",
    "shuffles": "the published shuffles are not available and were drawn again",
    "precision": "the result is not in fp32",
    "crop": "transformers crops some images one pixel off from open_clip, which the published scores come from",
}
"""Kind of cause -> what it means, in the order of a report."""

QUICK_GELU = "-quickgelu/"


def find_causes(
    score: PublishedScore, model: str, results: Sequence[Mapping[str, Any]], match: Match
) -> Iterator[Cause]:
    """Yield the known causes that apply to a score and a model's results of its tasks.

    They disagree or are on other rows.
    """
    if (QUICK_GELU in score.model) != (QUICK_GELU in model):
        ran = ("QuickGELU", "the result with GELU")
        if QUICK_GELU in model:
            ran = ("GELU", "the weights were trained with QuickGELU")
        yield Cause("activation", f"{score.model} ran with {ran[0]}, {ran[1]}")
    if match.is_on_other_rows:
        yield Cause("rows", describe_rows(score, match.rows))
    for result in results if len(results) > 1 else ():
        expected = count_rows(result["task"])
        rows = result["data"]["rows"]
        if expected not in (None, rows):
            yield Cause(
                "rows", f"{result['task']}: {rows:,} rows here, {expected:,} in the released file"
            )
    if match.agrees:
        return
    if score.by == "" and score.metric != MEAN and len(results) == 1:
        yield from _compare_metrics(score, results[0]["metrics"], match.tolerance)
    if fnmatchcase(score.task, "*_order") or fnmatchcase(score.task, "*@shuffle_*"):
        yield Cause("shuffles", "the published shuffles are not available")
    if any(map(_is_cropped_by_transformers, results)):
        yield Cause(
            "crop",
            "ran through transformers, which crops a tenth to a quarter of the images one pixel off",
        )
    precisions = {result["model"].get("precision") or "fp32" for result in results} - {"fp32"}
    if precisions:
        yield Cause("precision", f"computed in {', '.join(sorted(precisions))}")


def _is_cropped_by_transformers(result: Mapping[str, Any]) -> bool:
    """Return True for a CLIP that ran through transformers. The offset of its crop is truncated, open_clip's rounded.

    FLAVA and BLIP, which are marked, were published by way of transformers or their own code. SigLIP and ALIGN are
    resized without a crop; a result knows them by their names only.
    """
    spec = result["model"]["spec"].lower()
    is_resized = "siglip" in spec or "align" in spec
    return (
        spec.startswith("transformers:")
        and not is_resized
        and not result["model"].get("contaminated")
    )


def describe_rows(score: PublishedScore, rows: int) -> str:
    """Return the number of rows of a result and of a score, and which rows the score is over."""
    published = "" if score.rows is None else f"{score.rows:,} published"
    return (
        f"{rows:,} rows here, {published}{score.subset and published and ': '}{score.subset or ''}"
    )


def _compare_metrics(
    score: PublishedScore, metrics: Mapping[str, float], tolerance: float
) -> Iterator[Cause]:
    """Yield the other metrics that agree with a score, and the ties if they do when they count as correct."""
    base = score.metric.partition("_macro_")[0]
    for name, value in metrics.items():
        is_other = name != score.metric and (
            name == base or name.startswith((f"{base}_macro_", "authors_"))
        )
        if is_other and "tie_rate" not in name and abs(100 * value - score.percent) <= tolerance:
            yield Cause("mean", f"{name} agrees ({100 * value:.2f})")
    ties = get_tie_rate(metrics, score.metric)
    ours = metrics[score.metric]
    if ties and 100 * ours < score.percent <= 100 * (ours + ties) + tolerance:
        yield Cause("ties", f"{ties:.1%} of the queries are ties, which are errors here")
