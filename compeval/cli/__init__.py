"""The ``compeval`` command.

Results go to stdout, progress and messages to stderr. Exit code 2 and one message for what the user gave wrongly, 130
after Ctrl-C. Heavy libraries are imported by the commands that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from compeval.cli import annotate as cli_annotate
from compeval.cli import datasets as cli_datasets
from compeval.cli import examples as cli_examples
from compeval.cli import hub as cli_hub
from compeval.cli import make as cli_make
from compeval.cli import probe as cli_probe
from compeval.cli import sources as cli_sources
from compeval.cli import train as cli_train
from compeval.cli import validate as cli_validate
from compeval.cli.console import AsJson, Commands, Data, err, out, plain, progress, table

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Do vision-language models understand composition?",
)
cache_app = typer.Typer(no_args_is_help=True, help="The cache of features.")
app.add_typer(cache_app, name="cache")
app.add_typer(cli_annotate.app, name="annotate")
app.add_typer(cli_probe.app, name="probe")
app.add_typer(cli_sources.app, name="sources")
app.add_typer(cli_train.app, name="train")

Output = Annotated[Path, typer.Option(help="Folder of the results.")]


class PrecisionName(StrEnum):
    auto = "auto"
    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"


class OnErrorName(StrEnum):
    stop = "stop"
    skip = "skip"


class Listing(StrEnum):
    datasets = "datasets"
    models = "models"
    tasks = "tasks"
    configs = "configs"


@app.command()
def run(
    model: Annotated[
        str,
        typer.Option(
            help="ViT-B-32/laion400m_e32, local:FOLDER, hf-hub:ORG/NAME, transformers:ORG/NAME, python:MODULE:CLASS ..."
        ),
    ],
    task: Annotated[
        list[str] | None, typer.Option(help="Task name or glob; may be repeated. Default: all but raw retrieval.")
    ] = None,
    data: Data = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first rows of each task.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, mps; cuda:0,cuda:1 for several. Default: the best.")
    ] = None,
    precision: Annotated[PrecisionName, typer.Option(help="auto: bf16 on CUDA, else fp32.")] = PrecisionName.auto,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Default: by device; halved when memory runs out.")
    ] = None,
    output: Output = Path("results"),
    on_error: Annotated[OnErrorName, typer.Option(help="At an image that cannot be read.")] = OnErrorName.stop,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model and write its results. What is done already is not done again.

    `compeval run --model ViT-B-32/laion400m_e32 --task 'crepe/laion_*'` runs one model on some sets; `compeval list
    models` and `compeval list tasks` tell what there is, `compeval report results` shows models side by side.
    """
    with err.status("Loading the model"):
        from evaluators import models
        from evaluators.engine import tasks
        from evaluators.run import default_tasks
        from evaluators.run import run as run_tasks

        known = tasks.discover(data)
        chosen = tasks.select(known, task) if task else None
        models.parse(model)
        first, *more = [models.pick_device(name) for name in device.split(",")] if device else [models.pick_device()]
        loaded = models.resolve(model, first, precision.value)
    with progress() as report:
        results = run_tasks(
            loaded,
            chosen if chosen is not None else default_tasks(known, loaded, data),
            data_dir=data,
            limit=limit,
            output=output,
            device=first,
            more_devices=more,
            batch_size=batch_size,
            on_error=on_error.value,
            report=report,
        )
    _print_results(results, as_json)


@app.command("list")
def list_(
    what: Annotated[Listing, typer.Argument()] = Listing.datasets, data: Data = None, as_json: AsJson = False
) -> None:
    """List the datasets, models, tasks or dataset configs that there are."""
    if what is Listing.models:
        from evaluators.models import known_models

        names = [[name] for name in known_models()]
        header = ["model"]
    elif what is Listing.datasets:
        import loaders

        names = [[name, str(folder)] for name, folder in loaders.list_datasets(data).items()]
        header = ["dataset", "folder"]
    elif what is Listing.tasks:
        from evaluators.engine.tasks import discover

        names = [[task.name] for task in discover(data)]
        header = ["task"]
    else:
        import loaders

        names = [
            [f"{name}/{config}", split, f"{rows:,}"]
            for name in loaders.list_datasets(data)
            for config, splits in loaders.list_configs(name, data).items()
            for split, rows in splits.items()
        ]
        header = ["config", "split", "rows"]
    if as_json:
        typer.echo(json.dumps([name[0] if len(name) == 1 else dict(zip(header, name, strict=True)) for name in names]))
    else:
        for name in names:
            typer.echo("\t".join(name))


@app.command()
def show(result: Path, as_json: AsJson = False) -> None:
    """Print a result, or all results in a folder."""
    from evaluators.results import documents as results

    paths = [result] if not result.is_dir() else results.documents(result)
    if not paths:
        raise ValueError(f"{result}: no result documents. `compeval run` writes them below results/.")
    _print_results([results.read(path) for path in paths], as_json)


