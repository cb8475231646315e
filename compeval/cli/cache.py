"""``compeval cache``: the cache of encoded images and texts, and of the scores of language models."""

from __future__ import annotations

from typing import Annotated

import typer

from compeval.cli.console import echo_json
from compeval.cli.options import AsJson

app = typer.Typer(
    no_args_is_help=True, help="Manage the cache of features and of language models' scores."
)


@app.command()
def info(
    as_json: AsJson = False,
) -> None:
    """Print the location and the content of the cache.

    Example: `compeval cache info --json`.
    """
    from compeval.base.files.cache_folder import cache_folder
    from compeval.evaluators.engine.feature_cache import list_cache

    folder = cache_folder()
    files = list_cache(folder)
    if as_json:
        entries = [
            {"file": file.path.name, "bytes": file.size, "idle_days": round(file.idle_days, 2)}
            for file in files
        ]
        echo_json({"folder": str(folder), "files": entries})
        return
    for file in files:
        typer.echo(
            f"{file.path.name}\t{file.size / 1e6:,.1f} MB\tidle for {file.idle_days:.1f} days"
        )
    typer.echo(f"{folder}: {len(files)} files, {sum(file.size for file in files) / 1e6:,.1f} MB")


@app.command()
def prune(
    days: Annotated[
        float,
        typer.Option(
            min=0, help="Delete the files of models that were not used for this many days."
        ),
    ] = 30,
) -> None:
    """Delete the features and scores of models that were not used recently.

    Example: `compeval cache prune --days 7`.
    """
    from compeval.base.files.cache_folder import cache_folder
    from compeval.evaluators.engine import feature_cache

    deleted = feature_cache.prune(cache_folder(), days)
    size = sum(file.size for file in deleted) / 1e6
    typer.echo(f"Deleted {len(deleted)} files, {size:,.1f} MB.")
