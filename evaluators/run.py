"""Evaluate a model on tasks and write the results: what ``compeval run`` and ``compeval.evaluate`` do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from evaluators.engine import encode as engine
from evaluators.engine import plan
from evaluators.engine.devices import Job, helping, work_through
from evaluators.engine.encode import OnError, Report, Scored, Share, quiet
from evaluators.engine.feature_cache import FeatureStore, cache_folder
from evaluators.engine.plan import Plan
from evaluators.engine.rows import Rows, load
from evaluators.engine.tasks import Task, discover, select, worth_running
from evaluators.models import DualEncoder, Model, PairScorer, TextRecoverer
from evaluators.results import documents as results
from evaluators.results.documents import Result

CPU_BATCH, ACCELERATOR_BATCH = 64, 512


def default_batch_size(device: str) -> int:
    return CPU_BATCH if device == "cpu" else ACCELERATOR_BATCH


def default_tasks(known: Sequence[Task], model: Model, data_dir: Path | None = None) -> list[Task]:
    """What a model is measured on where nothing is asked for: all that is worth running and that it can do.

    ValueError if that is nothing.
    """
    rows = load(worth_running(known, model), data_dir)
    found = [item.task for item in rows if engine.obstacle(model, item) is None]
    if not found:
        why = f" {engine.obstacle(model, rows[0])}" if rows else " Raw retrieval is run when asked for: --task '*_raw'."
        raise ValueError(f"None of the {len(known)} tasks here is for {model.name}.{why}")
    return found


def run(
    model: Model,
    tasks: Sequence[Task],
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    more_devices: Sequence[str] = (),
    batch_size: int | None = None,
    on_error: OnError = "stop",
    report: Report = quiet,
) -> list[Result]:
    """Results of all tasks, in their order; those that lie in ``output`` already and are up to date are read.

    Each of ``more_devices`` encodes its share in a process of its own, which loads the model by its spec.
    """
    start = time.monotonic()
    rows = load(tasks, data_dir, limit)
    paths = [results.path_of(output, item.source, model.spec, item.task.name, limit) for item in rows]
    known = [results.finished(path, results.describe(item, model)) for path, item in zip(paths, rows, strict=True)]
    todo = [item for item, result in zip(rows, known, strict=True) if result is None]
    _refuse_impossible(model, todo)
    every = [results.path_of(output, item.source, model.spec, "run", limit).parent for item in rows]
    folders = {
        folder
        for folder, result in zip(every, known, strict=True)
        if result is None or results.side_file_was_cut_off(folder)
    }
    for folder in folders:
        results.claim(folder)
    store = FeatureStore(cache_folder(), model.fingerprint)
    fresh: dict[Task, Result] = {}

    def keep(scored: Scored) -> None:
        table = results.examples(scored)
        result = results.compose(scored, table, model)
        results.write(paths[tasks.index(scored.task.rows.task)], result, table)
        fresh[scored.task.rows.task] = result

    batch_size = batch_size or default_batch_size(device)
    try:
        if more_devices and todo and isinstance(model.encoder, DualEncoder | PairScorer):
            job = Job(model.spec, model.precision, [item.task for item in todo], data_dir, limit, batch_size)
            with helping(job, more_devices):
                share = Share(0, 1 + len(more_devices))
                work_through(model, plan.make(todo), store, batch_size, share, report)
        counts = _score_all(model, todo, store, batch_size, on_error, report, keep)
    finally:
        store.close()
    for folder in folders:
        results.write_side_file(folder, device, time.monotonic() - start, counts)
    return [result or fresh[task] for result, task in zip(known, tasks, strict=True)]


def _refuse_impossible(model: Model, rows: Sequence[Rows]) -> None:
    """ValueError, before any work is done, if the model cannot do one of the tasks."""
    for item in rows:
        if obstacle := engine.obstacle(model, item):
            raise ValueError(obstacle)


def _score_all(
    model: Model,
    rows: Sequence[Rows],
    store: FeatureStore,
    batch_size: int,
    on_error: OnError,
    report: Report,
    keep: Callable[[Scored], None],
) -> dict[str, int]:
    """Score every task, handing each to ``keep``; gives what was encoded."""
    if not rows:
        return {"rows": 0, "images_encoded": 0, "texts_encoded": 0}
    planned: Plan = plan.make(rows)
    encoded = engine.Encoded()
    if isinstance(model.encoder, DualEncoder):
        encoded = engine.encode(model, planned, store, batch_size, on_error, report)
    for task in planned.tasks:
        if isinstance(model.encoder, DualEncoder):
            keep(engine.score(task, encoded, store))
        elif isinstance(model.encoder, TextRecoverer):
            keep(engine.recover(model, task, planned, batch_size, report))
        else:
            keep(engine.score_pairs(model, task, planned, store, batch_size, on_error, report))
    return {
        "rows": sum(len(task.row_N) for task in planned.tasks),
        "images_encoded": encoded.images_encoded,
        "texts_encoded": encoded.texts_encoded,
    }


def evaluate(
    model: Any,
    preprocess: Callable[..., Any],
    tokenizer: Callable[..., Any],
    tasks: Sequence[str],
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
) -> dict[str, Result]:
    """Evaluate a model in process, for instance in a training loop; nothing is written, nothing is cached.

    ``model`` is a torch module with open_clip's ``encode_image`` and ``encode_text``; ``preprocess`` turns an RGB image
    into a tensor, ``tokenizer`` a list of texts into a tensor of token ids. ``tasks`` are names or globs. Gives task
    name -> result, as the JSON documents of ``compeval run`` hold it.
    """
    from evaluators.models.openclip import in_process

    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    found: dict[str, Result] = {}
    try:
        loaded = in_process(model, preprocess, tokenizer)
        rows = load(select(discover(data_dir), tasks), data_dir, limit)
        _refuse_impossible(loaded, rows)

        def keep(scored: Scored) -> None:
            found[scored.task.rows.task.name] = results.compose(scored, results.examples(scored), loaded)

        batch_size = batch_size or default_batch_size(next(model.parameters()).device.type)
        with closing(FeatureStore(None, loaded.fingerprint)) as store:
            _score_all(loaded, rows, store, batch_size, "stop", quiet, keep)
    finally:
        for module, was_training in modes:  # each its own: part of a model in training may be frozen
            module.training = was_training
    return found
