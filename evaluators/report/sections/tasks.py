"""Show every result that no other section shows, such as results on imported and on own datasets.

One table per dataset, with one row per result and main metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compeval.evaluators.protocols.ranking import is_on_request
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.tables import Table, format_with_interval, make_table
from compeval.evaluators.report.text_only import find_best_baseline
from compeval.loaders.datasets.sorting import natural_key


def make_section(name: str, shown: Sequence[Result], results: Results) -> Section:
    """Make the section of some results. ``name``: key of the title and of the captions in texts.yaml."""
    return Section(name, list(make_tables(name, shown, results)))


def make_tables(name: str, shown: Sequence[Result], results: Results) -> Iterator[Table]:
    """Yield one table per dataset."""
    for dataset in sorted({result.data["dataset"] for result in shown}):
        members = [result for result in shown if result.data["dataset"] == dataset]
        members.sort(key=lambda result: (natural_key(result.data["task"]), result.model))
        records = [record for result in members for record in make_records(result, results)]
        yield make_table(name, records, f"_{dataset}", dataset=dataset)


def make_records(result: Result, results: Results) -> Iterator[dict[str, object]]:
    """Yield one row per main metric and per macro mean of it, without those that are shown on request."""
    for main in result.data["main"]:
        macro = (name for name in result.metrics if name.startswith(f"{main}_macro_"))
        for metric in (main, *macro):
            if not is_on_request(metric):
                yield make_record(result, results, metric)


def make_record(result: Result, results: Results, metric: str = "recall@1") -> dict[str, object]:
    """Return the row of a metric: the score with its interval, chance, and of Recall@1 the best text-only baseline."""
    data = result.data
    chance = data["chance"].get(metric)
    baseline = find_best_baseline(results, result) if metric == "recall@1" else None
    return {
        "task": data["task"],
        "model": f"{result.label} (first {data['data']['limit']:,} rows)"
        if result.is_limited
        else result.label,
        "rows": data["data"]["rows"],
        "metric": metric,
        "score": format_with_interval(
            result.metrics.get(metric), data["intervals"].get(metric), chance
        ),
        "chance": chance,
        "baseline": baseline and str(baseline),
    }
