"""Compose the result document and the examples table of a scored task.

Shares are fractions of 1. Confidence intervals are 95 %, over images; null if there is none
(evaluators/metrics/intervals.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from compeval.base.pipeline.code_digest import code_digest, strip_comments
from compeval.evaluators.engine.score import Scored
from compeval.evaluators.engine.task_dataset import TaskDataset
from compeval.evaluators.engine.tasks import list_warnings
from compeval.evaluators.metrics import categories
from compeval.evaluators.metrics.intervals import Interval, compute_intervals
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.protocols import authors, recall
from compeval.evaluators.results.documents import SCHEMA, Result
from compeval.evaluators.results.ties import explain_ties


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Return a digest of the code that a result depends on: this module and everything that it imports."""
    return code_digest(__file__)


@cache
def fingerprint_module(path: str) -> str:
    """Return a digest of the code of a module, without comments."""
    return fingerprint.of_json(strip_comments(Path(path).read_text(encoding="utf-8")))


@cache
def package_version() -> str:
    """Return the version of this package, which is parsed from the metadata of its installation."""
    return version("compeval")


def get_code(dataset: str, config: str) -> dict[str, str]:
    """Return the version and digests of the code that the results of a config depend on."""
    module = authors.find_module(dataset) if authors.find_rule(dataset, config) else None
    by_authors = {"authors": fingerprint_module(module)} if module else {}
    return {"version": package_version(), "fingerprint": code_fingerprint(), **by_authors}


def compose(description: Result, scored: Scored, examples: pa.Table, model: Model) -> Result:
    """Compose the result document of one task, which begins with its ``description`` (:func:`describe`)."""
    dataset = scored.task.dataset
    parts = summarise(scored, examples)
    main = [_join_name(direction, metrics.main) for direction, metrics in scored.metrics.items()]
    rounded = explain_ties(scored, parts["metrics"], main, model.precision)
    counts = {
        "rows": len(scored.index_N),  # without skipped rows
        "crops": len(np.unique(scored.task.crop_NI)),
        "images": len(np.unique(get_clusters(examples))),
        "folds": None if dataset.fold_size is None else int(scored.task.fold_N.max()) + 1,
    }
    document = description | {"data": description["data"] | counts}
    if dataset.authors_rule:
        document["authors"] = dataset.authors_rule.what
    if times := getattr(model.encoder, "list_times", dict)():
        document["answers"] = times
    if scored.position_bias:
        document["position_bias"] = scored.position_bias._asdict()
    return document | {
        "main": main,
        **parts,
        "warnings": [
            *model.warnings,
            *scored.warnings,
            *([rounded] if rounded else []),
            *list_warnings(dataset.task, dataset.source, model),
        ],
        "skipped": scored.skipped,
    }


