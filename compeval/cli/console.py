"""Help, output and error handling that the commands share."""

from __future__ import annotations

import csv
import errno
import io
import json
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from typer.core import TyperGroup

from compeval.base.extras import describe_missing
from compeval.base.plain_text import CONTROL, escape_controls, strip_controls, strip_urls
from compeval.cli.options import AsJson, FormatName, LanguageModel

WIDTH_WITHOUT_TERMINAL = 160
LOG_SECONDS = 60
"""Time between two lines of progress in a log."""


class PlainConsole(Console):
    """A console that drops the control characters of texts, but not those of its own styles and progress bars."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(CONTROL.sub("", segment.text), segment.style)


class PlainStream:
    """A stream of texts without control characters, whatever prints them: a command or a library."""

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream
        """The stream itself. Rich's consoles write to it, with the sequences of their styles."""

    def write(self, text: str) -> int:
        start = "\r" if text.startswith("\r") else ""  # of a library's progress bar
        self.rich_proxied_file.write(start + strip_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def plain_streams() -> Iterator[None]:
    """In the block, only the consoles write control characters to stdout and stderr."""
    streams: tuple[Any, Any] = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(PlainStream, streams)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


out = PlainConsole(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL, emoji=False)
err = PlainConsole(stderr=True, emoji=False)
_log = logging.getLogger("compeval")
"""Its level is INFO with --verbose. Libraries may change the level of the root logger."""

USER_ERRORS = (ValueError, OSError, ModuleNotFoundError)
"""Errors whose message says what a user can do; all others are bugs, ours or a library's."""


class Commands(TyperGroup):
    """Command group that prints user errors as one message without a traceback.

    All commands have the options --quiet and --verbose, and those with --format have --json.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        groups: list[Any] = [self]
        for group in groups:
            for command in group.commands.values():
                if hasattr(command, "commands"):
                    groups.append(command)
                else:
                    has_format = any(
                        parameter.name == "output_format" for parameter in command.params
                    )
                    command.params += _make_output_options()[not has_format :]

    def invoke(self, ctx: Any) -> Any:
        err.quiet = False
        _log.setLevel(logging.WARNING)
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        from compeval.base.pipeline.workers import safe_path

        with safe_path(), plain_streams():  # also for the processes that libraries start
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except USER_ERRORS as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            if _log.isEnabledFor(logging.INFO):
                err.print(
                    strip_urls(traceback.format_exc()),
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
            err.quiet = False
            err.print(
                f"[red]Error:[/red] {escape(describe_error(error))}",
                highlight=False,
                soft_wrap=True,
            )
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print_message(
                "Interrupted. Finished work is saved; run the same command again to continue."
            )
            raise typer.Exit(130) from None


def _set_quiet(value: bool) -> None:
    err.quiet = err.quiet or value


class _Formatter(logging.Formatter):
    """Formats log messages without secrets in URLs and without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return strip_urls(strip_controls(super().format(record)))


class _StderrHandler(logging.StreamHandler[Any]):
    """Writes to what is stderr when a message comes: within a command, a stream that may be closed after it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return sys.stderr


def _set_verbose(value: bool) -> None:
    if value:
        handler = _StderrHandler()
        handler.setFormatter(_Formatter("%(name)s: %(message)s"))
        logging.basicConfig(level=logging.INFO, force=True, handlers=[handler])
        _log.setLevel(logging.INFO)


def _declare_output_options(
    as_json: AsJson = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", callback=_set_quiet, help="Print no progress and no notes."),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            callback=_set_verbose,
            help="Print log messages, and tracebacks of errors.",
        ),
    ] = False,
) -> None: ...


@cache
def _make_output_options() -> list[Any]:
    """Return the parameters --json, --quiet and --verbose, which act through their callbacks and are not passed on."""
    template = typer.Typer(add_completion=False)
    template.command()(_declare_output_options)
    parameters = typer.main.get_command(template).params
    for parameter in parameters:
        parameter.expose_value = False
    return parameters


def describe_error(error: Exception) -> str:
    """Return the message of an error. The system's errors begin with the path, and unexpected ones with their type."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    if isinstance(error, ModuleNotFoundError):
        return describe_missing(error)
    message = str(error) if isinstance(error, USER_ERRORS) else f"{type(error).__name__}: {error}"
    return strip_urls(message)


def print_records(
    output_format: FormatName | None,
    rows: Sequence[Mapping[str, str]],
    records: Sequence[Mapping[str, Any]],
    document: Any = None,
    left: int = 2,
    title: str | None = None,
) -> None:
    """Print rows as a table, in Markdown or LaTeX, ``records`` as CSV, or ``document`` (default: the records) as JSON.

    The keys of a row are the header. Columns after the first ``left`` ones are right-aligned. ``title``: of a table.
    """
    header = list(rows[0]) if rows else []
    if output_format == "json":
        echo_json(records if document is None else document)
    elif output_format == "csv":
        from compeval.base.files.csv_tables import quote_formula

        text = io.StringIO()
        records = list(map(_flatten, records))
        names = list(dict.fromkeys(name for record in records for name in record))
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: quote_formula(value) for name, value in record.items()} for record in records
        )
        typer.echo(text.getvalue(), nl=False)
    elif output_format == "md":
        escaped = [
            [cell.replace("|", "\\|").replace("\n", "; ") for cell in row.values()] for row in rows
        ]
        for line in (header, ["---"] * len(header), *escaped):
            typer.echo(f"| {' | '.join(line)} |")
    elif output_format == "latex":
        from pandas import DataFrame

        from compeval.evaluators.report.tables import format_latex

        columns = "l" * min(left, len(header)) + "r" * max(0, len(header) - left)
        typer.echo(
            format_latex(DataFrame(list(rows)), column_format=columns),
            nl=False,
        )
    else:
        print_table(header, (row.values() for row in rows), left, title=title)


