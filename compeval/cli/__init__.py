"""The ``compeval`` command.

Results are printed to stdout, progress and messages to stderr. The exit code is 2 after a user error, with one message
on stderr, and 130 after Ctrl-C. Each command imports heavy libraries only when it runs, so ``--help`` is fast.
"""

from typing import Annotated

import typer

from compeval.cli import (
    annotate,
    audit,
    benchmarks,
    cache,
    compare,
    datasets,
    demo,
    examples,
    list_,
    probe,
    report,
    results,
    run,
    sources,
    train,
    validate,
)
from compeval.cli.console import Commands

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Do vision-language models understand composition?",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from compeval import __version__

        typer.echo(f"compeval {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(run.run)
app.command("list")(list_.list_)
app.command()(results.show)
app.command()(compare.compare)
app.command()(compare.power)
app.command()(results.score)
app.command()(report.report)
app.command()(compare.leaderboard)
app.command()(benchmarks.get)
app.command("import")(benchmarks.import_)
app.command()(audit.audit)
app.command()(audit.inspect)
app.command()(datasets.push)
app.command()(datasets.publish)
app.command()(datasets.make)
app.command()(validate.validate)
app.command()(examples.examples)
app.add_typer(cache.app, name="cache")
app.add_typer(annotate.app, name="annotate")
app.add_typer(probe.app, name="probe")
app.add_typer(datasets.app, name="results")
app.add_typer(sources.app, name="sources")
app.add_typer(train.app, name="train")
