"""``compeval run``: evaluate a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple
from urllib.parse import quote

import typer

from compeval.cli.console import (
    check_writable,
    describe_error,
    err,
    print_message,
    print_records,
    progress,
    reject_unused_options,
    report_failure,
)
from compeval.cli.options import Data, Format, FormatName, Limit, Results
from compeval.cli.results import measure_shown_baselines, print_results
from compeval.evaluators.models import BACKENDS, Precision, parse, split_spec

if TYPE_CHECKING:
    from compeval.evaluators.engine.cluster import Cluster
    from compeval.evaluators.engine.tasks import Task
    from compeval.evaluators.models import Model
    from compeval.evaluators.results.documents import Result
    from compeval.evaluators.run import EvaluationOptions, RefusedTask

MAX_REQUESTS = 1000


def add_settings(spec: str, settings: list[str], base_url: str | None) -> str:
    """Return the spec with the settings of the command line. Raises ValueError if its backend does not have them."""
    pairs = [("base_url", "=", base_url)] if base_url else []
    pairs += [setting.partition("=") for setting in settings]
    if not pairs:
        return spec
    name, _ = parse(spec)
    backend = BACKENDS[name]
    is_adapter = {key for key, _, _ in pairs} == {"adapter"}
    has_settings = backend.is_generative or (backend.has_adapters and is_adapter)
    if not has_settings or (base_url and name != "api"):
        raise ValueError(
            f"{spec}: --setting is for vlm: and api: models, and --base-url for api: models. Other models whose "
            "weights are loaded here have --setting adapter=FOLDER."
        )
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
            help="The model, in place of the argument. Repeatable; 'ViT-B-32/*' names all "
            "weights of an architecture.",
        ),
    ] = None,
    models_file: Annotated[
        Path | None,
        typer.Option("--models", help="File with one model per line; # begins a comment."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            "--tasks",
            "-t",
            help="Names or globs of tasks, separated by commas; repeatable. retrieval/coco is "
            "the original set, retrieval/coco@* are its variants. A glob of a dataset includes its raw "
            "retrieval. Default: all tasks except raw retrieval.",
        ),
    ] = None,
    data: Data = None,
    limit: Limit = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model in the results. Default: its own name.")
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(
            help="Commit, branch or tag of the checkout, or dataset version. Default: the files "
            "on disk."
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="cpu, cuda or mps; for several devices, cuda:0,cuda:1. Default: the fastest "
            "available device."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of Ray workers, each with its own GPU or a share of the processors. "
            "Default: one per device.",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            help="Ray cluster to run on: auto, HOST:PORT or ray://HOST:10001. Default workers: "
            "all its GPUs."
        ),
    ] = None,
    precision: Annotated[
        Precision,
        typer.Option(help="auto: bf16 on CUDA, otherwise fp32."),
    ] = "auto",
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Default: depends on the device. It is halved when memory runs out."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="api: address of an OpenAI-compatible endpoint. Default: OpenAI's."),
    ] = None,
    max_requests: Annotated[
        int,
        typer.Option(
            min=0, help="api: refuse runs that need more requests. Stored answers do not count."
        ),
    ] = MAX_REQUESTS,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="adapter=FOLDER merges an adapter of PEFT (LoRA). vlm and api: scoring=yes (the "
            "probability of yes, VQAScore) or scoring=choice (between two captions, in both "
            "orders); question='Is this {}?'; answers=Yes,No; think=TOKENS, the budget of a "
            "model that thinks first. Part of the model's name; repeatable.",
        ),
    ] = None,
    output: Results = Path("results"),
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            help="Compute everything again, and ask endpoints again: stored features, answers "
            "and results are not read. New features are not stored; answers and results are.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would run, without loading or downloading weights."
        ),
    ] = False,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do with an image that cannot be read.")
    ] = "stop",
    output_format: Format = "table",
) -> None:
    """Evaluate models and write their results. Finished tasks are skipped.

    Example: `compeval run ViT-B-32/laion400m_e32 --tasks 'crepe/laion_*,crepe/prod_*'`. `compeval list models` and
    `compeval list tasks` print the available names. Tasks that cannot be evaluated are refused before anything is
    encoded; the exit code is then 1. Tasks of a glob that the model does not support, such as retrieval with a scorer
    of pairs, are skipped with a note. Of several models, one that fails does not stop the others: it is reported at the
    end, and the exit code is 1. The table also shows the best text-only baseline of each task with hard negatives; the
    baselines are fitted on up to 1,000 rows, once per version of the dataset, and stored in the cache folder. The last
    lines say where each result on a published set stands among the published models (not with --quiet).
    `compeval report results` compares models.
    """
    # The models, and the tasks that can be chosen.
    if not dry_run:
        check_writable(output)
    with err.status("Reading the datasets"):
        from compeval.evaluators.models.checks import check_available

        named = [*([model] if model else []), *(model_option or [])]
        specs = _list_specs(named, models_file, setting or [], base_url)
        _check_specs(specs, name, precision, max_requests)
        choice = _find_tasks(task, data, revision)
    if dry_run:
        _print_plan(specs, choice, limit, output, output_format)
        return
    if len(specs) == 1:
        check_available(specs[0])

    # Their results: read, if all are up to date; otherwise the models are loaded and evaluated.
    from compeval.evaluators.run import EvaluationOptions

    load_options = LoadOptions(precision, name, max_requests, uses_stored=not no_cache)
    with _start_cluster(device, ray_address, workers) as (cluster, chosen_device):
        evaluation = EvaluationOptions(
            data_dir=choice.data,
            limit=limit,
            output=output,
            device=chosen_device,
            cluster=cluster,
            batch_size=batch_size,
            on_error=on_error,
        )
        summary = None
        if not cluster and not no_cache:
            summary = _read_finished_models(specs, choice, load_options, evaluation)
        if summary is None:
            summary = _evaluate(specs, choice, load_options, evaluation)
    _report(summary, specs, evaluation, output_format)


class LoadOptions(NamedTuple):
    """Options with which models are loaded, and their name in the results."""

    precision: Precision
    name: str | None
    """None for the model's own name."""
    max_requests: int
    """Limit for models behind an endpoint; a run that needs more requests is refused."""
    uses_stored: bool
    """False if nothing that was stored before is read (features, answers and results), and no features are stored."""


