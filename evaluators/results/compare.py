"""Two models on the same rows: differences with intervals, and paired tests.

The difference in the main metric (Recall@1, group score ...) is bootstrapped over images; McNemar's exact test is on
hits, Wilcoxon's on ranks, or on hits where a protocol ranks nothing. The p-values of all tasks of a comparison are
Holm-corrected together. Results of different data are never compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.metrics import statistics
from evaluators.results import documents as results
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

    ValueError if there is nothing in common, or if two results are not of the same rows.
    """
    found_a, found_b = find(a), find(b)
    common = sorted(found_a.keys() & found_b.keys())
    if not common:
        raise ValueError(
            f"{a} and {b} have no task in common: {', '.join(sorted(found_a))} against {', '.join(sorted(found_b))}."
        )
    compared = [line for task in common for line in _compare_task(found_a[task], found_b[task])]
    return holm(compared)


def find(place: Path) -> dict[str, Path]:
    """Task -> path of the result documents at a place: a document, or a folder of them."""
    if not place.exists():
        raise FileNotFoundError(f"{place}: no such result. `compeval run` writes them below results/.")
    paths = [place] if place.is_file() else results.documents(place)
    found: dict[str, Path] = {}
    for path in paths:
        task = results.read(path)["task"]
        if task in found:
            raise ValueError(f"{place}: several results of {task} ({found[task]}, {path}). Name one model's folder.")
        found[task] = path
    if not found:
        raise ValueError(f"{place}: no result documents. `compeval run` writes them below results/.")
    return found


def _compare_task(path_a: Path, path_b: Path) -> list[Comparison]:
    a, b = results.read(path_a), results.read(path_b)
    if a["data"]["fingerprint"] != b["data"]["fingerprint"]:
        raise ValueError(
            f"{a['task']}: the two results are of different data ({_say(a)} against {_say(b)}). Run both models again "
            "on the same dataset and with the same --limit."
        )
    table_a, table_b = _common_rows(path_a, path_b)
    cluster_N = results.clusters(table_a)
    lines = []
    for metric, column in zip(a["main"], _columns_of_queries(table_a), strict=True):
        (answer_a, row_Q), (answer_b, _) = answers_of(table_a, column), answers_of(table_b, column)
        ranked = column.endswith("rank")
        hit_a, hit_b = (answer_a == 1, answer_b == 1) if ranked else (answer_a, answer_b)
        difference_Q = hit_b.astype(np.float64) - hit_a
        lines.append(
            Comparison(
                task=a["task"],
                metric=metric,
                rows=len(hit_a),
                a=float(hit_a.mean()),
                b=float(hit_b.mean()),
                difference=float(difference_Q.mean()),
                interval=statistics.bootstrap_interval(difference_Q, cluster_N[row_Q]),
                mcnemar=statistics.mcnemar(hit_a, hit_b),
                wilcoxon=statistics.wilcoxon(answer_a, answer_b),
            )
        )
    return lines


def _columns_of_queries(table: pa.Table) -> list[str]:
    """The columns with ranks or hits, one a direction."""
    return [name for name in table.column_names if name.split("_")[-1] in ("rank", "hit")]


def answers_of(table: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The answers to all queries, and the row of each."""
    values = table[column].combine_chunks()
    if not pa.types.is_list(values.type):
        return values.to_numpy(zero_copy_only=False), np.arange(len(values))
    return values.flatten().to_numpy(zero_copy_only=False), values.value_parent_indices().to_numpy()


def _say(result: Result) -> str:
    data = result["data"]
    return f"{data['fingerprint'][:8]}, {data['rows']:,} rows"


def _common_rows(path_a: Path, path_b: Path) -> tuple[pa.Table, pa.Table]:
    """The per-example tables, on the rows that both scored (either may have skipped unreadable images)."""
    tables = [parquet.read_table(path.with_suffix(".parquet")) for path in (path_a, path_b)]
    common = np.intersect1d(tables[0]["row"].to_numpy(), tables[1]["row"].to_numpy())
    kept_a, kept_b = (table.filter(np.isin(table["row"].to_numpy(), common)) for table in tables)
    return kept_a, kept_b


def holm(lines: list[Comparison]) -> list[Comparison]:
    """The same comparisons with both tests' p-values corrected over all of them."""
    from statsmodels.stats.multitest import multipletests

    mcnemar, wilcoxon = (
        np.asarray(multipletests([getattr(line, test) for line in lines], method="holm")[1])
        for test in ("mcnemar", "wilcoxon")
    )
    return [
        replace(line, mcnemar_holm=float(m), wilcoxon_holm=float(w))
        for line, m, w in zip(lines, mcnemar, wilcoxon, strict=True)
    ]
