"""Evaluate a model on tasks and write the results: ``compeval run`` and ``compeval.evaluate``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from evaluators.engine import plan
from evaluators.engine.cluster import Cluster
from evaluators.engine.encode import Encoded, Engine, OnError, Report, encode, encode_texts, quiet
from evaluators.engine.feature_cache import FeatureStore, cache_folder
from evaluators.engine.pairs import stream_missing
from evaluators.engine.rows import Rows, load
from evaluators.engine.score import Scored, explain_unsupported, score
from evaluators.engine.tasks import Task, defaults, discover, select
from evaluators.models import DualEncoder, MeteredScorer, Model, PairScorer, TextEncoder, TextRecoverer
from evaluators.results import documents
from evaluators.results.compose import compose, describe, make_examples
from evaluators.results.documents import Result

CPU_BATCH, ACCELERATOR_BATCH = 64, 512


def default_batch_size(device: str) -> int:
    return CPU_BATCH if device == "cpu" else ACCELERATOR_BATCH


class RefusedTask(NamedTuple):
    """A task that cannot be evaluated, and the reason."""

    task: Task
    reason: str

    def __str__(self) -> str:
        return self.reason if self.reason.startswith(self.task.name) else f"{self.task.name}: {self.reason}"


OnRefused = Callable[[RefusedTask], None]


def _raise_refused(refused: RefusedTask) -> None:
    raise ValueError(str(refused))


def default_tasks(known: Sequence[Task], model: Model, data_dir: Path | None = None) -> list[Task]:
    """Return the default tasks that the model supports. Raises ValueError if there are none."""
    unsupported: list[str] = []
    supported: list[Task] = []
    for task in defaults(known, model):
        try:
            (rows,) = load([task], data_dir)
            reason = explain_unsupported(model, rows)
        except ValueError:  # a damaged split, which is reported when it is evaluated
            reason = None
        if reason is None:
            supported.append(task)
        else:
            unsupported.append(f"{task.name}: {reason}")
    if not supported:
        reason = unsupported[0] if unsupported else "Raw retrieval runs on request only: --task '*_raw'."
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
    report: Report = quiet,
    on_cost: Callable[[str], None] = lambda statement: None,
) -> list[Result]:
    """Evaluate the model, write the results to ``output`` and return them in the order of the tasks.

    Results in ``output`` that are up to date are read instead of computed again. Tasks that cannot be evaluated are
    passed to ``on_refused`` before anything is encoded; by default, it raises ValueError. ``on_cost`` is called with
    what a model behind an endpoint will be asked, before the first request. With a ``cluster``, its actors encode;
    ``model`` is what ``cluster.load`` returned.
    """
    start = time.monotonic()
    batch_size = batch_size or default_batch_size(device)
    rows = _load_usable(model, tasks, data_dir, limit, on_refused)
    paths = {
        item.task: documents.get_result_path(output, item.source, model.name, item.task.name, limit) for item in rows
    }
    folders = {item: documents.get_model_folder(output, item.source, model.name, limit) for item in rows}
    for folder in set(folders.values()):
        documents.check_owner(folder, model)
    results = {
        item.task: _read_finished(paths[item.task], describe(item, model)) if model.is_cached else None for item in rows
    }
    todo, planned = _plan([item for item in rows if results[item.task] is None], on_refused)
    outdated = {
        folder
        for item, folder in folders.items()
        if item in todo or (results[item.task] and not documents.get_side_file(folder).exists())
    }
    for folder in outdated:
        documents.make_folder(folder)

    def save_result(scored: Scored) -> None:
        table, task = make_examples(scored), scored.task.rows.task
        result = results[task] = compose(scored, table, model)
        documents.write(paths[task], result, table)

    with closing(FeatureStore(cache_folder() if model.is_cached else None, model.fingerprint)) as store:
        engine = Engine(model, planned, store, batch_size, on_error, report)
        if todo and isinstance(model.encoder, MeteredScorer):
            on_cost(model.encoder.state_cost(stream_missing(engine)))
        by_actors = cluster.fill(engine) if cluster and todo else {}
        counts = {name: count + by_actors.get(name, 0) for name, count in _score_all(engine, save_result).items()}
    for folder in outdated:
        documents.write_side_file(folder, device, time.monotonic() - start, counts)
    return [result for task in tasks if (result := results.get(task))]


def _read_finished(path: Path, expected: Result) -> Result | None:
    """Read a result that is up to date, and write the dataset's version into it if only other configs have changed.

    Returns None if there is no such result. Raises ValueError if it cannot be written.
    """
    result = documents.read_finished(path, expected)
    versions = {name: expected["data"][name] for name in ("version", "revision")}
    if result and result["data"] != (data := result["data"] | versions):
        result["data"] = data
        documents.write_document(path, result)
    return result


def _load_usable(
    model: Model, tasks: Sequence[Task], data_dir: Path | None, limit: int | None, on_refused: OnRefused
) -> list[Rows]:
    """Return the rows of the tasks that can be read and that the model supports."""
    usable: list[Rows] = []
    try:
        loaded = dict(zip(tasks, load(tasks, data_dir, limit), strict=True))
    except ValueError:  # of a task that is loaded alone below, to be refused
        loaded = {}
    for task in tasks:
        try:
            rows = loaded[task] if loaded else load([task], data_dir, limit)[0]
            describe(rows, model)
            reason = explain_unsupported(model, rows)
        except ValueError as error:
            reason, rows = str(error), None
        if reason is None and rows is not None:
            usable.append(rows)
        else:
            on_refused(RefusedTask(task, reason or ""))
    return usable


def _plan(rows: Sequence[Rows], on_refused: OnRefused) -> tuple[list[Rows], plan.Plan]:
    """Return the plan of the tasks that can be planned, and their rows."""
    try:
        return list(rows), plan.make(rows)
    except ValueError:
        usable: list[Rows] = []
        for item in rows:
            try:
                plan.make([item])
                usable.append(item)
            except ValueError as error:
                on_refused(RefusedTask(item.task, str(error)))
        return usable, plan.make(usable)


def _score_all(engine: Engine, on_scored: Callable[[Scored], None]) -> dict[str, int]:
    """Score every task of the plan, pass its scores to ``on_scored``, and return the counts for the side file."""
    encoded = _encode(engine) if engine.plan.tasks else Encoded()
    for task in engine.plan.tasks:
        on_scored(score(engine, task, encoded))
    return {
        "rows": sum(len(task.row_N) for task in engine.plan.tasks),
        "images_encoded": encoded.images_encoded,
        "texts_encoded": encoded.texts_encoded,
    }


def _encode(engine: Engine) -> Encoded:
    """Encode images and texts, or the texts if the model is a pure text encoder. Other models score pairs directly."""
    encoder = engine.model.encoder
    if isinstance(encoder, DualEncoder):
        return encode(engine)
    if not isinstance(encoder, TextEncoder) or isinstance(encoder, PairScorer | TextRecoverer):
        return Encoded()
    keys, count = encode_texts(engine.model, engine.plan.texts, engine.store, engine.batch_size, engine.report)
    return Encoded(text_keys=keys, texts_encoded=count)


def evaluate(
    model: Any,
    preprocess: Callable[..., Any],
    tokenizer: Callable[..., Any],
    tasks: str | Sequence[str],
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
) -> dict[str, Result]:
    """Evaluate a model in the current process, for instance in a training loop. No result or feature is written.

    ``model`` is a torch module with open_clip's ``encode_image`` and ``encode_text``; ``preprocess`` turns an RGB image
    into a tensor, and ``tokenizer`` turns a list of texts into a tensor of token ids. ``tasks`` are names or globs, in
    a list or separated by commas. Returns a dictionary from task name to result; the results are the same as those of
    ``compeval run``.
    """
    from evaluators.models.openclip import in_process

    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    results: dict[str, Result] = {}

    def add_result(scored: Scored) -> None:
        results[scored.task.rows.task.name] = compose(scored, make_examples(scored), loaded)

    try:
        loaded = in_process(model, preprocess, tokenizer)
        rows = _load_usable(loaded, select(discover(data_dir), tasks), data_dir, limit, _raise_refused)
        batch_size = batch_size or default_batch_size(next(model.parameters()).device.type)
        with closing(FeatureStore(None, loaded.fingerprint)) as store:
            _score_all(Engine(loaded, plan.make(rows), store, batch_size), add_result)
    finally:
        for module, was_training in modes:  # some modules may have been in evaluation mode, for example frozen layers
            module.training = was_training
    return results