class TaskChoice(NamedTuple):
    """The tasks that a user can choose from, and those that are chosen."""

    data: Path | None
    """Folder of the datasets."""
    available: Sequence[Task]
    selected: Sequence[Task] | None
    """None for the default tasks of each model."""
    named: Collection[Task] = ()
    """Those that are named without a glob: a model that does not support one of them fails."""


class RunSummary(NamedTuple):
    """The results of a run, and the models and tasks without any."""

    results: list[Result]
    failed: dict[str, str]
    """Reason by model."""
    refused: list[RefusedTask]


def _evaluate(
    specs: Sequence[str],
    choice: TaskChoice,
    load_options: LoadOptions,
    evaluation: EvaluationOptions,
) -> RunSummary:
    """Evaluate the models. The error of a single model is raised; of several, one that fails stops no other."""
    from compeval.evaluators.run import (
        Notice,
        RefusedTask,
        evaluate_tasks,
        get_selected_or_default_tasks,
        sort_results,
    )

    summary = RunSummary(results=[], failed={}, refused=[])
    for spec in specs:
        results: list[Result] = []
        # Tasks of a glob that the model does not support are no failure if it does others.
        skipped: list[RefusedTask] = []
        try:
            model = _load(spec, load_options, evaluation)
            with progress() as report:
                tasks = get_selected_or_default_tasks(
                    model, choice.available, choice.selected, choice.data
                )
                for outcome in evaluate_tasks(model, tasks, evaluation, report):
                    if isinstance(outcome, RefusedTask):
                        if outcome.is_unsupported and outcome.task not in choice.named:
                            skipped.append(outcome)
                        else:
                            summary.refused.append(outcome)
                    elif isinstance(outcome, Notice):
                        print_message(outcome.text)
                    else:
                        results.append(outcome)
            summary.results.extend(sort_results(results, tasks))
            if results:
                for refusal in skipped:
                    print_message(f"Skipped {refusal}")
            else:
                summary.refused.extend(skipped)
        except Exception as error:
            if len(specs) == 1:
                raise
            reason = describe_error(error).removeprefix(f"{spec}: ")
            summary.failed[spec] = reason
            print_message(f"{spec} failed: {reason}")
    return summary


