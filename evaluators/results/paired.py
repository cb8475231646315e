"""Read the values of several models on the rows that all of them scored. Results on different data are an error.

Shapes: M models, Q queries (a row has one, or several in a direction of retrieval).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from compeval.base.storage import parquet
from compeval.evaluators.protocols.ranking import has_pairs
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import get_clusters
from compeval.evaluators.results.documents import Result


class CommonTask(NamedTuple):
    """The results of several models on a task, and the examples of the rows that all of them scored."""

    results: list[Result]
    tables: list[pa.Table]


class PairedValues(NamedTuple):
    """A main metric of several models on the same queries of a task."""

    task: str
    metric: str
    models: list[str]
    value_MQ: np.ndarray
    """Ranks (1 is a hit) or hits (True is a hit)."""
    cluster_Q: np.ndarray
    chance: float
    wrong: int | None = None
    """Number of wrong candidates of each query, if the results have an accuracy on pairs that Recall@1 is not."""

    @property
    def hits(self) -> np.ndarray:
        """True for hits (M, Q)."""
        return self.value_MQ == 1


def find_common_tasks(folders: Sequence[Path]) -> Iterator[tuple[list[Path], list[Result]]]:
    """Yield the paths and results of each task that all models have, given their folders or documents.

    Raises ValueError if there is none, or if two results are of different data.
    """
    by_folder = [find_documents(folder) for folder in folders]
    common = [task for task in by_folder[0] if all(task in paths for paths in by_folder)]
    if not common:
        tasks = " against ".join(", ".join(sorted(paths)) for paths in by_folder)
        raise ValueError(f"{' and '.join(map(str, folders))} have no task in common: {tasks}.")
    for task in common:
        paths = [by_task[task] for by_task in by_folder]
        results = [documents.read(path) for path in paths]
        for result in results[1:]:
            check_same_data(results[0], result)
        yield paths, results


def read_common_tasks(folders: Sequence[Path]) -> Iterator[CommonTask]:
    """Yield the tasks that all models have, with their rows. Raises as find_common_tasks."""
    for paths, results in find_common_tasks(folders):
        yield CommonTask(results, read_common_rows(paths))


def read_paired_values(folders: Sequence[Path]) -> Iterator[PairedValues]:
    """Yield the main metrics that all models have on their common tasks. Raises as read_common_tasks."""
    for results, tables in read_common_tasks(folders):
        models = [result["model"]["name"] for result in results]
        columns = [
            name for name in tables[0].column_names if name.split("_")[-1] in ("rank", "hit")
        ]
        # One column per main metric.
        for metric, column in zip(results[0]["main"], columns, strict=True):
            # A dual encoder has metrics among all images, a pair scorer does not.
            if all(metric in result["main"] for result in results):
                value_MQ, cluster_Q = stack_values(tables, column)
                have_pairs = metric == "recall@1" and all(map(has_pairs, results))
                wrong = results[0]["data"]["set_size"] - 1 if have_pairs else None
                chance = results[0]["chance"][metric]
                yield PairedValues(
                    results[0]["task"], metric, models, value_MQ, cluster_Q, chance, wrong
                )


def find_documents(path: Path) -> dict[str, Path]:
    """Return task -> path of its result document, given a document or a folder of documents."""
    path_by_task: dict[str, Path] = {}
    for document in documents.list_documents(path) if path.is_dir() else [path]:
        task = documents.read(document)["task"]
        if task in path_by_task:
            raise ValueError(
                f"{path}: several results of {task} ({path_by_task[task]}, {document}). Pass the folder of one model."
            )
        path_by_task[task] = document
    if not path_by_task:
        raise ValueError(f"{path}: no result documents. `compeval run` writes results to results/.")
    return path_by_task


def check_same_data(a: Result, b: Result) -> None:
    """Raise ValueError if two results on a task are of different data."""
    if a["data"]["fingerprint"] != b["data"]["fingerprint"]:
        described = " against ".join(
            f"{result['data']['fingerprint'][:8]}, {result['data']['rows']:,} rows"
            for result in (a, b)
        )
        raise ValueError(
            f"{a['task']}: the two results are of different data ({described}). Run both models again on the same "
            "dataset and with the same --limit."
        )


def get_query_values(examples: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks or hits of all queries, and the row of each query."""
    values = examples[column].combine_chunks()
    if not pa.types.is_list(values.type):
        return values.to_numpy(zero_copy_only=False), np.arange(len(values))
    return values.flatten().to_numpy(zero_copy_only=False), values.value_parent_indices().to_numpy()


def stack_values(tables: Sequence[pa.Table], column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks or hits of all models (M, Q) on the same rows, and the cluster of each query (Q)."""
    values = [get_query_values(table, column) for table in tables]
    return np.array([value_Q for value_Q, _ in values]), get_clusters(tables[0])[values[0][1]]


def read_common_rows(paths: Sequence[Path]) -> list[pa.Table]:
    """Read the examples of the rows that all models scored. A model may have skipped unreadable images."""
    tables = [parquet.read_table(path.with_suffix(".parquet")) for path in paths]
    common = reduce(np.intersect1d, (table["row"].to_numpy() for table in tables))
    return [table.filter(np.isin(table["row"].to_numpy(), common)) for table in tables]
