"""``compeval publish`` and ``compeval results pull``: exchange results on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import err, note

app = typer.Typer(no_args_is_help=True, help="Results of others.")


def publish(
    folders: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Folders of results.")],
    repository: Annotated[
        str,
        typer.Option("--to", help="ORG/NAME of the dataset. The name for micro-world results must contain microworld."),
    ],
    model_repository: Annotated[
        str | None,
        typer.Option("--model-repo", help="ORG/NAME of the model, whose page gets .eval_results/compeval.yaml."),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(help="NAME=ORG/DATASET: the repository of a dataset, for --model-repo. Repeatable."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Create a new repository as private.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print all files, and upload nothing.")] = False,
) -> None:
    """Upload results with their rows as a dataset, and propose them for the page of a model."""
    from evaluators.results import hub

    benchmarks = dict(_split(text) for text in benchmark or ())
    publication = hub.prepare(folders, repository, model_repository, benchmarks)
    if dry_run:
        typer.echo(hub.describe_files(publication))
        note("Nothing was uploaded.")
        return
    with err.status("Uploading"):
        urls = hub.publish(publication, private=private)
    typer.echo("\n".join(urls))


def _split(text: str) -> tuple[str, str]:
    name, sign, repository = text.partition("=")
    if not (name and sign and repository):
        raise ValueError(f"--benchmark {text}: expected NAME=ORG/DATASET, for example sugarcrepe=me/sugarcrepe.")
    return name, repository


@app.command()
def pull(
    repository: Annotated[str, typer.Argument(help="ORG/NAME of a dataset that `compeval publish` wrote.")],
    output: Annotated[Path, typer.Option(help="Folder to write the folder ORG--NAME to.")] = Path("pulled"),
    compare: Annotated[
        list[Path] | None, typer.Option(help="Result folder of a model to rank with the downloaded ones. Repeatable.")
    ] = None,
) -> None:
    """Download the results of others, and rank them with your own."""
    from evaluators.results import hub

    with err.status("Downloading"):
        folders = hub.pull(repository, output)
    typer.echo("\n".join(map(str, folders)))
    if compare:
        from compeval.cli.compare import print_ranking

        print_ranking([*compare, *folders], "table")
