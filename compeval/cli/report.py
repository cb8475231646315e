"""``compeval report``: write tables, figures and examples to one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import Data


def report(
    results: Annotated[
        list[Path] | None, typer.Argument(help="Result folders of models. Default: all result folders in results/.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    data: Data = None,
    validity: Annotated[
        Path | None,
        typer.Option(help="validity.json, the shares of genuine hard negatives (stage validity of dvc.yaml)."),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(help="Folder with CORPUS.counts.json, the counts of atoms in the training captions (Figure 12)."),
    ] = None,
    text_only: Annotated[
        list[Path] | None,
        typer.Option(
            help="text_only.json or text_only_DATASET.json, text-only baselines (stage text_only, `inspect`)."
        ),
    ] = None,
    where: Annotated[
        bool, typer.Option("--where", help="Print the path and the headline of the last report and exit.")
    ] = False,
) -> None:
    """Write the report as HTML and Markdown: tables, figures as in the papers, and examples."""
    page, headline = output / "index.html", output / "headline.txt"
    if not where:
        from evaluators.report import build

        folders = results or [Path("results")]
        text = build(folders, output, data, validity, counts, text_only or ())
        headline.write_text(text + "\n")
    if not page.is_file():
        raise FileNotFoundError(f"{page}: no such report. `make demo` or `compeval report` writes one.")
    typer.echo(f"{headline.read_text()}\nThe report: {page}")