def _report(
    summary: RunSummary,
    specs: Sequence[str],
    evaluation: EvaluationOptions,
    output_format: FormatName,
) -> None:
    """Print the results, and what failed or was refused; then the exit code is 1. Raises ValueError without results.

    The text-only baselines of the tasks are measured before, since the table shows them.
    """
    from compeval.evaluators.results.documents import get_model_folder

    results = summary.results
    failed = summary.failed
    refused = summary.refused
    if not results and refused and not failed:
        raise ValueError("\n".join(map(str, refused)))
    for refusal in refused:
        report_failure(f"Not evaluated: {refusal}")
    if results:
        output = evaluation.output
        folders = {output}
        if len(specs) == 1:
            folders = {
                get_model_folder(output, source, name, evaluation.limit)
                for source, name in {
                    (result["source"], result["model"]["name"]) for result in results
                }
            }
        folder = " ".join(sorted(map(str, folders)))
        # The baselines of new tasks are fitted, which can take longer than reading finished results.
        baselines = measure_shown_baselines(results, evaluation.data_dir, output_format)
        print_results(results, baselines, output_format, folder, data=evaluation.data_dir)
    if failed:
        report_failure(f"{len(failed)} of {len(specs)} models failed:")
        for spec, reason in failed.items():
            report_failure(f"- {spec}: {reason}")
    if refused or failed:
        raise typer.Exit(1)


def _list_specs(
    named: list[str], models_file: Path | None, settings: list[str], base_url: str | None
) -> list[str]:
    """Return the models that are named and those of a file, with their settings."""
    from compeval.evaluators.models.names import expand

    return [add_settings(spec, settings, base_url) for spec in expand(named, models_file)]


def _check_specs(
    specs: Sequence[str], name: str | None, precision: Precision, max_requests: int
) -> None:
    """Raise ValueError if an option has no effect on the models, or if the only model is not known."""
    from compeval.evaluators.models.checks import check_name

    # An unknown backend of one of several models is reported when this model is loaded.
    backends = {split_spec(spec)[0] for spec in specs}
    if "api" not in backends:
        is_changed = max_requests != MAX_REQUESTS
        reject_unused_options("without a model api:", max_requests=is_changed)
    choosing = [name for name, backend in BACKENDS.items() if not backend.loads_weights]
    if backends.issubset(choosing):
        prefixes = " and ".join(f"{name}:" for name in choosing)
        reject_unused_options(
            f"on models {prefixes}, which choose their own", precision=precision != "auto"
        )
    if len(specs) == 1:
        check_name(specs[0])
    elif name is not None:
        raise ValueError(f"--name names one model; got {len(specs)}: {', '.join(specs)}.")


def _find_tasks(patterns: list[str] | None, data: Path | None, revision: str | None) -> TaskChoice:
    """Return the tasks of the datasets, and those that the patterns select."""
    from compeval.evaluators.engine import tasks
    from compeval.loaders.datasets.folders import list_datasets
    from compeval.loaders.datasets.revisions import find_data_folder

    if revision is not None:
        names = tasks.select_datasets(patterns, data) if patterns else set(list_datasets(data))
        data = find_data_folder(names, revision, data)
    available = tasks.discover(data)
    if patterns is None:
        return TaskChoice(data, available, selected=None)
    selected = tasks.select(available, patterns)
    return TaskChoice(data, available, selected, tasks.find_named(selected, patterns))


