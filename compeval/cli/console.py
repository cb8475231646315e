"""Output, error handling and options that the commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

WIDTH_WITHOUT_TERMINAL = 160
out = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = Console(stderr=True)

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder that contains the dataset folders. Default: current folder, then checkout."),
]
DatasetsOutput = Annotated[
    Path, typer.Option("--output", help="Folder to write the dataset folder to; pass it to other commands as `--data`.")
]
Results = Annotated[Path, typer.Option("--output", help="Folder of the results.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1. Default: the fastest available device.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Commands(TyperGroup):
    """Command group that prints user errors as one message without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, FileNotFoundError, ModuleNotFoundError) as error:
            err.print(f"[red]Error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            note("Interrupted. Finished work is saved; run the same command again to continue.")
            raise typer.Exit(130) from None


def note(text: str) -> None:
    """Print a message to stderr, without rich markup and line breaks."""
    err.print(escape(text), highlight=False, soft_wrap=True)


def echo_json(data: Any) -> None:
    """Print JSON to stdout."""
    typer.echo(json.dumps(data, indent=1, ensure_ascii=False))


def table(*header: str) -> Any:
    """Return a rich table of plain text, without markup. Columns after the second one are right-aligned."""
    from rich.table import Table
    from rich.text import Text

    class PlainTable(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), **options)

    result = PlainTable(*header)
    for column in result.columns[:2]:
        column.overflow = "fold"
    for column in result.columns[2:]:
        column.justify = "right"
    return result


@contextmanager
def progress(*, in_bytes: bool = False) -> Iterator[Any]:
    """Show one progress bar per stage. Yields the callback ``report(stage, num_done, total)``."""
    from rich import progress as rich_progress

    if in_bytes:
        counts = (rich_progress.DownloadColumn(), rich_progress.TransferSpeedColumn())
    else:
        rate = rich_progress.TextColumn("{task.fields[rate]}", justify="right", markup=False)
        counts = (rich_progress.MofNCompleteColumn(), rate)
    description = rich_progress.TextColumn("{task.description}", markup=False)
    columns = (description, rich_progress.BarColumn(), *counts, rich_progress.TimeRemainingColumn())
    with rich_progress.Progress(*columns, console=err) as display:
        bars: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = display.add_task(stage, total=total, rate="")
            speed = display.tasks[bars[stage]].speed
            display.update(bars[stage], completed=done, total=total, rate=f"{speed:,.0f}/s" if speed else "")

        yield report
