"""A section of the report, and functions that several sections use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluators.report.results import Result
from evaluators.report.tables import MISSING, TEXTS, Table, format_percent, format_with_interval, make_table


@dataclass(frozen=True)
class Section:
    """Tables and figures with a title and a text. ``id`` is the HTML id and a part of the figures' file names."""

    id: str
    tables: Sequence[Table] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    """Caption -> SVG."""
    headline: Sequence[str] = ()
    """Findings for the top of the page, one sentence each, with the chance level."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for metrics.json."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Values of the placeholders in the text."""
    shown: Collection[tuple[str, str]] = ()
    """Model and task of each result that the tables show. The other results are in the tables of all tasks."""
    variant: str = ""
    """Suffix of the section's key in texts.yaml, for sections with several titles and texts."""

    @property
    def title(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["title"]

    @property
    def text(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["text"].format(**self.values)


def format_score(result: Result, metric: str) -> str:
    """Format a metric in percent with its 95 % interval, marked if it is below chance.

    Returns "-" if the result does not have the metric.
    """
    data = result.data
    return format_with_interval(result.metrics.get(metric), data["intervals"].get(metric), data["chance"].get(metric))


def format_over_seeds(results: Sequence[Result], metric: str) -> str:
    """Format a metric in percent: with its interval for one result, with minimum and maximum for several seeds."""
    if len(results) == 1:
        return format_score(results[0], metric)
    shares = [result.metrics[metric] for result in results if metric in result.metrics]
    return format_with_interval(sum(shares) / len(shares), (min(shares), max(shares))) if shares else MISSING


def make_task_table(
    name: str,
    results: Sequence[Result],
    metrics: Mapping[str, str],
    title: str = "Task",
    get_label: Callable[[Result], str] = lambda result: result.data["task"],
    suffix: str = "",
    **values: Any,
) -> Table:
    """Make a table with one row per result: model, label, number of rows, metrics and their chance levels.

    ``title`` is the heading of the labels. ``metrics``: metric -> heading. ``suffix`` and ``values`` are those of
    make_table.
    """
    rows = [
        [
            result.label,
            get_label(result),
            result.data["data"]["rows"],
            *(format_score(result, metric) for metric in metrics),
            " / ".join(format_percent(result.data["chance"].get(metric)) for metric in metrics),
        ]
        for result in sorted(results, key=lambda result: result.model)
    ]
    return make_table(name, ["Model", title, "Rows", *metrics.values(), "Chance"], rows, suffix=suffix, **values)
