"""Evaluate a model on tasks and write the results.

``evaluate_tasks`` has the steps of `compeval run` in their order. ``run``, which returns a list and raises an error for
the first task that a model cannot do, is for `compeval demo`, the probes and the experiments.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from compeval.base.files.cache_folder import cache_folder
from compeval.evaluators.engine import plan
from compeval.evaluators.engine.cluster import Cluster
from compeval.evaluators.engine.compute import OnError, start_server_for_gpu
from compeval.evaluators.engine.encode import Engine, Report, no_progress
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.pairs import stream_missing
from compeval.evaluators.engine.score import explain_unsupported, score_all
from compeval.evaluators.engine.task_dataset import TaskDataset, load
from compeval.evaluators.engine.tasks import Task, defaults
from compeval.evaluators.models import Model, PaidScorer
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import compose, describe, make_examples
from compeval.evaluators.results.documents import Result
from compeval.loaders.datasets.verified import verify_images_once

CPU_BATCH = 64
ACCELERATOR_BATCH = 512


def default_batch_size(device: str) -> int:
    return CPU_BATCH if device == "cpu" else ACCELERATOR_BATCH


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of a run: its folders, its device, and its treatment of unreadable images."""

    data_dir: Path | None = None
    """Folder that contains the dataset folders; None for the current one and the downloaded datasets."""
    limit: int | None = None
    """Number of first rows of each task that are evaluated; None for all."""
    output: Path = Path("results")
    """Folder of the results."""
    device: str = "cpu"
    """Device of the model, for the default batch size and the side file."""
    cluster: Cluster | None = None
    """Ray workers that have loaded the model; None for a model of this process."""
    batch_size: int | None = None
    """Images, texts or pairs per batch; None for 64 on a CPU and 512 on an accelerator."""
    on_error: OnError = "stop"
    """``stop`` raises an error if an image is unreadable, ``skip`` leaves out its rows."""


class RefusedTask(NamedTuple):
    """A task that cannot be evaluated, and the reason."""

    task: Task
    reason: str
    is_unsupported: bool = False
    """True if the rows can be read, and only this model cannot do the task."""

    def __str__(self) -> str:
        if self.reason.startswith(self.task.name):
            return self.reason
        return f"{self.task.name}: {self.reason}"


class Notice(NamedTuple):
    """A sentence for the user: which results are reused, or what an endpoint will be asked."""

    text: str


class OpenedTask(NamedTuple):
    """The rows of a task, and the part of its result document that is known before scoring."""

    dataset: TaskDataset
    description: Result


class StoredResult(NamedTuple):
    """Path of the result of a task, and the result if it is up to date."""

    folder: Path
    path: Path
    result: Result | None

    @property
    def lacks_side_file(self) -> bool:
        """True if the last run that wrote to the folder was killed after its last result."""
        return not documents.get_side_file(self.folder).exists()


class FinishedRun(NamedTuple):
    """The results of all tasks of a run, which are up to date, and the notice that they are reused."""

    results: list[Result]
    notice: Notice


def get_selected_or_default_tasks(
    model: Model,
    available: Sequence[Task],
    selected: Sequence[Task] | None,
    data_dir: Path | str | None = None,
) -> Sequence[Task]:
    """Return the selected tasks or, for None, the default tasks that the model supports.

    Raises ValueError if the model supports none of the default tasks.
    """
    if selected is not None:
        return selected
    reasons: dict[Task, str | None] = dict.fromkeys(defaults(available, model))
    for task in reasons:
        # A damaged split is reported when it is evaluated.
        with suppress(ValueError):
            reasons[task] = explain_unsupported(model, load(task, data_dir, verify=False))
    supported = [task for task, reason in reasons.items() if reason is None]
    if not supported:
        unsupported = (f"{task.name}: {reason}" for task, reason in reasons.items())
        reason = next(unsupported, "Raw retrieval runs on request only: --task '*_raw'.")
        raise ValueError(f"None of the {len(available)} tasks here is for {model.name}. {reason}")
    return supported