def summarise(scored: Scored, examples: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the parts of a result document that have values by metric, and the metrics by category of the rows."""
    cluster_N = get_clusters(examples)
    fold_N = scored.task.fold_N[scored.index_N]
    metrics: dict[str, float] = {}
    intervals: dict[str, Interval | None] = {}
    chance = dict[str, float]()
    std = dict[str, float]()
    for direction, measured in scored.metrics.items():
        bounds = compute_intervals(
            measured.values, cluster_N[measured.get_rows(len(cluster_N))], measured.unbounded
        )
        metrics |= _add_prefix(direction, measured.summarise())
        intervals |= _add_prefix(direction, bounds)
        chance |= _add_prefix(direction, measured.chance)
        if scored.task.dataset.fold_size is not None:
            std |= _add_prefix(direction, recall.compute_fold_std(measured, fold_N))
    by_category, macro = categories.compute_category_metrics(scored.metrics, examples, cluster_N)
    for name, (mean, bound) in macro.items():
        metrics[name], intervals[name], chance[name] = (
            mean,
            bound,
            chance[name.partition("_macro_")[0]],
        )
    as_lists = {name: bound and list(bound) for name, bound in intervals.items()}
    return {
        "metrics": metrics,
        "intervals": as_lists,
        "chance": chance,
        "std": std,
        "categories": by_category,
    }


def _join_name(direction: str, metric: str) -> str:
    return f"{direction}_{metric}" if direction else metric


def _add_prefix(direction: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {_join_name(direction, metric): value for metric, value in values.items()}


def get_clusters(examples: pa.Table) -> np.ndarray:
    """Return the cluster of each row, the unit that the bootstrap resamples: its image or, without image, the row.

    Rows with the same picture are one cluster, also if their ids of the image differ.
    """
    names = examples.schema.names
    if "image_id" not in names:
        return examples["row"].to_numpy(zero_copy_only=False)
    image_N = examples["image_id"].to_numpy(zero_copy_only=False)
    has_one_image = [name for name in names if name.startswith("crop_id")] == ["crop_id"]
    return (
        _join_equal(image_N, examples["crop_id"].to_numpy(zero_copy_only=False))
        if has_one_image
        else image_N
    )


def _join_equal(image_N: np.ndarray, crop_N: np.ndarray) -> np.ndarray:
    """Return the ids of images, where those that share a crop get one id, the first of them."""
    pairs = dict.fromkeys(zip(crop_N.tolist(), image_N.tolist(), strict=True))
    first = dict[str, str]()
    if all(first.setdefault(crop, image) == image for crop, image in pairs):
        return image_N  # the usual case
    label = {image: image for _, image in pairs}
    while True:
        of_crop: dict[str, str] = {}
        for crop, image in pairs:
            of_crop[crop] = min(of_crop.get(crop, label[image]), label[image])
        joined = dict(label)
        for crop, image in pairs:
            joined[image] = min(joined[image], of_crop[crop])
        if joined == label:
            return np.array([label[image] for image in image_N.tolist()], dtype=object)
        label = joined


def describe(dataset: TaskDataset, model: Model) -> Result:
    """Return the part of a result document that is known before scoring."""
    task = dataset.task
    return {
        "schema": SCHEMA,
        "task": task.name,
        "dataset": task.dataset,
        "config": task.config,
        "split": task.split,
        "variant": task.variant or None,
        "protocol": dataset.protocol.name,
        "source": dataset.source,
        "synthetic": dataset.source == "microworld",
        "model": {
            "spec": model.spec,
            "name": model.name,
            "effective": model.effective or model.name,
            "fingerprint": model.fingerprint,
            "precision": model.precision,
            "corpus": model.corpus,
            "corpus_source": model.corpus_source,
            "contaminated": model.contaminated,
            "text_encoder": model.text_encoder,
            **({"scoring": dict(model.scoring)} if model.scoring else {}),
            **({"adapter": dict(model.adapter)} if model.adapter else {}),
        },
        "data": {
            "version": dataset.version,
            "revision": dataset.revision,
            "fingerprint": dataset.fingerprint,
            "rows": len(dataset),
            "limit": dataset.limit,
            "set_size": dataset.set_size,
        },
        "code": get_code(task.dataset, task.config),
    }


def make_examples(scored: Scored) -> pa.Table:
    """Return the table of per-example scores, in the order of the split.

    ``scores`` holds the scores of the first image with each text, then of the next image. If a direction has several
    queries per row, its columns hold lists.
    """
    plan = scored.task
    row_N = plan.row_N[scored.index_N]
    texts = pa.Table.from_batches(plan.dataset.texts()).take(row_N)
    columns: dict[str, Any] = {
        "row": pa.array(row_N, pa.int64()),
        **dict(zip(texts.column_names, texts.columns, strict=True)),
    }
    if scored.score_NIT.size:
        columns["scores"] = pa.array(
            list(scored.score_NIT.reshape(len(row_N), -1)),
            pa.list_(pa.from_numpy_dtype(scored.score_NIT.dtype)),
        )
    if plan.dataset.fold_size is not None:
        columns["fold"] = pa.array(plan.fold_N[scored.index_N], pa.int32())
    for direction, metrics in scored.metrics.items():
        for name, value_Q in metrics.columns.items():
            column = pa.array(value_Q)
            if metrics.row_Q is not None:
                starts_N = np.searchsorted(metrics.row_Q, np.arange(len(row_N) + 1))
                column = pa.ListArray.from_arrays(pa.array(starts_N, pa.int32()), column)
            columns[_join_name(direction, name)] = column
    return pa.table(columns)
