"""What the commands share: where they print, how they fail, the options that several have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

WIDTH_OF_A_FILE = 160
out = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
err = Console(stderr=True)

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder that holds the dataset folders. Default: here, then the checkout.")
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1. Default: the best.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Commands(TyperGroup):
    """Turns the errors that tell users what to do into one message, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, FileNotFoundError, ModuleNotFoundError) as error:
            err.print(f"[red]Error:[/red] {plain(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            err.print("Stopped. What was done is kept: the same command goes on from here.")
            raise typer.Exit(130) from None


def plain(text: str) -> str:
    """The text as it stands, without rich's markup."""
    from rich.markup import escape

    return escape(text)


def table(*header: str) -> Any:
    """A rich table; from the third column on, numbers."""
    from rich.table import Table

    made = Table(*header)
    for column in made.columns[:2]:
        column.overflow = "fold"
    for column in made.columns[2:]:
        column.justify = "right"
    return made


@contextmanager
def progress(*, in_bytes: bool = False) -> Iterator[Any]:
    """A progress display: one bar a stage, with rate and time left."""
    from rich import progress as parts

    counted = parts.DownloadColumn() if in_bytes else parts.MofNCompleteColumn()
    rate = parts.TransferSpeedColumn() if in_bytes else parts.TextColumn("{task.fields[rate]}", justify="right")
    columns = (parts.TextColumn("{task.description}"), parts.BarColumn(), counted, rate, parts.TimeRemainingColumn())
    with parts.Progress(*columns, console=err) as shown:
        bars: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=total, rate="")
            speed = shown.tasks[bars[stage]].speed
            shown.update(bars[stage], completed=done, total=total, rate=f"{speed:,.0f}/s" if speed else "")

        yield report