def evaluate_tasks(
    model: Model,
    tasks: Sequence[Task],
    options: EvaluationOptions,
    report: Report = no_progress,
) -> Iterator[RefusedTask | Notice | Result]:
    """Evaluate a model, and yield what a caller reports, as soon as it is known.

    These are tasks that cannot be evaluated (before anything is encoded), notices, and the result of each other task
    once it is written to the output folder. Results that are up to date are read instead of computed again. With a
    cluster, the model is one that it has loaded.
    """
    start = time.monotonic()
    cluster = options.cluster if options.cluster and options.cluster.is_used else None
    in_processes = not cluster and start_server_for_gpu(model.encoder)
    batch_size = options.batch_size or default_batch_size(options.device)

    # Open the rows of the tasks.
    opened, refused = open_tasks(model, tasks, options.data_dir, options.limit)
    yield from refused

    # Read the results that are up to date.
    stored = {task: refresh_stored(model, rows, options.output) for task, rows in opened.items()}
    _check_owners(model, stored.values())
    reused = {task: place for task, place in stored.items() if place.result is not None}
    if reused:
        yield describe_reused(model, reused.values())
    for place in reused.values():
        assert place.result is not None
        yield place.result

    # Plan which images and texts the other tasks need.
    missing = [dataset for task, (dataset, _) in opened.items() if task not in reused]
    planned, refused = plan_all(missing)
    yield from refused

    # The folders that this run writes to: those of new results, and those without a side file.
    written_folders = {stored[task.dataset.task].folder for task in planned.tasks}
    written_folders |= {place.folder for place in reused.values() if place.lacks_side_file}
    for folder in written_folders:
        documents.make_folder(folder)

    cache = cache_folder() if model.keeps_features else None
    with closing(FeatureStore(cache, model.fingerprint)) as store:
        engine = Engine(
            model, planned, store, batch_size, options.on_error, report, cluster, in_processes
        )

        # Announce the requests to an endpoint. Raises ValueError above the maximum.
        if planned.tasks and isinstance(model.encoder, PaidScorer):
            yield Notice(model.encoder.estimate_cost(stream_missing(engine)))

        # Compute what the cache lacks: for all tasks, but for one task at a time with a pair scorer in this process.
        # Score each task, and write its result before the next one is scored.
        for scored in score_all(engine):
            task = scored.task.dataset.task
            examples = make_examples(scored)
            result = compose(opened[task].description, scored, examples, model)
            documents.write(stored[task].path, result, examples)
            yield result

    # Record the time and the speed of this run.
    counts = {
        "rows": sum(len(task.row_N) for task in planned.tasks),
        "images_encoded": engine.counts["images"],
        "texts_encoded": engine.counts["texts"],
    }
    seconds = time.monotonic() - start
    for folder in written_folders:
        documents.write_side_file(folder, options.device, seconds, counts)


def run(
    model: Model,
    tasks: Sequence[Task],
    options: EvaluationOptions,
    report: Report = no_progress,
) -> list[Result]:
    """Evaluate a model as ``evaluate_tasks`` does, and return the results in the tasks' order.

    Raises ValueError if a task cannot be evaluated, before anything is encoded.
    """
    results: list[Result] = []
    for outcome in evaluate_tasks(model, tasks, options, report):
        if isinstance(outcome, RefusedTask):
            raise ValueError(str(outcome))
        if not isinstance(outcome, Notice):
            results.append(outcome)
    return sort_results(results, tasks)


def sort_results(results: Iterable[Result], tasks: Sequence[Task]) -> list[Result]:
    """Return the results in the order of the tasks."""
    result_by_name = {result["task"]: result for result in results}
    return [result_by_name[task.name] for task in tasks if task.name in result_by_name]


def read_finished_tasks(
    model: Model, tasks: Sequence[Task], options: EvaluationOptions
) -> FinishedRun | None:
    """Return the results if those of all tasks are up to date, otherwise None. The model need not be loaded.

    The tasks after the first unfinished one are not opened.
    """
    stored: list[StoredResult] = []
    results: list[Result] = []
    with verify_images_once():
        for task in tasks:
            opened = open_task(model, task, options.data_dir, options.limit)
            if isinstance(opened, RefusedTask):
                return None
            place = refresh_stored(model, opened, options.output)
            if place.result is None or place.lacks_side_file:
                return None
            stored.append(place)
            results.append(place.result)
    _check_owners(model, stored)
    return FinishedRun(results, describe_reused(model, stored))


