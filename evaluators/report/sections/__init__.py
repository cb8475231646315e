"""Sections of the report beside CREPE's: one file a benchmark, found because it is there.

Each file has a pure function ``section(results)``: what it makes of all results that the report is on, None where none
of them is of its benchmark. Sections come in the order of their file names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pandas as pd

from evaluators.report.read import SEED, Result
from evaluators.report.tables import Table, percent


@dataclass(frozen=True)
class Section:
    """A title with what stands below it; ``id`` is its anchor and part of its figures' file names."""

    id: str
    title: str
    text: str
    """What was measured, by which rule, and what chance is: a paragraph."""
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)
    """Caption -> SVG."""
    headline: list[str] = field(default_factory=list)
    """Findings for the top of the page: a sentence each, with the chance level."""


def sections(results: Sequence[Result]) -> list[Section]:
    """Every section that the results give something for."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    return [section for module in modules if (section := module.section(results))]


def marked_name(result: Result) -> str:
    """The model, marked where its training images are the benchmark's."""
    model = result.data["model"]
    return f"{model['name']} *" if model["contaminated"] else model["name"]


def by_series(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Model, marked, without the number of its training seed -> results of all its seeds."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.data["model"]["name"]):
        model = result.data["model"]
        name = SEED.sub("", model["name"]) + (" *" if model["contaminated"] else "")
        found.setdefault(name, []).append(result)
    return found


def over_seeds(results: Sequence[Result], metric: str) -> str:
    """A share in percent: of one result with its interval, of several seeds the mean with the lowest and highest."""
    if len(results) == 1:
        return with_interval(results[0], metric)
    shares = [result.data["metrics"][metric] for result in results if metric in result.data["metrics"]]
    if not shares:
        return "-"
    return f"{percent(sum(shares) / len(shares))} [{100 * min(shares):.1f}, {100 * max(shares):.1f}]"


def mean_and_deviation(shares: Sequence[float]) -> str:
    """Percent, with the standard deviation where there are several; a dash for none."""
    if not shares:
        return "-"
    spread = f" ± {100 * float(np.std(shares, ddof=1)):.2f}" if len(shares) > 1 else ""
    return f"{percent(float(np.mean(shares)))}{spread}"


def with_interval(result: Result, metric: str) -> str:
    """A share in percent and its 95 % interval; a dash where the result has none."""
    if metric not in result.data["metrics"]:
        return "-"
    low, high = result.data["intervals"][metric]
    return f"{percent(result.data['metrics'][metric])} [{100 * low:.1f}, {100 * high:.1f}]"


def by_task(
    name: str,
    caption: str,
    results: Sequence[Result],
    metrics: Mapping[str, str],
    title: str = "Task",
    label: Callable[[Result], str] = lambda result: result.data["task"],
) -> Table:
    """One row a result: model, ``label`` under ``title``, rows, the metrics by the names given, chance of each."""
    body = [
        [
            marked_name(result),
            label(result),
            f"{result.data['data']['rows']:,}",
            *(with_interval(result, metric) for metric in metrics),
            " / ".join(percent(result.data["chance"].get(metric)) for metric in metrics),
        ]
        for result in sorted(results, key=lambda result: result.data["model"]["name"])
    ]
    header = ["Model", title, "Rows", *metrics.values(), "Chance"]
    return Table(name, caption, pd.DataFrame(body, columns=pd.Index(header)))
