"""``compeval run``: evaluate a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from compeval.cli.console import AsJson, Data, Results, err, progress
from compeval.cli.results import print_results


def run(
    model: Annotated[
        str,
        typer.Option(
            help="ViT-B-32/laion400m_e32, local:FOLDER, hf-hub:ORG/NAME, transformers:ORG/NAME, python:MODULE:CLASS ..."
        ),
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(help="Task name or glob pattern; repeatable. Default: all tasks except raw retrieval."),
    ] = None,
    data: Data = None,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit, branch or tag of the checkout, or dataset version. Default: the files on disk."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate only the first N rows of each task.")] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="cpu, cuda or mps; for several devices, cuda:0,cuda:1. Default: the fastest available device."
        ),
    ] = None,
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"], typer.Option(help="auto: bf16 on CUDA, otherwise fp32.")
    ] = "auto",
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Default: depends on the device. It is halved when memory runs out.")
    ] = None,
    output: Results = Path("results"),
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do with an image that cannot be read.")
    ] = "stop",
    as_json: AsJson = False,
) -> None:
    """Evaluate a model and write its results. Finished tasks are skipped.

    Example: `compeval run --model ViT-B-32/laion400m_e32 --task 'crepe/laion_*'`. `compeval list models` and `compeval
    list tasks` print the available names. `compeval report results` compares models.
    """
    with err.status("Loading the model"):
        from evaluators import models
        from evaluators.engine import tasks
        from evaluators.run import default_tasks
        from evaluators.run import run as run_tasks
        from loaders.datasets.folders import list_datasets
        from loaders.datasets.revisions import find_data_folder

        if revision is not None:
            names = {pattern.partition("/")[0] for pattern in task} if task else set(list_datasets(data))
            data = find_data_folder(names, revision, data)
        available = tasks.discover(data)
        selected = tasks.select(available, task) if task else None
        models.parse(model)
        first, *others = [models.pick_device(name) for name in device.split(",")] if device else [models.pick_device()]
        loaded = models.resolve(model, first, precision)
    with progress() as report:
        results = run_tasks(
            loaded,
            default_tasks(available, loaded, data) if selected is None else selected,
            data_dir=data,
            limit=limit,
            output=output,
            device=first,
            more_devices=others,
            batch_size=batch_size,
            on_error=on_error,
            report=report,
        )
    print_results(results, as_json)
