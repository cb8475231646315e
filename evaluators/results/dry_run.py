"""Plan a run without loading or downloading weights: ``compeval run --dry-run``.

A model's fingerprint is known only once its weights are loaded. So a task counts as finished if ``output`` has its
result by the same spec on the same data and code, and the features counted as cached are those of the model's last run:
both hold as long as the weights and the precision have not changed. Files are not compared with their hashes; the run
does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compeval.base.files.cache_folder import cache_folder
from compeval.base.plain_text import strip_urls
from compeval.evaluators.engine.feature_cache import count_features
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task, defaults
from compeval.evaluators.models import Model, parse
from compeval.evaluators.models.checks import check_name
from compeval.evaluators.models.local_folder import read_training
from compeval.evaluators.models.open_clip_names import CORPUS_OF_TAG, parse_name
from compeval.evaluators.models.peft_adapters import find_setting
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import get_code
from compeval.evaluators.results.documents import Result


@dataclass(frozen=True)
class PlannedRun:
    """The plan for one model."""

    model: str
    tasks: int
    rows: int
    """Rows of the tasks that are not finished."""
    finished: int
    """Tasks whose results exist."""
    cached: int
    """Features of images and texts in the cache."""
    seconds: float | None
    """Estimate from the model's earlier runs that encoded something; None if there is none."""
    error: str | None = None
    """The reason why the model or a task cannot be evaluated."""


def plan_run(
    spec: str,
    available: Sequence[Task],
    selected: Sequence[Task] | None,
    *,
    data_dir: Path | None,
    limit: int | None,
    output: Path,
) -> PlannedRun:
    """Return what ``compeval run`` would do for a model. ``selected`` is None for the default tasks of the model."""
    try:
        model = _peek(spec)
    except (ValueError, OSError) as error:
        return PlannedRun(strip_urls(spec), 0, 0, 0, 0, None, str(error))
    spec = strip_urls(spec)  # as in results
    earlier = find_results(output, strip_urls(model.spec))
    tasks = defaults(available, model) if selected is None else selected
    rows = 0
    finished = 0
    error = None
    for task in tasks:
        try:
            dataset = load(task, data_dir, limit, verify=False)
        except ValueError as reason:
            error = error or str(reason)
            continue
        expected = (dataset.fingerprint, get_code(task.dataset, task.config))
        of_task = (result for result in earlier.values() if result["task"] == task.name)
        if any(documents.is_finished(result, *expected) for result in of_task):
            finished += 1
        else:
            rows += len(dataset)
    fingerprints = {result["model"]["fingerprint"] for result in earlier.values()}
    cached = sum(
        count_features(cache_folder(), fingerprint) for fingerprint in sorted(fingerprints)
    )
    rate = _measure_rate(output, earlier)
    seconds = 0.0 if not rows else rate and rows * rate
    return PlannedRun(spec, len(tasks), rows, finished, cached, seconds, error)


def _peek(spec: str) -> Model:
    """Return what is known of a model without loading it. Raises ValueError or FileNotFoundError for an unknown one."""
    check_name(spec)
    backend, name = parse(spec)
    about: dict[str, str | None] = {}
    if find_setting(name):  # what an adapter was trained on is not known
        return Model(spec, name, None, "")
    if backend == "open_clip":
        spec = name
        about = {"corpus": CORPUS_OF_TAG.get(parse_name(name)[1])}
    elif backend == "local":
        about = read_training(Path(name))
    return Model(spec, name, None, "", **about)  # pyright: ignore[reportArgumentType]


def find_results(output: Path, spec: str) -> dict[Path, Result]:
    """Return the results of a model in ``output``, by their paths. Damaged documents are left out."""
    return {
        path: result
        for path, result in documents.read_undamaged(output).items()
        if result["model"]["spec"] == spec and path.with_suffix(".parquet").is_file()
    }


def _measure_rate(output: Path, paths: Iterable[Path]) -> float | None:
    """Return the seconds per row of the runs that wrote the results. Runs that only read the cache do not count."""
    folders = {output.joinpath(*path.relative_to(output).parts[:2]) for path in paths}
    seconds = rows = 0.0
    for side_file in map(documents.get_side_file, sorted(folders)):
        record = json.loads(side_file.read_text(encoding="utf-8")) if side_file.is_file() else {}
        if record.get("images_encoded") or record.get("texts_encoded"):
            seconds = seconds + record["seconds"]
            rows = rows + record["rows"]
    return seconds / rows if rows else None
