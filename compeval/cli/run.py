"""``compeval run``: evaluate a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

import typer

from compeval.cli.console import (
    AsJson,
    Data,
    Format,
    FormatName,
    Limit,
    Results,
    describe_error,
    err,
    note,
    print_records,
    progress,
)
from compeval.cli.results import print_results

if TYPE_CHECKING:
    from evaluators.engine.cluster import Cluster
    from evaluators.engine.tasks import Task
    from evaluators.models import Precision
    from evaluators.results.documents import Result
    from evaluators.run import RefusedTask


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
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="The model, in place of the argument. Repeatable; 'ViT-B-32/*' names all weights of an architecture.",
        ),
    ] = None,
    models_file: Annotated[
        Path | None, typer.Option("--models", help="File with one model per line; # begins a comment.")
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
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of Ray workers, each with its own GPU or a share of the processors. Default: one per device.",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(help="Ray cluster to run on: auto, HOST:PORT or ray://HOST:10001. Default workers: all its GPUs."),
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would run, without loading or downloading weights.")
    ] = False,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do with an image that cannot be read.")
    ] = "stop",
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Evaluate models and write their results. Finished tasks are skipped.

    Example: `compeval run ViT-B-32/laion400m_e32 --tasks 'crepe/laion_*,crepe/prod_*'`. `compeval list models` and
    `compeval list tasks` print the available names. Tasks that cannot be evaluated are refused before anything is
    encoded; the exit code is then 1. Of several models, one that fails does not stop the others: it is reported at the
    end, and the exit code is 1. `compeval report results` compares models.
    """
    with err.status("Reading the datasets"):
        from evaluators import models
        from evaluators.engine import tasks
        from evaluators.models.names import expand
        from evaluators.results.documents import get_model_folder
        from loaders.datasets.folders import list_datasets
        from loaders.datasets.revisions import find_data_folder

        named = expand([*([model] if model else []), *(model_option or [])], models_file)
        specs = [add_settings(spec, setting or [], base_url) for spec in named]
        if len(specs) == 1:
            models.check_name(specs[0])
        elif name is not None:
            raise ValueError(f"--name names one model; got {len(specs)}: {', '.join(specs)}.")
        if revision is not None:
            names = tasks.select_datasets(task, data) if task else set(list_datasets(data))
            data = find_data_folder(names, revision, data)
        available = tasks.discover(data)
        selected = None if task is None else tasks.select(available, task)
    where = _Where(available, selected, data, limit, output)
    form: FormatName = "json" if as_json else output_format
    if dry_run:
        _print_plan(specs, where, form)
        return
    devices = _choose_devices(device, None if ray_address else workers)
    refused: list[RefusedTask] = []
    results: list[Result] = []
    failed: dict[str, str] = {}
    options = {"batch_size": batch_size, "on_error": on_error, "on_refused": refused.append, "on_cost": note}
    with _start_cluster(devices, ray_address, workers) as cluster:
        for spec in specs:
            try:
                results += _run_model(spec, name, where, devices[0], precision, cluster, max_requests, options)
            except Exception as error:
                if len(specs) == 1:
                    raise
                failed[spec] = describe_error(error).removeprefix(f"{spec}: ")
                note(f"{spec} failed: {failed[spec]}")
    if not results and refused and not failed:
        raise ValueError("\n".join(map(str, refused)))
    for refusal in refused:
        note(f"Not evaluated: {refusal}")
    if results:
        folders = {str(get_model_folder(output, item["source"], item["model"]["name"], limit)) for item in results}
        print_results(results, form, " ".join(sorted(folders)) if len(specs) == 1 else str(output))
    if failed:
        note(f"{len(failed)} of {len(specs)} models failed:")
        for spec, reason in failed.items():
            note(f"- {spec}: {reason}")
    if refused or failed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Where:
    """The tasks of a run, and the folders that it reads and writes."""

    available: Sequence[Task]
    selected: Sequence[Task] | None
    """None: the default tasks of each model."""
    data: Path | None
    limit: int | None
    output: Path


def _choose_devices(device: str | None, workers: int | None) -> list[str]:
    """Return the devices of the workers. Raises ValueError if one of them cannot be used."""
    from evaluators.models import pick_device

    devices = [pick_device(part) for part in device.split(",")] if device else [pick_device()]
    if workers is None or workers == len(devices):
        return devices
    if len(devices) > 1:
        raise ValueError(f"--workers {workers}: --device names {len(devices)} devices. Give one of the two options.")
    if devices[0] == "cuda":
        return [pick_device(f"cuda:{number}") for number in range(workers)]
    return devices * workers


def _start_cluster(
    devices: Sequence[str], ray_address: str | None, workers: int | None
) -> AbstractContextManager[Cluster | None]:
    """Return the Ray workers; none if one device of this machine is enough."""
    if ray_address is None and len(devices) == 1:
        return nullcontext()
    from evaluators.engine.cluster import start

    return start(devices, ray_address, workers)


def _run_model(
    spec: str,
    name: str | None,
    where: _Where,
    device: str,
    precision: Precision,
    cluster: Cluster | None,
    max_requests: int,
    options: dict[str, Any],
) -> list[Result]:
    """Load a model, evaluate it and return its results."""
    from evaluators import models
    from evaluators.run import default_tasks, run

    with err.status(f"Loading {spec}"):
        loaded = cluster.load(spec, precision) if cluster else models.resolve(spec, device, precision)
        loaded = loaded if name is None else replace(loaded, name=name)
        if isinstance(loaded.encoder, models.MeteredScorer):
            loaded.encoder.max_requests = max_requests
    selected = where.selected
    with progress() as report:
        return run(
            loaded,
            default_tasks(where.available, loaded, where.data) if selected is None else selected,
            data_dir=where.data,
            limit=where.limit,
            output=where.output,
            device=cluster.device if cluster else device,
            cluster=cluster,
            report=report,
            **options,
        )


def _print_plan(specs: Sequence[str], where: _Where, form: FormatName) -> None:
    """Print what would run. Exits with 1 if a model or task cannot be evaluated."""
    from dataclasses import asdict

    from evaluators.results.dry_run import plan_run

    options = {"data_dir": where.data, "limit": where.limit, "output": where.output}
    plans = [plan_run(spec, where.available, where.selected, **options) for spec in specs]
    header = ("model", "tasks", "finished", "rows to evaluate", "features cached", "estimated time")
    rows = [
        (
            plan.model,
            str(plan.tasks),
            str(plan.finished),
            f"{plan.rows:,}",
            f"{plan.cached:,}",
            "unknown" if plan.seconds is None else f"{plan.seconds:,.0f} s",
        )
        for plan in plans
    ]
    print_records(form, header, rows, [asdict(plan) for plan in plans], left=1)
    note("Dry run: no weights were loaded. Finished tasks and cached features hold if the weights have not changed.")
    errors = [plan for plan in plans if plan.error]
    for plan in errors:
        note(f"{plan.model} would fail: {plan.error}")
    if errors:
        raise typer.Exit(1)
