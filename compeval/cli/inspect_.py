"""``compeval inspect``: make a page about the hard negatives of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import AsJson, Data, Format, err, note, print_records


def inspect(
    targets: Annotated[list[str], typer.Argument(help="Names or folders of datasets, or published files.")],
    output: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("inspection"),
    data: Data = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Make a page per dataset: text-only baselines, how captions differ from negatives, duplicates, random rows.

    A baseline that learns is trained on other images of the same set, so the page shows what a model can learn from the
    texts of the set. `compeval audit` prints the simplest baselines and all flaws in seconds.
    """
    from evaluators.inspection import inspect as make_page
    from evaluators.inspection import open_sources
    from evaluators.report.tables import format_percent
    from evaluators.report.text_only import name_baseline

    rows, records = [], []
    with err.status("Reading"):
        sources = open_sources(targets, data)
    for source in sources:
        with err.status(source.name) as status:
            reports = make_page(source, output, status.update)
        note(f"{source.name}: {output / source.name}.html")
        for report in reports:
            low, high = report.rules[report.best_baseline]["interval"]
            rule = name_baseline(report.best_baseline)
            verdict = "above chance" if report.above_chance else "not above chance"
            rows.append(
                (
                    *(source.name, report.name, f"{report.rows:,}", format_percent(report.chance)),
                    *(format_percent(report.best_recall), f"{format_percent(low)} to {format_percent(high)}"),
                    *(rule, verdict),
                )
            )
            records.append(
                {
                    **{"dataset": source.name, "set": report.name, "rows": report.rows, "chance": report.chance},
                    **{"rule": rule, "recall@1": report.best_recall, "low": low, "high": high, "verdict": verdict},
                }
            )
    header = ("dataset", "set", "rows", "chance %", "best baseline %", "95 %", "text-only baseline", "verdict")
    print_records("json" if as_json else output_format, header, rows, records, records, left=2)
