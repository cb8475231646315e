"""``compeval make`` and ``push``: create and upload dataset folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import Data, DatasetsOutput, err


def push(
    dataset: Annotated[str, typer.Argument(help="Name or folder of a dataset.")],
    repository: Annotated[
        str, typer.Argument(help="ORG/NAME. The name of a micro-world dataset must contain microworld.")
    ],
    private: Annotated[bool, typer.Option("--private", help="Create a new repository as private.")] = False,
    data: Data = None,
) -> None:
    """Upload a dataset folder to the Hugging Face Hub, with images if their licence permits redistribution."""
    from loaders.datasets.folders import resolve_folder
    from loaders.push import push as upload

    folder = resolve_folder(dataset, data)
    with err.status("Uploading"):
        url = upload(folder, repository, private=private)
    typer.echo(url)


def make(
    name: Annotated[str, typer.Argument(help="Name of the new dataset.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables (csv, tsv, jsonl, json) with the columns image, caption or captions, and hard_negatives, or "
            "webdataset shards."
        ),
    ],
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images. Default: the folder of each table.")
    ] = None,
    output: DatasetsOutput = Path(),
) -> None:
    """Build a dataset for retrieval and hard negatives from your own images and captions."""
    with err.status("Reading"):
        from loaders.user_files import make as build

        stats = build(name, files, images, output)
    for config, splits in stats["rows"].items():
        typer.echo(f"{name}/{config}\t{splits['test']:,}")
