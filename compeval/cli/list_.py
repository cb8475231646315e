"""``compeval list``: list the available datasets, models, tasks and configs."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from compeval.cli.console import AsJson, Data


def list_(
    what: Annotated[Literal["datasets", "models", "tasks", "configs"], typer.Argument()] = "datasets",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List the available datasets, models, tasks or dataset configs."""
    if what == "models":
        from evaluators.models import known_models

        names = list(known_models())
    elif what == "tasks":
        from evaluators.engine.tasks import discover

        names = [task.name for task in discover(data)]
    else:
        _list_tables(what, data, as_json)
        return
    typer.echo(json.dumps(names) if as_json else "\n".join(names))


def _list_tables(what: str, data: Data, as_json: bool) -> None:
    from loaders.datasets.folders import list_datasets
    from loaders.datasets.stats import list_configs

    if what == "datasets":
        rows = [{"dataset": name, "folder": str(folder)} for name, folder in list_datasets(data).items()]
    else:
        rows = [
            {"config": f"{name}/{config}", "split": split, "rows": f"{count:,}"}
            for name in list_datasets(data)
            for config, splits in list_configs(name, data).items()
            for split, count in splits.items()
        ]
    typer.echo(json.dumps(rows) if as_json else "\n".join("\t".join(row.values()) for row in rows))
