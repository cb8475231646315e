"""Compare two models on the same rows: differences with confidence intervals, and paired tests.

The interval of the difference in the main metric (Recall@1, group score ...) is over images
(evaluators/metrics/intervals.py). McNemar's exact test compares hits. Wilcoxon's test compares ranks, or hits for
protocols without ranks. The p-values of all tasks of a comparison are Holm-corrected together. Results on different
data cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.metrics import statistics
from evaluators.metrics.categories import read_categories
from evaluators.metrics.intervals import Interval, compute_difference_interval
from evaluators.results import documents
from evaluators.results.compose import get_clusters
from evaluators.results.documents import Result
from generators.storage import parquet


@dataclass(frozen=True)
class Comparison:
    """Comparison on one task and direction. Shares are fractions of 1; ``difference`` is b minus a."""

    task: str
    metric: str
    rows: int
    a: float
    b: float
    difference: float
    interval: tuple[float, float]
    mcnemar: float
    wilcoxon: float
    mcnemar_holm: float = 1.0
    wilcoxon_holm: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(a: Path, b: Path) -> list[Comparison]:
    """Compare two result documents, or all common tasks of two result folders.

    Raises ValueError if there is no common task or if two results are of different data.
    """
    paths_a, paths_b = find_documents(a), find_documents(b)
    common = [task for task in paths_a if task in paths_b]
    if not common:
        raise ValueError(
            f"{a} and {b} have no task in common: {', '.join(sorted(paths_a))} against {', '.join(sorted(paths_b))}."
        )
    return correct_p_values([line for task in common for line in _compare_task(paths_a[task], paths_b[task])])


def find_documents(path: Path) -> dict[str, Path]:
    """Return task -> path of its result document, given a document or a folder of documents."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such result. `compeval run` writes results to results/.")
    path_by_task: dict[str, Path] = {}
    for document in [path] if path.is_file() else documents.list_documents(path):
        task = documents.read(document)["task"]
        if task in path_by_task:
            raise ValueError(
                f"{path}: several results of {task} ({path_by_task[task]}, {document}). Pass the folder of one model."
            )
        path_by_task[task] = document
    if not path_by_task:
        raise ValueError(f"{path}: no result documents. `compeval run` writes results to results/.")
    return path_by_task


def _compare_task(path_a: Path, path_b: Path) -> list[Comparison]:
    a, b = documents.read(path_a), documents.read(path_b)
    check_same_data(a, b)
    table_a, table_b = _read_common_rows(path_a, path_b)
    cluster_N = get_clusters(table_a)
    lines = []
    for metric, column in zip(a["main"], find_columns(table_a), strict=True):
        if metric not in b["main"]:  # a dual encoder has metrics among all images, a pair scorer does not
            continue
        (value_a_Q, row_Q), (value_b_Q, _) = get_query_values(table_a, column), get_query_values(table_b, column)
        # The values are ranks (1 is a hit) or booleans (True is a hit).
        hit_a_Q, hit_b_Q = value_a_Q == 1, value_b_Q == 1
        difference_Q = hit_b_Q.astype(np.float64) - hit_a_Q
        lines.append(
            Comparison(
                task=a["task"],
                metric=metric,
                rows=len(hit_a_Q),
                a=float(hit_a_Q.mean()),
                b=float(hit_b_Q.mean()),
                difference=float(difference_Q.mean()),
                interval=compute_difference_interval(difference_Q, cluster_N[row_Q]),
                mcnemar=statistics.mcnemar_p(hit_a_Q, hit_b_Q),
                wilcoxon=statistics.wilcoxon_p(value_a_Q, value_b_Q),
            )
        )
    return lines


def check_same_data(a: Result, b: Result) -> None:
    """Raise ValueError if two results on a task are of different data."""
    if a["data"]["fingerprint"] != b["data"]["fingerprint"]:
        raise ValueError(
            f"{a['task']}: the two results are of different data ({_describe_data(a)} against {_describe_data(b)}). "
            "Run both models again on the same dataset and with the same --limit."
        )


