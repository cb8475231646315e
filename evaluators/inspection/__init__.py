"""Make a page about the hard negatives of a dataset (``compeval inspect``).

    for source in open_sources(["crepe"]):
        inspect(source, Path("inspection"))

For each set (a config with hard negatives): what text-only rules score, how the true captions differ from their
negatives, duplicates, flaws, and random rows with pictures. The page works from a file, without a network. The same
content is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jinja2

from evaluators.inspection.measures import SetReport, measure_set
from evaluators.inspection.rows import Source, TextRow, open_sources
from evaluators.report.examples import make_data_uri, mark_changes
from evaluators.report.tables import format_p, format_percent
from evaluators.report.text_only import label
from generators.files.atomic import atomic_file

__all__ = ["inspect", "open_sources"]
NUM_EXAMPLES = 40
WORKERS = 2


def inspect(source: Source, output: Path, report: Callable[[str], object] = lambda line: None) -> list[SetReport]:
    """Write OUTPUT/<name>.html and text_only_<name>.json about a source, which ``compeval report`` reads, too.

    ``report`` is called with a line about the progress.
    """
    with ProcessPoolExecutor(min(WORKERS, len(source.sets)), get_context("spawn")) as pool:
        jobs = [pool.submit(measure_set, name, rows) for name, rows in source.sets.items()]
        reports: list[SetReport] = []
        for job in jobs:
            report(f"{source.name}: {len(reports)} of {len(jobs)} sets are measured")
            reports.append(job.result())
    output.mkdir(parents=True, exist_ok=True)
    page = output / f"{source.name}.html"
    version = {"version": source.version} if source.version else {}
    with atomic_file(output / f"text_only_{source.name}.json") as path:
        path.write_text(json.dumps({report.name: asdict(report) | version for report in reports}, indent=1) + "\n")
    with atomic_file(page) as path:
        path.write_text(render(source, reports), encoding="utf-8")
    return reports


def render(source: Source, reports: Sequence[SetReport]) -> str:
    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, folder.parent / "report"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = format_percent
    environment.filters["p_value"] = format_p
    return environment.get_template("page.html.j2").render(
        source=source,
        reports=reports,
        rules={name: label(name) for name in reports[0].rules},
        examples=make_examples(source, [report.name for report in reports]),
    )


def make_examples(source: Source, names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return ``NUM_EXAMPLES`` random rows, equally many of each set if possible."""
    columns = [source.sets[name].sample for name in names]
    order = [row for rank in range(max(map(len, columns))) for column in columns for row in column[rank : rank + 1]]
    return [_make_example(source, row) for row in order[:NUM_EXAMPLES]]


def _make_example(source: Source, row: TextRow) -> Mapping[str, Any]:
    image = source.read_image(row)
    return {
        "set": row.set,
        "image": None if image is None else make_data_uri(image),
        "caption": row.caption,
        "negatives": [mark_changes(row.caption, text) for text in row.hard_negatives],
    }