def _flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without nested values. The bounds of an interval have a column each."""
    flat = {name: value for name, value in record.items() if not isinstance(value, tuple | dict)}
    return flat | dict(zip(("low", "high"), record.get("interval", ()), strict=False))


def print_table(
    header: Iterable[str],
    rows: Iterable[Iterable[str]],
    left: int = 2,
    title: str | None = None,
    **options: Any,
) -> None:
    """Print a table of plain text, without markup. Columns after the first ``left`` ones are right-aligned."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(*header, title=title and Text(title), title_justify="left", **options)
    for number, column in enumerate(shown.columns):
        if number < 2:
            column.overflow = "fold"
        if number >= left:
            column.justify = "right"
    for row in rows:
        shown.add_row(*map(Text, row))
    out.print(shown)


def print_message(text: str) -> None:
    """Print a message to stderr, without rich markup and line breaks."""
    err.print(escape(strip_urls(text)), highlight=False, soft_wrap=True)


def report_failure(text: str) -> None:
    """Print what failed to stderr, also with --quiet, which hides progress and notes only."""
    is_quiet = err.quiet
    err.quiet = False
    try:
        print_message(text)
    finally:
        err.quiet = is_quiet


def echo_json(data: Any) -> None:
    """Print JSON to stdout."""
    typer.echo(escape_controls(json.dumps(data, indent=1, ensure_ascii=False)))


def check_writable(folder: Path, option: str = "--output") -> None:
    """Raise ValueError if nothing can be written to a folder, before any work. A folder that is missing is not made."""
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        if not parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{parent} is a file")
        tempfile.TemporaryDirectory(dir=parent).cleanup()
    except OSError as error:
        raise ValueError(
            f"{folder}: nothing can be written there ({error.strerror}). Choose another {option}."
        ) from None


def check_writable_file(path: Path, option: str = "--output") -> None:
    """Raise ValueError if a file cannot be written, before any work."""
    check_writable(path.parent, option)
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name a file: {option}.")


def reject_unused_options(reason: str, **options: Any) -> None:
    """Raise ValueError if one of the options was given, which have no effect for this reason."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if len(given) == 1:
        raise ValueError(f"{given[0]} has no effect {reason}; remove it.")
    if given:
        raise ValueError(f"{', '.join(given)} have no effect {reason}; remove them.")


def check_asked(llm: LanguageModel) -> None:
    """Raise ValueError if an option has no effect because no request is sent."""
    if not llm.ask:
        prices = {"price_in": llm.price_in is not None, "price_out": llm.price_out is not None}
        reject_unused_options("without --ask", **prices, max_cost=llm.max_cost)


def check_results(paths: Iterable[Path]) -> None:
    """Raise FileNotFoundError if a result or a folder of results does not exist, before heavy imports."""
    for path in paths:
        if not path.exists():
            from compeval.evaluators.results.documents import missing_result

            raise missing_result(path)


def format_interval(interval: Sequence[float] | None, sign: str = "") -> str:
    """Return an interval of shares in percent. With ``sign="+"``, positive bounds have a sign."""
    return " to ".join(f"{100 * bound:{sign}.1f}" for bound in interval) if interval else "-"


def format_rate(speed: float) -> str:
    """Return a speed, given in items per second, as "1,354/s", "2.5/s" or "6.4 s each"."""
    if speed < 1:
        return f"{1 / speed:,.1f} s each"
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"


@contextmanager
def progress(*, in_bytes: bool = False) -> Iterator[Any]:
    """Show one progress bar per stage. Yields the callback ``report(stage, num_done, total)``.

    Where stderr is not a terminal, as in the log of a batch job, bars appear at the end only, and a line every
    ``LOG_SECONDS`` says how far the stage is.
    """
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
        next_line = time.monotonic() + LOG_SECONDS

        def report(stage: str, done: int, total: int | None) -> None:
            nonlocal next_line
            if stage not in bars:
                bars[stage] = display.add_task(stage, total=total, rate="")
            speed = display.tasks[bars[stage]].speed
            rate = format_rate(speed) if speed and not in_bytes else ""
            display.update(bars[stage], completed=done, total=total, rate=rate)
            if not err.is_terminal and time.monotonic() >= next_line:
                next_line = time.monotonic() + LOG_SECONDS
                of_total = f" of {total:,}" if total else ""
                unit = " bytes" if in_bytes else ""
                print_message(f"{stage}: {done:,}{of_total}{unit}{rate and ', '}{rate}")

        yield report
