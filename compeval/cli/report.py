"""``compeval report``: write tables, figures and examples to one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import check_results, check_writable, reject_unused_options
from compeval.cli.options import Data, OptionalPaths

ROWS = 1000


def report(
    results: OptionalPaths = None,
    output: Path = Path("report"),
    data: Data = None,
    validity: Path | None = None,
    counts: Path | None = None,
    text_only: list[Path] | None = None,
    rows: Annotated[int, typer.Option(min=0)] = ROWS,
    show_last: bool = False,
) -> None:
    """Write the report as HTML and Markdown: tables, figures as in the papers, and examples.

    Args:
        results: Result folders of models. Default: all result folders in results/.
        output: Folder of the report.
        validity: validity.json, the shares of genuine hard negatives (stage validity of dvc.yaml).
        counts: Folder with CORPUS.counts.json, the counts of atoms in the training captions (Figure 12).
        text_only: text_only.json or text_only_DATASET.json, text-only baselines (stage text_only, `inspect`).
            Default: the files that `compeval inspect` wrote to inspection/.
        rows: Number of rows on the page of rows, which can be filtered (rows.html).
        show_last: Print the path and the headline of the last report and exit.
    """
    page, headline = output / "index.html", output / "headline.txt"
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
