"""Show every result that no other section shows, such as results on imported and on own datasets.

One table per dataset, with one row per result and main metric.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from evaluators.report.results import Result, Results
from evaluators.report.section import Section, format_score
from evaluators.report.tables import Table, format_percent, make_table
from evaluators.report.text_only import find_rule
from loaders.datasets.natural import natural_key

HEADER = ("Task", "Model", "Rows", "Metric", "Score", "Chance", "Best text-only rule")


def make_section(results: Results, shown: Collection[tuple[str, str]]) -> Section | None:
    """Make the section of the results that are not in ``shown`` (model, task). Returns None if there are none."""
    others = [result for result in results if result.key not in shown]
    return Section("tasks", list(make_tables("tasks", others, results))) if others else None


def make_tables(name: str, shown: Sequence[Result], results: Results) -> Iterable[Table]:
    """Yield one table per dataset. ``name``: key of the caption in texts.yaml."""
    for dataset in sorted({result.data["dataset"] for result in shown}):
        members = [result for result in shown if result.data["dataset"] == dataset]
        members.sort(key=lambda result: (natural_key(result.data["task"]), result.model))
        rows = [row for result in members for row in make_rows(result, results)]
        yield make_table(name, HEADER, rows, suffix=f"_{dataset}", dataset=dataset)


def make_rows(result: Result, results: Results) -> Iterable[list[object]]:
    """Yield one row per main metric and per macro mean of it."""
    data = result.data
    macros = [metric for metric in result.metrics if "_macro_" in metric]
    label = result.label if data["data"]["limit"] is None else f"{result.label} (first {data['data']['limit']:,} rows)"
    for main in data["main"]:
        for metric in (main, *(macro for macro in macros if macro.startswith(f"{main}_macro_"))):
            rule = find_rule(results, result, metric)
            scores = format_score(result, metric), format_percent(data["chance"].get(metric)), rule and str(rule)
            yield [data["task"], label, data["data"]["rows"], metric, *scores]
