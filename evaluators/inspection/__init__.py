"""Make a page about the hard negatives of a dataset (``compeval inspect``).

    for source in open_sources(["crepe"]):
        inspect(source, Path("inspection"))

For each set (a config with hard negatives): what text-only baselines score, how the true captions differ from their
negatives, duplicates, flaws, and random rows with pictures. The page works from a file, without a network. The same
content is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, zip_longest
from pathlib import Path

from compeval.base.files.atomic import atomic_file
from compeval.base.pipeline.workers import SafePool
from compeval.base.text_only.judges import name_judge
from compeval.evaluators.inspection.measures import SetReport, measure_set
from compeval.evaluators.inspection.predictability import write_predictability
from compeval.evaluators.inspection.rows import Source, TextRow, open_sources
from compeval.evaluators.report.examples import Candidate, Example, make_data_uri, mark_changes
from compeval.evaluators.report.pages import render
from compeval.evaluators.report.tables import (
    ABOVE_CHANCE,
    Table,
    format_percent,
    format_with_interval,
    make_table,
)
from compeval.evaluators.results.task_names import explain_names

__all__ = ["inspect", "open_sources"]
NUM_EXAMPLES = 40
NUM_FIRST = 4
"""Rows at the top of the page."""
WORKERS = 2


def inspect(
    source: Source, output: Path, report: Callable[[str], object] = lambda line: None
) -> list[SetReport]:
    """Write OUTPUT/<name>.html and text_only_<name>.json about a source, which ``compeval report`` reads, too.

    OUTPUT/rows_<name>.csv has the text-only predictability of each sampled row (predictability.py).

    ``report`` is called with a line about the progress.
    """
    with SafePool(min(WORKERS, len(source.sets))) as pool:
        jobs = [pool.submit(measure_set, name, rows) for name, rows in source.sets.items()]
        reports: list[SetReport] = []
        for job in jobs:
            report(f"{source.name}: {len(reports)} of {len(jobs)} sets are measured")
            reports.append(job.result())
    samples = zip_longest(
        *(
            zip(source.sets[report.name].sample, report.predictability, strict=True)
            for report in reports
        )
    )
    rows = [row for row in chain.from_iterable(samples) if row][:NUM_EXAMPLES]
    page = render(
        "inspection.html.j2",
        Path(__file__).parent,
        source=source,
        is_synthetic=source.is_synthetic,
        reports=reports,
        tables=make_tables(source, reports),
        explained=explain_names(
            {
                "dataset": source.name,
                "source": source.origin,
                "config": report.name.partition("/")[0],
            }
            for report in reports
        ),
        examples=[make_example(source, number, row) for number, (row, _) in enumerate(rows)],
        shares=[share for _, share in rows],
        num_first=NUM_FIRST,
    )
    output.mkdir(parents=True, exist_ok=True)
    version = {"version": source.version} if source.version else {}
    documents = {report.name: asdict(report) | version for report in reports}
    for document in documents.values():
        del document["predictability"], document["hits"]  # in the file of the rows
    files = {
        f"text_only_{source.name}.json": json.dumps(documents, indent=1) + "\n",
        f"{source.name}.html": page,
    }
    for name, text in files.items():
        with atomic_file(output / name) as path:
            path.write_text(text, encoding="utf-8")
    write_predictability(output / f"rows_{source.name}.csv", source, reports)
    return reports


def make_example(source: Source, number: int, row: TextRow) -> Example:
    """Return a row with its picture and a number of its own; a row with two images is two examples."""
    image = source.read_image(row)
    texts = (row.caption, *row.hard_negatives)
    candidates = [
        Candidate(text, not index, parts=mark_changes(row.caption, text))
        for index, text in enumerate(texts)
    ]
    return Example(row.set, number, None if image is None else make_data_uri(image), candidates)


def make_tables(source: Source, reports: Sequence[SetReport]) -> Mapping[str, tuple[str, Table]]:
    """Return id of a section of the page -> its title and its table."""
    genuine: dict[str, dict[str, object]] = {}
    shares = source.validity["genuine"] if source.validity else []
    for entry in sorted(shares, key=lambda entry: (entry["type"], -entry["recall"])):
        cell = f"{format_percent(entry['genuine'])} ({entry['captions']:,} captions)"
        genuine.setdefault(entry["type"], {"Type": entry["type"]})[f"recall {entry['recall']}"] = (
            cell
        )
    contrasts = [
        vars(contrast) | {"set": report.name} for report in reports for contrast in report.contrasts
    ]
    records = {
        "best": ("Text-only baselines", map(_describe_best, reports)),
        "baselines": ("All baselines", map(_describe_baselines, reports)),
        "genuine": ("Genuine negatives", genuine.values()),
        "contrasts": ("Captions against negatives", contrasts),
        "words": ("Words", map(_describe_words, reports)),
        "duplicates": ("Duplicates and flaws", map(_describe_rows, reports)),
    }
    tables = {
        id: (title, make_table(f"inspection_{id}", lines)) for id, (title, lines) in records.items()
    }
    return {id: (title, table) for id, (title, table) in tables.items() if len(table.cells)}


def _describe_best(report: SetReport) -> dict[str, object]:
    scores = report.rules[report.best_baseline]
    mark = ABOVE_CHANCE if report.best_baseline in report.above_chance else ""
    return {
        "set": report.name,
        "rows": report.rows,
        "best": format_with_interval(scores["recall@1"], scores["interval"], mark=mark),
        "chance": report.chance,
        "name": name_judge(report.best_baseline),
    }


def _describe_baselines(report: SetReport) -> dict[str, object]:
    marks = {key: ABOVE_CHANCE if key in report.above_chance else "" for key in report.rules}
    scores = {
        name_judge(key): format_with_interval(
            scores["recall@1"], scores["interval"], mark=marks[key]
        )
        for key, scores in report.rules.items()
    }
    return {"Set": report.name, **scores}


def _describe_words(report: SetReport) -> dict[str, str]:
    record = {"set": report.name}
    for column, is_true in (("captions", True), ("negatives", False)):
        words = [word for word in report.words if (word.truth > word.negatives) == is_true]
        shares = [
            f"{word.name} ({format_percent(word.truth)}, {format_percent(word.negatives)})"
            for word in words
        ]
        record[column] = "; ".join(shares) or "none"
    return record


def _describe_rows(report: SetReport) -> dict[str, object]:
    sizes = report.candidates
    candidates = [
        f"{size} ({rows:,} rows)" if len(sizes) > 1 else str(size) for size, rows in sizes.items()
    ]
    texts = {"candidates": ", ".join(candidates), "flaws": "; ".join(report.flaws) or "none"}
    return {**vars(report), **report.duplicates, **texts}