def find_columns(examples: pa.Table) -> list[str]:
    """Return the columns with ranks or hits, one per main metric."""
    return [name for name in examples.column_names if name.split("_")[-1] in ("rank", "hit")]


def get_query_values(examples: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks or hits of all queries, and the row of each query."""
    values = examples[column].combine_chunks()
    if not pa.types.is_list(values.type):
        return values.to_numpy(zero_copy_only=False), np.arange(len(values))
    return values.flatten().to_numpy(zero_copy_only=False), values.value_parent_indices().to_numpy()


@dataclass(frozen=True)
class Effect:
    """Difference of two models (b minus a) in one category of the rows.

    ``g`` is Cohen's g of McNemar's test: the share of b among the rows that one model solves, minus 1/2.
    """

    task: str
    by: str
    category: str
    rows: int
    a: float
    b: float
    interval: Interval
    g: float | None
    p: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_categories(a: Path, b: Path) -> list[Effect]:
    """Compare two models within the categories of the rows of all common tasks, largest difference first.

    p-values are Holm-corrected over all categories. Raises ValueError if no common task has categories.
    """
    paths_a, paths_b = find_documents(a), find_documents(b)
    effects: list[Effect] = []
    for task in paths_a:
        if task in paths_b:
            check_same_data(documents.read(paths_a[task]), documents.read(paths_b[task]))
            effects += _compare_task_categories(task, *_read_common_rows(paths_a[task], paths_b[task]))
    if not effects:
        raise ValueError(f"{a} and {b} have no common task whose rows have categories, such as relations.")
    corrected = correct_by_holm([effect.p for effect in effects])
    effects = [replace(effect, p=p) for effect, p in zip(effects, corrected, strict=True)]
    return sorted(effects, key=lambda effect: (effect.task, effect.by, -abs(effect.b - effect.a)))


def _compare_task_categories(task: str, table_a: pa.Table, table_b: pa.Table) -> Iterator[Effect]:
    if not {"rank", "hit"} & set(table_a.column_names):
        return
    column = "rank" if "rank" in table_a.column_names else "hit"
    hit_a_N, hit_b_N = (get_query_values(table, column)[0] == 1 for table in (table_a, table_b))
    cluster_N = get_clusters(table_a)
    for by, category_N in read_categories(table_a).items():
        for category in np.unique(category_N):
            member_N = category_N == category
            hit_a_M, hit_b_M = hit_a_N[member_N], hit_b_N[member_N]
            difference_M = hit_b_M.astype(np.float64) - hit_a_M
            disagreeing = int((difference_M != 0).sum())
            yield Effect(
                *(task, by, str(category), len(hit_a_M), float(hit_a_M.mean()), float(hit_b_M.mean())),
                interval=compute_difference_interval(difference_M, cluster_N[member_N]),
                g=float((difference_M > 0).sum() / disagreeing - 0.5) if disagreeing else None,
                p=statistics.mcnemar_p(hit_a_M, hit_b_M),
            )


def _describe_data(result: Result) -> str:
    return f"{result['data']['fingerprint'][:8]}, {result['data']['rows']:,} rows"


def _read_common_rows(path_a: Path, path_b: Path) -> tuple[pa.Table, pa.Table]:
    """Read the examples of the rows that both models scored. A model may have skipped unreadable images."""
    a, b = (parquet.read_table(path.with_suffix(".parquet")) for path in (path_a, path_b))
    common = np.intersect1d(a["row"].to_numpy(), b["row"].to_numpy())
    return a.filter(np.isin(a["row"].to_numpy(), common)), b.filter(np.isin(b["row"].to_numpy(), common))


def correct_p_values(lines: list[Comparison]) -> list[Comparison]:
    """Add Holm-corrected p-values. Each test is corrected over all comparisons."""
    mcnemar, wilcoxon = (correct_by_holm([getattr(line, test) for line in lines]) for test in ("mcnemar", "wilcoxon"))
    return [replace(line, mcnemar_holm=p, wilcoxon_holm=q) for line, p, q in zip(lines, mcnemar, wilcoxon, strict=True)]


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]]  # pyright: ignore[reportOptionalIterable]
