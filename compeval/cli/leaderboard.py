"""``compeval leaderboard``: write a page that ranks models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import Data, err


def leaderboard(
    results: Annotated[
        list[Path] | None, typer.Argument(help="Result folders, of many models. Default: all results in results/.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the page and its tables.")] = Path("leaderboard"),
    data: Data = None,
    about: Annotated[
        Path | None,
        typer.Option(help="CSV with a column model and any of family, parameters, date, training_data, text_only."),
    ] = None,
) -> None:
    """Write a self-contained page that ranks models, with CSV, parquet and LaTeX. Needs compeval[leaderboard]."""
    with err.status("Ranking"):
        from evaluators.leaderboard import build

        page = build(results or [Path("results")], output, data, about)
    typer.echo(f"The leaderboard: {page}")
