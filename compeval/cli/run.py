"""``compeval run``: evaluate a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer

from compeval.cli.console import AsJson, Data, Format, Limit, Results, choose_model, err, note, progress
from compeval.cli.results import print_results


def add_settings(spec: str, settings: list[str], base_url: str | None) -> str:
    """Return the spec of a generative model with the settings of the command line."""
    pairs = [("base_url", "=", base_url)] if base_url else []
    pairs += [setting.partition("=") for setting in settings]
    if not pairs:
        return spec
    backend = spec.partition(":")[0]
    if backend not in ("vlm", "api") or (base_url and backend != "api"):
        raise ValueError(f"{spec}: --setting is for vlm: and api: models, and --base-url for api: models.")
    query = "&".join(f"{key}={quote(value, safe=':/,')}" for key, _, value in pairs)
    return f"{spec}{'&' if '?' in spec else '?'}{query}"


def run(
    model: Annotated[
        str | None,
        typer.Argument(
            help="ViT-B-32/laion400m_e32, local:FOLDER, hf-hub:ORG/NAME, transformers:ORG/NAME, "
            "sentence-transformers:NAME, vlm:ORG/NAME, api:MODEL, python:MODULE:CLASS."
        ),
    ] = None,
    model_option: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="The model, in place of the argument.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            "--tasks",
            "-t",
            help="Names or globs of tasks, separated by commas; repeatable. retrieval/coco is the original set, "
            "retrieval/coco@* are its variants. Default: all tasks except raw retrieval.",
        ),
    ] = None,
    data: Data = None,
    limit: Limit = None,
    name: Annotated[str | None, typer.Option(help="Name of the model in the results. Default: its own name.")] = None,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit, branch or tag of the checkout, or dataset version. Default: the files on disk."),
    ] = None,
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
    base_url: Annotated[
        str | None, typer.Option(help="api: address of an OpenAI-compatible endpoint. Default: OpenAI's.")
    ] = None,
    max_requests: Annotated[
        int, typer.Option(min=0, help="api: refuse runs that need more requests. Stored answers do not count.")
    ] = 1000,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="vlm and api: scoring=yes (the probability of yes, VQAScore) or scoring=choice (between two captions, "
            "in both orders); question='Is this {}?'; answers=Yes,No. Part of the model's name; repeatable.",
        ),
    ] = None,
    output: Results = Path("results"),
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do with an image that cannot be read.")
    ] = "stop",
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Evaluate a model and write its results. Finished tasks are skipped.

    Example: `compeval run ViT-B-32/laion400m_e32 --tasks 'crepe/laion_*,crepe/prod_*'`. `compeval list models` and
    `compeval list tasks` print the available names. Tasks that cannot be evaluated are refused before anything is
    encoded; the exit code is then 1. `compeval report results` compares models.
    """
    spec = add_settings(choose_model(model, model_option), setting or [], base_url)
    with err.status("Loading the model"):
        from evaluators import models
        from evaluators.engine import tasks
        from evaluators.results.documents import get_model_folder
        from evaluators.run import RefusedTask, default_tasks
        from evaluators.run import run as run_tasks
        from loaders.datasets.folders import list_datasets
        from loaders.datasets.revisions import find_data_folder

        models.check_name(spec)
        if revision is not None:
            names = tasks.select_datasets(task, data) if task else set(list_datasets(data))
            data = find_data_folder(names, revision, data)
        available = tasks.discover(data)
        selected = None if task is None else tasks.select(available, task)
        first, *others = [models.pick_device(part) for part in device.split(",")] if device else [models.pick_device()]
        loaded = models.resolve(spec, first, precision)
        loaded = loaded if name is None else replace(loaded, name=name)
        if isinstance(loaded.encoder, models.MeteredScorer):
            loaded.encoder.max_requests = max_requests
    refused: list[RefusedTask] = []
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
            on_refused=refused.append,
            report=report,
            on_cost=note,
        )
    if refused and not results:
        raise ValueError("\n".join(map(str, refused)))
    for refusal in refused:
        note(f"Not evaluated: {refusal}")
    folders = {str(get_model_folder(output, result["source"], loaded.name, limit)) for result in results}
    print_results(results, "json" if as_json else output_format, " ".join(sorted(folders)))
    if refused:
        raise typer.Exit(1)
