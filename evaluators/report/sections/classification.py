"""Zero-shot classification, alone and against retrieval among hard negatives (evaluators/report/correlation.py)."""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.report.correlation import correlation_figures, correlation_table
from evaluators.report.read import Result, frame
from evaluators.report.sections import Section, by_task


def section(results: Sequence[Result]) -> Section | None:
    """Accuracy of each model on each set, and how it goes with Recall@1 where at least three models have both."""
    classified = [result for result in results if result.data["dataset"] == "classification"]
    if not classified:
        return None
    caption = "Zero-shot classification: accuracy (percent) and its 95 % interval."
    table = frame(results)
    correlated = correlation_table(table)
    return Section(
        "classification",
        "Against zero-shot classification" if correlated else "Zero-shot classification",
        "Each picture is given the class whose mean prompt feature is nearest to it (80 prompts a class by default).",
        [
            by_task("classification", caption, classified, {"top1": "Accuracy"}),
            *([correlated] if correlated else []),
        ],
        correlation_figures(table),
    )
