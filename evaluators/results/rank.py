"""Rank more than two models on the rows that all of them scored (``compeval compare A B C``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.metrics import ranking
from evaluators.metrics.intervals import Interval, compute_share_interval
from evaluators.results import documents
from evaluators.results.compare import check_same_data, find_columns, find_documents, get_query_values
from evaluators.results.compose import get_clusters
from generators.storage import parquet


@dataclass(frozen=True)
class Ranked:
    """A model on one task. ``rank`` is 1 + the number of models that are significantly better (Holm over all pairs)."""

    task: str
    metric: str
    rows: int
    model: str
    share: float
    interval: Interval
    rank: int
    p: dict[str, float]
    """Other model -> Holm-corrected p-value of the difference."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rank_models(folders: Sequence[Path]) -> list[Ranked]:
    """Rank the models of several result folders on every common task, best first.

    Raises ValueError if there is no common task, if results are of different data, or if two models have one name.
    """
    documents_by_folder = [find_documents(folder) for folder in folders]
    common = [task for task in documents_by_folder[0] if all(task in paths for paths in documents_by_folder)]
    if not common:
        raise ValueError(f"{', '.join(map(str, folders))}: the models have no task in common.")
    return [line for task in common for line in _rank_task([paths[task] for paths in documents_by_folder])]


def _rank_task(paths: Sequence[Path]) -> list[Ranked]:
    results = [documents.read(path) for path in paths]
    names = [result["model"]["name"] for result in results]
    if len(set(names)) < len(names):
        raise ValueError(
            f"Two models are named {max(names, key=names.count)}. Choose names with `compeval run --name`."
        )
    for result in results[1:]:
        check_same_data(results[0], result)
    tables = read_common_rows(paths)
    lines: list[Ranked] = []
    for metric, column in zip(results[0]["main"], find_columns(tables[0]), strict=True):
        if not all(metric in result["main"] for result in results):
            continue
        values = [get_query_values(table, column) for table in tables]
        hit_MQ = np.array([value_Q == 1 for value_Q, _ in values])
        cluster_Q = get_clusters(tables[0])[values[0][1]]
        found = ranking.rank(hit_MQ, cluster_Q)
        lines += sorted(
            (
                Ranked(
                    *(results[0]["task"], metric, hit_MQ.shape[1], name, float(found.share_M[model])),
                    compute_share_interval(hit_MQ[model], cluster_Q),
                    int(found.rank_M[model]),
                    {other: float(p) for other, p in zip(names, found.p_MM[model], strict=True) if other != name},
                )
                for model, name in enumerate(names)
            ),
            key=lambda line: (line.rank, -line.share, line.model),
        )
    return lines


def read_common_rows(paths: Sequence[Path]) -> list[pa.Table]:
    """Read the examples of the rows that all models scored. A model may have skipped unreadable images."""
    tables = [parquet.read_table(path.with_suffix(".parquet")) for path in paths]
    common = reduce(np.intersect1d, (table["row"].to_numpy() for table in tables))
    return [table.filter(np.isin(table["row"].to_numpy(), common)) for table in tables]
