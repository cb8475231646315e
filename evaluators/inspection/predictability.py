"""The text-only predictability of rows, and a model's score on the rows that texts predict least.

s(x) of a row is the share of cross-fitted text-only baselines that select its true caption (measures.py). A model that
needs the image is as good on the least predictable half of the rows as on all of them. The half is only a test if no
baseline solves it: on CREPE's HN-Atom, the medoid is right in all rows, also in those where most baselines are wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from compeval.base.files import csv_tables
from compeval.base.storage import parquet
from compeval.evaluators.inspection.measures import SetReport
from compeval.evaluators.inspection.rows import Source
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import get_clusters
from compeval.evaluators.validity.best_baselines import beats_chance

KEYS = pd.Index(["split", "row"])
COLUMNS = ("set", "split", "row", "image_id", "predictability")


def write_predictability(path: Path, source: Source, reports: Sequence[SetReport]) -> None:
    """Write the predictability of the sampled rows, least predictable first; ``row`` is the position in the split."""
    lines: list[tuple[object, ...]] = []
    for report in reports:
        rows = zip(report.predictability, source.sets[report.name].sample, strict=True)
        for value, row in sorted(rows, key=lambda item: (item[0], item[1].split, item[1].position)):
            lines.append((report.name, row.split, row.position, row.image_id, f"{value:.4f}"))
    csv_tables.write(path, COLUMNS, [dict(zip(COLUMNS, cells, strict=True)) for cells in lines])


def select_least_predictable(value_N: np.ndarray) -> np.ndarray:
    """Return a mask of the half of the rows with the smallest values; rows with the median value are in it."""
    return value_N <= np.median(value_N)


def score_least_predictable(
    source: Source, reports: Sequence[SetReport], folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield the Recall@1 of a model on all sampled rows of each task, and on the least predictable half of a set.

    ``folder`` has the results of the model. Tasks whose rows were not sampled are left out. ``solved by`` is the best
    text-only baseline on the half with its Recall@1 if it beats chance there, else None.
    """
    by_config = {report.name: report for report in reports}
    solved = {report.name: find_solver(report, source) for report in reports}
    for result, table in read_choices(folder, {source.name}):
        if (report := by_config.get(result["config"])) is None:
            continue
        sample = pd.DataFrame(
            [(row.split, row.position) for row in source.sets[report.name].sample], columns=KEYS
        )
        sample["least"] = select_least_predictable(np.array(report.predictability))
        hits = {
            "split": result["split"],
            "row": table["row"].to_numpy(),
            "hit": table["rank"].to_numpy() == 1,
        }
        rows = sample.merge(pd.DataFrame({**hits, "cluster": get_clusters(table)}), on=list(KEYS))
        if rows["least"].any():
            groups = {"all": rows, "least": rows[rows["least"]]}
            names = {"task": result["task"], "model": result["model"]["name"]}
            yield {**names, **_describe(groups), "solved by": solved[report.name]}


def find_solver(report: SetReport, source: Source) -> tuple[str, float] | None:
    """Return the text-only baseline that beats chance on the least predictable half, and its Recall@1 there."""
    least_N = select_least_predictable(np.array(report.predictability))
    images = [row.image_id for row in source.sets[report.name].sample]
    images = [image for image, is_least in zip(images, least_N, strict=True) if is_least]
    hits = {name: np.array(hit_N)[least_N] for name, hit_N in report.hits.items()}
    best = max(hits, key=lambda name: hits[name].mean(), default=None)
    if best is None:
        return None
    recall = float(hits[best].mean())
    interval = compute_share_interval(hits[best], images)
    return (best, recall) if beats_chance(recall, interval, report.chance) else None


def read_choices(
    folder: Path, datasets: Collection[str]
) -> Iterator[tuple[documents.Result, pa.Table]]:
    """Yield a model's results on the hard-negative tasks of some datasets, with their rows. Variants are left out."""
    for path, result in documents.read_all([folder]).items():
        if (
            result["dataset"] in datasets
            and result["main"] == ["recall@1"]
            and not result["variant"]
        ):
            yield result, parquet.read_table(path.with_suffix(".parquet"))


def _describe(groups: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    for name, rows in groups.items():
        hit_M = rows["hit"].to_numpy(dtype=float)
        interval = compute_share_interval(hit_M, rows["cluster"].to_numpy())
        scores |= {
            f"{name} rows": len(rows),
            name: float(hit_M.mean()),
            f"{name} interval": interval,
        }
    return scores