def open_tasks(
    model: Model, tasks: Sequence[Task], data_dir: Path | str | None, limit: int | None
) -> tuple[dict[Task, OpenedTask], list[RefusedTask]]:
    """Return the rows of the tasks that can be evaluated, and the other tasks."""
    opened: dict[Task, OpenedTask] = {}
    refused: list[RefusedTask] = []
    with verify_images_once():
        for task in tasks:
            outcome = open_task(model, task, data_dir, limit)
            if isinstance(outcome, RefusedTask):
                refused.append(outcome)
            else:
                opened[task] = outcome
    return opened, refused


def open_task(
    model: Model, task: Task, data_dir: Path | str | None, limit: int | None
) -> OpenedTask | RefusedTask:
    """Return the rows of a task; a refusal if they cannot be read, or if the model does not support the task."""
    try:
        dataset = load(task, data_dir, limit)
        # Reads the columns that a result describes, so that damaged ones are reported now.
        description = describe(dataset, model)
    except ValueError as error:
        return RefusedTask(task, str(error))
    reason = explain_unsupported(model, dataset)
    if reason is not None:
        return RefusedTask(task, reason, is_unsupported=True)
    return OpenedTask(dataset, description)


def refresh_stored(model: Model, opened: OpenedTask, output: Path) -> StoredResult:
    """Return where the result of a task is stored, and the result if it is up to date.

    If only other configs of the dataset have changed, the document is written again with the dataset's present version.
    Raises ValueError if this fails.
    """
    dataset, expected = opened
    folder = documents.get_model_folder(output, dataset.source, model.name, dataset.limit)
    path = documents.get_result_path(folder, dataset.task.name)
    result = documents.read_if_finished(path, expected) if model.keeps_features else None
    versions = {name: expected["data"][name] for name in ("version", "revision")}
    if result is not None and not versions.items() <= result["data"].items():
        result["data"] |= versions
        documents.write_document(path, result)
    return StoredResult(folder, path, result)


def _check_owners(model: Model, stored: Iterable[StoredResult]) -> None:
    """Raise ValueError if a folder has results of another model with the same name."""
    for folder in dict.fromkeys(place.folder for place in stored):
        documents.check_owner(folder, model)


def plan_all(datasets: Iterable[TaskDataset]) -> tuple[plan.Plan, list[RefusedTask]]:
    """Return the plan of the tasks whose rows can be scored, and the other tasks."""
    drafts: list[plan.Draft] = []
    refused: list[RefusedTask] = []
    for dataset in datasets:
        try:
            drafts.append(plan.plan_task(dataset))
        except ValueError as error:
            refused.append(RefusedTask(dataset.task, str(error)))
    return plan.merge_plans(drafts), refused


def describe_reused(model: Model, reused: Iterable[StoredResult]) -> Notice:
    """Return that results are read and not computed: their number, their time, and what they were computed with."""
    times = sorted(place.path.stat().st_mtime for place in reused)
    first = f"{datetime.fromtimestamp(times[0]):%Y-%m-%d %H:%M}"
    last = f"{datetime.fromtimestamp(times[-1]):%Y-%m-%d %H:%M}"
    computed = first if first == last else f"between {first} and {last}"
    text = (
        f"{len(times):,} {'task is' if len(times) == 1 else 'tasks are'} up to date: computed {computed} with the "
        f"fingerprint {model.fingerprint[:8]} of {model.name}. --no-cache computes them again."
    )
    file = model.source_file
    if file is not None and file.exists() and file.stat().st_mtime > times[0]:
        text += (
            f" WARNING: {file.name} has changed since, but not the fingerprint of the class. If the scores may have "
            "changed, give it another fingerprint."
        )
    return Notice(text)
