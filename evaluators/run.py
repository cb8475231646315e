"""Evaluate a model on tasks and write the results: ``compeval run``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from compeval.evaluators.engine import plan
from compeval.evaluators.engine.cluster import Cluster
from compeval.evaluators.engine.compute import OnError, uses_worker_processes
from compeval.evaluators.engine.encode import Engine, Report, no_progress
from compeval.evaluators.engine.feature_cache import FeatureStore, cache_folder
from compeval.evaluators.engine.pairs import stream_missing
from compeval.evaluators.engine.score import explain_unsupported, score_all
from compeval.evaluators.engine.task_dataset import TaskDataset, load
from compeval.evaluators.engine.tasks import Task, defaults
from compeval.evaluators.models import Model, PaidScorer
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import compose, describe, make_examples
from compeval.evaluators.results.documents import Result
from compeval.loaders.datasets.verified import verify_images_once

CPU_BATCH, ACCELERATOR_BATCH = 64, 512
Item = TypeVar("Item")
Value = TypeVar("Value")


def default_batch_size(device: str) -> int:
    return CPU_BATCH if device == "cpu" else ACCELERATOR_BATCH


class RefusedTask(NamedTuple):
    """A task that cannot be evaluated, and the reason."""

    task: Task
    reason: str

    def __str__(self) -> str:
        return (
            self.reason
            if self.reason.startswith(self.task.name)
            else f"{self.task.name}: {self.reason}"
        )


OnRefused = Callable[[RefusedTask], None]


def _raise_refused(refused: RefusedTask) -> None:
    raise ValueError(str(refused))


def default_tasks(
    known: Sequence[Task], model: Model, data_dir: Path | str | None = None
) -> list[Task]:
    """Return the default tasks that the model supports. Raises ValueError if there are none."""
    reasons: dict[Task, str | None] = dict.fromkeys(defaults(known, model))
    for task in reasons:
        with suppress(ValueError):  # a damaged split, which is reported when it is evaluated
            reasons[task] = explain_unsupported(model, load(task, data_dir, verify=False))
    supported = [task for task, reason in reasons.items() if reason is None]
    if not supported:
        unsupported = (f"{task.name}: {reason}" for task, reason in reasons.items())
        reason = next(unsupported, "Raw retrieval runs on request only: --task '*_raw'.")
        raise ValueError(f"None of the {len(known)} tasks here is for {model.name}. {reason}")
    return supported


def run(
    model: Model,
    tasks: Sequence[Task],
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    cluster: Cluster | None = None,
    batch_size: int | None = None,
    on_error: OnError = "stop",
    on_refused: OnRefused = _raise_refused,
    report: Report = no_progress,
    on_cost: Callable[[str], None] = lambda statement: None,
) -> list[Result]:
    """Evaluate a model (loaded by ``cluster``), write the results to ``output``, and return them in the tasks' order.

    Results that are up to date are read instead of computed again. Before anything is encoded, ``on_refused`` gets the
    tasks that cannot be evaluated (default: ValueError), and ``on_cost`` what an endpoint will be asked.
    """
    start = time.monotonic()
    remote = cluster.compute if cluster and cluster.is_used else None
    in_processes = not remote and uses_worker_processes(model.encoder)
    datasets = load_all(model, tasks, data_dir, limit, on_refused)
    folders, paths, results = _find_finished(model, datasets, output)
    if results:
        on_cost(describe_reused(model, [paths[task] for task in results]))
    unfinished = {task: dataset for task, dataset in datasets.items() if task not in results}
    planned = plan.merge_plans([*_collect(plan.plan_task, unfinished, on_refused).values()])
    outdated = {folders[task.dataset.task] for task in planned.tasks}
    outdated |= {
        folders[task] for task in results if not documents.get_side_file(folders[task]).exists()
    }
    for folder in outdated:
        documents.make_folder(folder)
    with closing(
        FeatureStore(cache_folder() if model.is_cached else None, model.fingerprint)
    ) as store:
        batch_size = batch_size or default_batch_size(device)
        engine = Engine(model, planned, store, batch_size, on_error, report, remote, in_processes)
        results |= _score_tasks(engine, paths, on_cost)
    rows, seconds = sum(len(task.row_N) for task in planned.tasks), time.monotonic() - start
    counts = {f"{stage}_encoded": engine.counts[stage] for stage in ("images", "texts")}
    for folder in outdated:
        documents.write_side_file(folder, device, seconds, {"rows": rows} | counts)
    return [results[task] for task in tasks if task in results]


def describe_reused(model: Model, paths: Sequence[Path]) -> str:
    """Return that results are read and not computed: their number, their time, and what they were computed with."""
    times = sorted(path.stat().st_mtime for path in paths)
    first, last = (f"{datetime.fromtimestamp(t):%Y-%m-%d %H:%M}" for t in (times[0], times[-1]))
    computed = first if first == last else f"between {first} and {last}"
    return (
        f"{len(paths):,} {'task is' if len(paths) == 1 else 'tasks are'} up to date: computed {computed} with the "
        f"fingerprint {model.fingerprint[:8]} of {model.name}. --no-cache computes them again."
    )


def read_finished(
    model: Model,
    tasks: Sequence[Task],
    *,
    data_dir: Path | None,
    limit: int | None,
    output: Path,
    on_reused: Callable[[str], None] = lambda statement: None,
) -> list[Result] | None:
    """Return the results if those of all tasks are up to date, otherwise None. The model need not be loaded.

    ``on_reused`` is called with a statement about the results that are read.
    """
    datasets = load_all(model, tasks, data_dir, limit, on_refused=lambda refused: None)
    folders, paths, results = _find_finished(model, datasets, output)
    is_complete = len(results) == len(tasks) and all(
        documents.get_side_file(folders[task]).exists() for task in tasks
    )
    if is_complete:
        on_reused(describe_reused(model, [paths[task] for task in tasks]))
    return [results[task] for task in tasks] if is_complete else None


def _find_finished(
    model: Model, datasets: Mapping[Task, TaskDataset], output: Path
) -> tuple[dict[Task, Path], dict[Task, Path], dict[Task, Result]]:
    """Return the folder and the path of the result of each task, and the result if it is up to date.

    If only other configs of a dataset have changed, the dataset's version is written into its results. Raises
    ValueError if they cannot be written, or if a folder has results of another model.
    """
    folders: dict[Task, Path] = {}
    paths: dict[Task, Path] = {}
    results: dict[Task, Result] = {}
    for task, dataset in datasets.items():
        folders[task] = documents.get_model_folder(
            output, dataset.source, model.name, dataset.limit
        )
        paths[task] = documents.get_result_path(
            output, dataset.source, model.name, task.name, dataset.limit
        )
    for folder in dict.fromkeys(folders.values()):
        documents.check_owner(folder, model)
    for task, dataset in datasets.items() if model.is_cached else ():
        expected = describe(dataset, model)
        if result := documents.read_finished(paths[task], expected):
            results[task] = result
            versions = {name: expected["data"][name] for name in ("version", "revision")}
            if not versions.items() <= result["data"].items():
                result["data"] |= versions
                documents.write_document(paths[task], result)
    return folders, paths, results


def _collect(
    function: Callable[[Item], Value], items: Mapping[Task, Item], on_refused: OnRefused
) -> dict[Task, Value]:
    """Call a function for each task. Tasks for which it raises ValueError are passed to ``on_refused`` instead."""
    values: dict[Task, Value] = {}
    for task, item in items.items():
        try:
            values[task] = function(item)
        except ValueError as error:
            on_refused(RefusedTask(task, str(error)))
    return values


def _score_tasks(
    engine: Engine, paths: Mapping[Task, Path], on_cost: Callable[[str], None]
) -> dict[Task, Result]:
    """Score the tasks of the plan, and write each result before the next one is computed."""
    if engine.plan.tasks and isinstance(engine.model.encoder, PaidScorer):
        on_cost(engine.model.encoder.estimate_cost(stream_missing(engine)))
    results: dict[Task, Result] = {}
    for scored in score_all(engine):
        task, examples = scored.task.dataset.task, make_examples(scored)
        results[task] = compose(scored, examples, engine.model)
        documents.write(paths[task], results[task], examples)
    return results


def load_all(
    model: Model,
    tasks: Sequence[Task],
    data_dir: Path | str | None,
    limit: int | None,
    on_refused: OnRefused = _raise_refused,
) -> dict[Task, TaskDataset]:
    """Return the rows of the tasks that can be evaluated. The others are passed to ``on_refused``.

    These are tasks whose rows cannot be read, and tasks that the model does not support.
    """

    def load_supported(task: Task) -> TaskDataset:
        dataset = load(task, data_dir, limit)
        describe(dataset, model)  # reads the columns that a result describes
        if reason := explain_unsupported(model, dataset):
            raise ValueError(reason)
        return dataset

    with verify_images_once():
        return _collect(load_supported, {task: task for task in tasks}, on_refused)
