"""``compeval make``: a dataset folder of one's own pictures and captions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import err


def make(
    name: Annotated[str, typer.Argument(help="What to call the dataset.")],
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables (csv, tsv, jsonl, json) of image, caption(s), hard_negatives; webdataset shards."),
    ],
    images: Annotated[Path | None, typer.Option(help="Folder of the pictures. Default: each table's own.")] = None,
    output: Annotated[Path, typer.Option(help="Folder of the dataset folders; `--data` of other commands.")] = Path(),
) -> None:
    """Make a dataset of your own pictures and captions: retrieval both ways, and captions against their foils."""
    with err.status("Reading"):
        from loaders.own import make as write

        stats = write(name, files, images, output)
    for config, splits in stats["rows"].items():
        typer.echo(f"{name}/{config}\t{splits['test']:,}")
