"""A section of the report, and the tables that several sections have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluators.report.results import Result
from evaluators.report.tables import MISSING, TEXTS, Table, percent, table, with_interval


@dataclass(frozen=True)
class Section:
    """Tables and figures under a title; ``id`` is the anchor and part of the figures' file names."""

    id: str
    tables: Sequence[Table] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    """Caption -> SVG."""
    headline: Sequence[str] = ()
    """Findings for the top of the page: a sentence each, with the chance level."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for metrics.json."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Values of the placeholders in the text."""
    variant: str = ""
    """The end of the key of title and text, where a section has several."""

    @property
    def title(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["title"]

    @property
    def text(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["text"].format(**self.values)


def score(result: Result, metric: str) -> str:
    """A metric in percent with its 95 % interval; "-" if the result does not have it."""
    return with_interval(result.metrics.get(metric), result.data["intervals"].get(metric))


def over_seeds(results: Sequence[Result], metric: str) -> str:
    """A metric in percent: of one result with its interval, of several seeds the mean with minimum and maximum."""
    if len(results) == 1:
        return score(results[0], metric)
    shares = [result.metrics[metric] for result in results if metric in result.metrics]
    return with_interval(sum(shares) / len(shares), (min(shares), max(shares))) if shares else MISSING


def by_task(
    name: str,
    results: Sequence[Result],
    metrics: Mapping[str, str],
    title: str = "Task",
    label: Callable[[Result], str] = lambda result: result.data["task"],
) -> Table:
    """One row per result: model, ``label`` under ``title``, row count, metrics (key -> heading), chance of each."""
    rows = [
        [
            result.label,
            label(result),
            result.data["data"]["rows"],
            *(score(result, metric) for metric in metrics),
            " / ".join(percent(result.data["chance"].get(metric)) for metric in metrics),
        ]
        for result in sorted(results, key=lambda result: result.model)
    ]
    return table(name, ["Model", title, "Rows", *metrics.values(), "Chance"], rows)
