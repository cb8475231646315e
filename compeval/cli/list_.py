"""``compeval list``: list the available datasets, models, tasks and configs, and the published benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from compeval.cli.console import print_message, print_records, reject_unused_options
from compeval.cli.options import Data, FormatName, prefer_json


def list_(
    what: Annotated[
        Literal["datasets", "benchmarks", "models", "tasks", "configs"],
        typer.Argument(help="What to list."),
    ] = "datasets",
    data: Data = None,
    output_format: Annotated[
        FormatName | None,
        typer.Option(
            "--format",
            callback=prefer_json,
            help="Default: table on a terminal, otherwise lines with tabs.",
        ),
    ] = None,
) -> None:
    """List the available datasets, models, tasks or dataset configs, or the published benchmarks.

    Example: `compeval list tasks --data datasets`.
    """
    if what == "models":
        reject_unused_options("on models", data=data)
    records = _list_records(what, data)
    if not records:
        from compeval.loaders.datasets.folders import search_path

        searched = ", ".join(map(str, search_path(data)))
        print_message(
            f"No dataset was found in {searched}. Download a published one with `compeval get NAME`, or make one of "
            "your own captions with `compeval make`."
        )
    rows = [{name: str(value) for name, value in record.items()} for record in records]
    if output_format is None and not sys.stdout.isatty():
        typer.echo("\n".join("\t".join(row.values()) for row in rows))
        return
    document = (
        [next(iter(record.values())) for record in records]
        if what in ("models", "tasks")
        else records
    )
    print_records(output_format, rows, records, document)


def _list_records(what: str, data: Path | None) -> list[dict[str, str | int]]:
    if what == "models":
        from compeval.evaluators.models import known_models

        return [{"model": name} for name in known_models()]
    if what == "tasks":
        from compeval.evaluators.engine.tasks import discover

        return [{"task": task.name} for task in discover(data)]
    if what == "benchmarks":
        return _list_benchmarks(data)
    from compeval.loaders.datasets.folders import list_datasets
    from compeval.loaders.datasets.split_names import name_split
    from compeval.loaders.datasets.stats import list_configs

    if what == "datasets":
        return [
            {"dataset": name, "folder": str(folder)} for name, folder in list_datasets(data).items()
        ]
    return [
        {"config": f"{name}/{config}", "split": name_split(split), "rows": count}
        for name in list_datasets(data)
        for config, splits in list_configs(name, data).items()
        for split, count in splits.items()
    ]


def _list_benchmarks(data: Path | None) -> list[dict[str, str | int]]:
    from rich.filesize import decimal

    from compeval.loaders import benchmarks
    from compeval.loaders.datasets.folders import list_datasets

    here = list_datasets(data)
    return [
        {
            "benchmark": benchmark.name,
            "asks": benchmark.description,
            "rows": benchmark.row_count,
            "images": decimal(benchmark.image_bytes) if benchmark.image_bytes else "?",
            "year": benchmark.year,
            "reader": benchmark.reader_state,
            "files with a hash": benchmark.source.pinned
            if benchmark.source.files
            else "manual download",
            "not pinned": ", ".join(benchmark.source.unpinned),
            "here": str(here.get(benchmark.name, "no")),
            "licence": benchmark.source.licence,
        }
        for benchmark in benchmarks.load_all()
    ]
