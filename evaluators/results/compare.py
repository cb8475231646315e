"""Two models on the same rows: differences with intervals, and paired tests.

The difference in the main metric (Recall@1, group score ...) is bootstrapped over images; McNemar's exact test is on
hits, Wilcoxon's on ranks, or on hits for protocols without ranks. The p-values of all tasks of a comparison are
Holm-corrected together. Results on different data are not compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.metrics import statistics
from evaluators.results import documents
from evaluators.results.compose import clusters
from evaluators.results.documents import Result
from generators.storage import parquet


@dataclass(frozen=True)
class Comparison:
    """One task and direction; shares are fractions of 1, ``difference`` is b minus a."""

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
    """Compare two results, or all tasks that two folders of results have in common.

    ValueError if they have no task in common, or if two results are of different data.
    """
    paths_a, paths_b = find(a), find(b)
    common = sorted(paths_a.keys() & paths_b.keys())
    if not common:
        raise ValueError(
            f"{a} and {b} have no task in common: {', '.join(sorted(paths_a))} against {', '.join(sorted(paths_b))}."
        )
    return holm([line for task in common for line in _compare_task(paths_a[task], paths_b[task])])


def find(path: Path) -> dict[str, Path]:
    """Task -> path of its result document, of a document or a folder of them."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such result. `compeval run` writes them below results/.")
    found: dict[str, Path] = {}
    for document in [path] if path.is_file() else documents.documents(path):
        task = documents.read(document)["task"]
        if task in found:
            raise ValueError(f"{path}: several results of {task} ({found[task]}, {document}). Name one model's folder.")
        found[task] = document
    if not found:
        raise ValueError(f"{path}: no result documents. `compeval run` writes them below results/.")
    return found


def _compare_task(path_a: Path, path_b: Path) -> list[Comparison]:
    a, b = documents.read(path_a), documents.read(path_b)
    if a["data"]["fingerprint"] != b["data"]["fingerprint"]:
        raise ValueError(
            f"{a['task']}: the two results are of different data ({_data(a)} against {_data(b)}). Run both models "
            "again on the same dataset and with the same --limit."
        )
    table_a, table_b = _common_rows(path_a, path_b)
    cluster_N = clusters(table_a)
    columns = [name for name in table_a.column_names if name.split("_")[-1] in ("rank", "hit")]
    lines = []
    for metric, column in zip(a["main"], columns, strict=True):
        (value_a_Q, row_Q), (value_b_Q, _) = query_values(table_a, column), query_values(table_b, column)
        # A rank of 1 is a hit, and so is a True.
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
                interval=statistics.bootstrap_interval(difference_Q, cluster_N[row_Q]),
                mcnemar=statistics.mcnemar(hit_a_Q, hit_b_Q),
                wilcoxon=statistics.wilcoxon(value_a_Q, value_b_Q),
            )
        )
    return lines


def query_values(examples: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The ranks or hits of all queries, and the row of each query."""
    values = examples[column].combine_chunks()
    if not pa.types.is_list(values.type):
        return values.to_numpy(zero_copy_only=False), np.arange(len(values))
    return values.flatten().to_numpy(zero_copy_only=False), values.value_parent_indices().to_numpy()


def _data(result: Result) -> str:
    return f"{result['data']['fingerprint'][:8]}, {result['data']['rows']:,} rows"


def _common_rows(path_a: Path, path_b: Path) -> tuple[pa.Table, pa.Table]:
    """The examples of the rows that both models scored: either may have skipped unreadable images."""
    a, b = (parquet.read_table(path.with_suffix(".parquet")) for path in (path_a, path_b))
    common = np.intersect1d(a["row"].to_numpy(), b["row"].to_numpy())
    return a.filter(np.isin(a["row"].to_numpy(), common)), b.filter(np.isin(b["row"].to_numpy(), common))


def holm(lines: list[Comparison]) -> list[Comparison]:
    """The comparisons with the p-values of each test corrected over all of them."""
    from statsmodels.stats.multitest import multipletests

    mcnemar = multipletests([line.mcnemar for line in lines], method="holm")[1]
    wilcoxon = multipletests([line.wilcoxon for line in lines], method="holm")[1]
    assert mcnemar is not None
    assert wilcoxon is not None
    return [
        replace(line, mcnemar_holm=float(p), wilcoxon_holm=float(q))
        for line, p, q in zip(lines, mcnemar, wilcoxon, strict=True)
    ]
