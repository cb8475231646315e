"""The ``compeval`` command.

Results are printed to stdout, progress and messages to stderr. The exit code is 2 after a user error, with one message
on stderr, and 130 after Ctrl-C. Each command imports heavy libraries only when it runs, so ``--help`` is fast.
"""

import typer

from compeval.cli import annotate, cache, datasets, demo, examples, list_, probe, report, results, run, sources, train
from compeval.cli.console import Commands

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Do vision-language models understand composition?",
)
app.command()(demo.demo)
app.command()(run.run)
app.command("list")(list_.list_)
app.command()(results.show)
app.command()(results.compare)
app.command()(results.score)
app.command()(report.report)
app.command("import")(datasets.import_)
app.command()(datasets.audit)
app.command()(datasets.push)
app.command()(datasets.make)
app.command()(results.validate)
app.command()(examples.examples)
app.add_typer(cache.app, name="cache")
app.add_typer(annotate.app, name="annotate")
app.add_typer(probe.app, name="probe")
app.add_typer(sources.app, name="sources")
app.add_typer(train.app, name="train")