def _choose_devices(device: str | None, workers: int | None) -> list[str]:
    """Return the devices of the workers. Raises ValueError if one of them cannot be used."""
    from compeval.evaluators.models import pick_device

    devices = [pick_device(part) for part in (device.split(",") if device else (None,))]
    if workers is None or workers == len(devices):
        return devices
    if len(devices) > 1:
        raise ValueError(
            f"--workers {workers}: --device names {len(devices)} devices. Give one of the two options."
        )
    if devices[0] == "cuda":
        return [pick_device(f"cuda:{number}") for number in range(workers)]
    return devices * workers


@contextmanager
def _start_cluster(
    device: str | None, ray_address: str | None, workers: int | None
) -> Iterator[tuple[Cluster | None, str]]:
    """Start the Ray workers; none if one device of this machine is enough. Yields them and their device."""
    devices = _choose_devices(device, None if ray_address else workers)
    if ray_address is None and len(devices) == 1:
        yield None, devices[0]
        return
    from compeval.evaluators.engine.cluster import start

    with start(devices, ray_address, workers) as cluster:
        yield cluster, cluster.device


def _read_finished_models(
    specs: Sequence[str],
    choice: TaskChoice,
    load_options: LoadOptions,
    evaluation: EvaluationOptions,
) -> RunSummary | None:
    """Return the results if all models were loaded before and have finished all tasks, otherwise None."""
    from compeval.evaluators.models import choose_precision
    from compeval.evaluators.models.known import load_model_info
    from compeval.evaluators.run import (
        FinishedRun,
        get_selected_or_default_tasks,
        read_finished_tasks,
    )

    precision = choose_precision(load_options.precision, evaluation.device)
    finished_runs: list[FinishedRun] = []
    for spec in specs:
        model = load_model_info(spec, precision)
        if model is None:
            return None
        if load_options.name is not None:
            model = replace(model, name=load_options.name)
        tasks = get_selected_or_default_tasks(model, choice.available, choice.selected, choice.data)
        finished = read_finished_tasks(model, tasks, evaluation)
        if finished is None:
            return None
        finished_runs.append(finished)
    for finished in finished_runs:
        print_message(finished.notice.text)
    results = [result for finished in finished_runs for result in finished.results]
    return RunSummary(results, failed={}, refused=[])


def _load(spec: str, options: LoadOptions, evaluation: EvaluationOptions) -> Model:
    """Load a model in this process or on the cluster, with the name of the options in its results."""
    from compeval.evaluators import models
    from compeval.evaluators.models.known import save_model_info

    with err.status(f"Loading {spec}"):
        if evaluation.cluster:
            model = evaluation.cluster.load(spec, options.precision)
        else:
            model = models.load_model(spec, evaluation.device, options.precision)
            save_model_info(model)
        if isinstance(model.encoder, models.PaidScorer):
            model.encoder.max_requests = options.max_requests
            model.encoder.asks_again = not options.uses_stored
    if not options.uses_stored:
        model = replace(model, keeps_features=False)
    if options.name is not None:
        model = replace(model, name=options.name)
    return model


def _print_plan(
    specs: Sequence[str],
    choice: TaskChoice,
    limit: int | None,
    output: Path,
    output_format: FormatName,
) -> None:
    """Print what would run. Exits with 1 if a model or task cannot be evaluated."""
    from dataclasses import asdict

    from compeval.evaluators.results.dry_run import plan_run

    plans = [
        plan_run(
            spec,
            choice.available,
            choice.selected,
            data_dir=choice.data,
            limit=limit,
            output=output,
        )
        for spec in specs
    ]
    rows = [
        {
            "model": plan.model,
            "tasks": str(plan.tasks),
            "finished": str(plan.finished),
            "rows to evaluate": f"{plan.rows:,}",
            "features cached": f"{plan.cached:,}",
            "estimated time": "unknown" if plan.seconds is None else f"{plan.seconds:,.0f} s",
        }
        for plan in plans
    ]
    print_records(output_format, rows, [asdict(plan) for plan in plans])
    print_message(
        "Dry run: no weights were loaded. Finished tasks and cached features hold if the weights have not changed."
    )
    errors = [f"{plan.model} would fail: {plan.error}" for plan in plans if plan.error]
    for error in errors:
        report_failure(error)
    if errors:
        raise typer.Exit(1)
