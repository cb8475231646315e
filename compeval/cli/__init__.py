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
    split,
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
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


EVALUATE = (
    demo.demo,
    run.run,
    list_.list_,
    results.show,
    compare.compare,
    compare.power,
    results.score,
)
PUBLISH = (report.report, compare.leaderboard)
DATASETS = (
    benchmarks.get,
    benchmarks.import_,
    split.split,
    audit.audit,
    audit.inspect,
    audit.balance,
)
MORE = (datasets.push, datasets.publish, datasets.make, validate.validate, examples.examples)
GROUPS = {
    "cache": cache,
    "annotate": annotate,
    "probe": probe,
    "results": datasets,
    "sources": sources,
    "train": train,
}

for command in (*EVALUATE, *PUBLISH, *DATASETS, *MORE):
    app.command(command.__name__.rstrip("_"))(command)
for name, group in GROUPS.items():
    app.add_typer(group.app, name=name)