@app.command()
def compare(a: Path, b: Path, as_json: AsJson = False) -> None:
    """Compare two models' results, row by row: B minus A."""
    from evaluators.results.compare import compare as compare_results

    lines = compare_results(a, b)
    if as_json:
        typer.echo(json.dumps([line.to_json() for line in lines], indent=1))
        return
    shown = table("task", "metric", "rows", "A", "B", "B - A", "95 % interval", "McNemar p", "Wilcoxon p")
    for line in lines:
        shown.add_row(
            line.task,
            line.metric,
            f"{line.rows:,}",
            f"{line.a:.1%}",
            f"{line.b:.1%}",
            f"{100 * line.difference:+.1f}",
            "{:+.1f} to {:+.1f}".format(*(100 * bound for bound in line.interval)),
            f"{line.mcnemar_holm:.2g}",
            f"{line.wilcoxon_holm:.2g}",
        )
    out.print(shown)
    out.print("p-values are Holm-corrected over the lines of this table.")


@app.command()
def score(
    file: Path,
    task: Annotated[str, typer.Option(help="The task that the scores are of.")],
    name: Annotated[str, typer.Option(help="What to call the model.")],
    data: Data = None,
    output: Output = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Make a result of scores from elsewhere: a parquet file with columns `row` and `scores` (the caption's first)."""
    from evaluators.results.external import score_file

    _print_results([score_file(file, task, name, data_dir=data, output=output)], as_json)


@app.command()
def report(
    results: Annotated[
        list[Path] | None, typer.Argument(help="Models' result folders. Default: all below results/.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    data: Data = None,
    validity: Annotated[Path | None, typer.Option(help="The oracle's findings, validity.json.")] = None,
    where: Annotated[
        bool, typer.Option("--where", help="Only say where the last report is, and its headline.")
    ] = False,
) -> None:
    """Make the report: tables, the papers' figures and examples, as one web page and as Markdown."""
    page, headline = output / "index.html", output / "headline.txt"
    if not where:
        from evaluators.report import build

        headline_text = build(results or [Path("results")], output, data, validity)
        headline.write_text(headline_text + "\n")
    if not page.is_file():
        raise FileNotFoundError(f"{page}: no report yet. `make demo` or `compeval report` makes one.")
    typer.echo(f"{headline.read_text()}\nThe report: {page}")


app.command("import")(cli_datasets.import_)
app.command()(cli_datasets.audit)
app.command()(cli_hub.push)
app.command()(cli_make.make)
app.command()(cli_validate.validate)
app.command()(cli_examples.examples)


@cache_app.command("info")
def cache_info(as_json: AsJson = False) -> None:
    """Where the cache is and what it holds."""
    from evaluators.engine.feature_cache import cache_folder, list_cache

    folder = cache_folder()
    files = list_cache(folder)
    if as_json:
        entries = [
            {"file": file.path.name, "bytes": file.size, "idle_days": round(file.idle_days, 2)} for file in files
        ]
        typer.echo(json.dumps({"folder": str(folder), "files": entries}, indent=1))
        return
    for file in files:
        typer.echo(f"{file.path.name}\t{file.size / 1e6:,.1f} MB\tidle for {file.idle_days:.1f} days")
    typer.echo(f"{folder}: {len(files)} models, {sum(file.size for file in files) / 1e6:,.1f} MB")


@cache_app.command("prune")
def cache_prune(
    days: Annotated[
        float, typer.Option(min=0, help="Models whose features were last written longer ago than this.")
    ] = 30,
) -> None:
    """Delete features of models that were not evaluated lately."""
    from evaluators.engine.feature_cache import cache_folder, prune

    gone = prune(cache_folder(), days)
    typer.echo(f"Deleted the features of {len(gone)} models, {sum(file.size for file in gone) / 1e6:,.1f} MB.")


def main_metrics(result: dict[str, Any]) -> list[str]:
    """The metrics of a result that are printed: the main ones, each followed by its macro means."""
    macro = [name for name in result["metrics"] if "_macro_" in name]
    return [name for main in result["main"] for name in (main, *(one for one in macro if one.startswith(f"{main}_")))]


def _print_results(results: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(results, indent=1, ensure_ascii=False))
        return
    shown = table("model", "task", "metric", "rows", "%", "95 % interval", "chance")
    notes: dict[str, None] = {}
    for result in results:
        name = result["model"]["effective"] + (" †" if result["model"]["contaminated"] else "")
        if result["model"]["contaminated"]:
            notes[f"† {result['model']['name']}: {result['model']['contaminated']}."] = None
        if result["synthetic"]:
            notes["Synthetic stand-in: these are micro-world numbers, not to be compared with published ones."] = None
        notes |= dict.fromkeys(result["warnings"])
        for metric in main_metrics(result):
            low, high = result["intervals"][metric]
            shown.add_row(
                name,
                result["task"],
                metric,
                f"{result['data']['rows']:,}",
                f"{result['metrics'][metric]:.1%}",
                f"{low:.1%} to {high:.1%}",
                f"{result['chance'][metric]:.1%}",
            )
        if result["skipped"]:
            notes[f"{result['task']}: {len(result['skipped'])} rows left out, their images cannot be read."] = None
    out.print(shown)
    for note in notes:
        err.print(plain(note), highlight=False, soft_wrap=True)
