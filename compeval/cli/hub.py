"""``compeval push``: a dataset folder to the Hugging Face Hub."""

from __future__ import annotations

from typing import Annotated

import typer

from compeval.cli.console import Data, err


def push(
    dataset: Annotated[str, typer.Argument(help="Name or folder of a dataset.")],
    repository: Annotated[str, typer.Argument(help="ORG/NAME; of a micro-world dataset a name with microworld in it.")],
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    data: Data = None,
) -> None:
    """Upload a dataset folder with its card; with pixels where their licence lets anybody pass them on."""
    import loaders
    from loaders.hub import push as upload

    folder = loaders.named_folder(dataset, data)
    with err.status("Uploading"):
        address = upload(folder, repository, private=private)
    typer.echo(address)
