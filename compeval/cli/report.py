"""``compeval report``: write tables, figures and examples to one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import check_results, check_writable, reject_unused_options
from compeval.cli.options import Data

ROWS = 1000


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="Result folders of models. Default: all result folders in results/."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    data: Data = None,
    validity: Annotated[
        Path | None,
        typer.Option(
            help="validity.json, the shares of genuine hard negatives (stage validity of dvc.yaml)."
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            help="Folder with CORPUS.counts.json, the counts of atoms in the training captions "
            "(Figure 12)."
        ),
    ] = None,
    text_only: Annotated[
        list[Path] | None,
        typer.Option(
            help="text_only.json or text_only_DATASET.json, text-only baselines (stage "
            "text_only, `inspect`). Default: the files that `compeval inspect` wrote to "
            "inspection/."
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            min=0, help="Number of rows on the page of rows, which can be filtered (rows.html)."
        ),
    ] = ROWS,
    show_last: Annotated[
        bool,
        typer.Option(
            "--show-last", help="Print the path and the headline of the last report and exit."
        ),
    ] = False,
) -> None:
    """Write the report as HTML and Markdown: tables, figures as in the papers, and examples.

    Example: `compeval report results --output report`.
    """
    page = output / "index.html"
    headline = output / "headline.txt"
    if show_last:
        others = {
            "validity": validity,
            "counts": counts,
            "text_only": text_only,
            "rows": rows != ROWS,
        }
        reject_unused_options("with --show-last", results=results, data=data, **others)
    else:
        folders = results or [Path("results")]
        check_results(folders)
        check_writable(output)
        from compeval.evaluators.report import build

        measured = text_only or sorted(Path("inspection").glob("text_only_*.json"))
        text = build(folders, output, data, validity, counts, measured, rows)
        headline.write_text(text + "\n", encoding="utf-8")
    if not page.is_file():
        raise FileNotFoundError(
            f"{page}: no such report. `make demo` or `compeval report` writes one."
        )
    typer.echo(f"{headline.read_text(encoding='utf-8')}\nThe report: {page}")
