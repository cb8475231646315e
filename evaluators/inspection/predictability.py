"""The text-only predictability of rows, and a model's score on the rows that texts predict least.

s(x) of a row is the share of cross-fitted text-only baselines that select its true caption (measures.py). A model that
needs the image is as good on the least predictable half of the rows as on all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.inspection.measures import SetReport
from evaluators.inspection.rows import Source
from evaluators.metrics.intervals import compute_share_interval
from evaluators.results import documents
from evaluators.results.compose import get_clusters
from generators.files import csv_tables
from generators.storage import parquet

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


def score_least_predictable(source: Source, reports: Sequence[SetReport], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the Recall@1 of a model on all sampled rows of each task, and on the least predictable half of a set.

    ``folder`` has the results of the model. Tasks whose rows were not sampled are left out.
    """
    for result, table in read_choices(folder, {source.name}):
        report = next((item for item in reports if item.name == result["config"]), None)
        if report is None:
            continue
        clusters = get_clusters(table)
        ranks = zip(table["row"].to_pylist(), table["rank"].to_pylist(), strict=True)
        hits = {row: (rank == 1, clusters[index]) for index, (row, rank) in enumerate(ranks)}
        least_N = select_least_predictable(np.array(report.predictability))
        groups = defaultdict[str, list[Any]](list)
        for is_least, row in zip(least_N, source.sets[report.name].sample, strict=True):
            if row.split == result["split"] and row.position in hits:
                groups["all"].append(hits[row.position])
                if is_least:
                    groups["least"].append(hits[row.position])
        if groups["least"]:
            yield {"task": result["task"], "model": result["model"]["name"], **dict(_describe(groups))}


def read_choices(folder: Path, datasets: Collection[str]) -> Iterator[tuple[documents.Result, pa.Table]]:
    """Yield a model's results on the hard-negative tasks of some datasets, with their rows. Variants are left out."""
    for path, result in documents.read_all([folder]).items():
        if result["dataset"] in datasets and result["main"] == ["recall@1"] and not result["variant"]:
            yield result, parquet.read_table(path.with_suffix(".parquet"))


def _describe(groups: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
    for name, members in groups.items():
        hit_M, cluster_M = np.array([hit for hit, _ in members], dtype=float), np.array([of for _, of in members])
        yield f"{name} rows", len(members)
        yield name, float(hit_M.mean())
        yield f"{name} interval", compute_share_interval(hit_M, cluster_M)
