"""How much two models agree, and how many rows show a difference between them (``compeval power A B``)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.metrics import power
from evaluators.metrics.intervals import count_effective_rows
from evaluators.results import documents
from evaluators.results.compare import check_same_data, find_columns, find_documents, get_query_values
from evaluators.results.compose import get_clusters
from evaluators.results.rank import read_common_rows


@dataclass(frozen=True)
class Sensitivity:
    """What differences a task shows between two models. Shares are fractions of 1."""

    task: str
    metric: str
    rows: int
    disagreement: float
    """Share of rows on which one model is right and the other wrong."""
    design_effect: float
    detectable: float | None
    """Smallest difference that the rows of the task show; None if they show none."""
    needed: float | None
    """Number of rows that show the given difference; None if it is larger than the disagreement."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_sensitivity(a: Path, b: Path, difference: float, wanted_power: float) -> list[Sensitivity]:
    """Measure the sensitivity of all common tasks of two models. Raises ValueError if there are none."""
    paths_a, paths_b = find_documents(a), find_documents(b)
    lines: list[Sensitivity] = []
    for task in (task for task in paths_a if task in paths_b):
        results = [documents.read(paths[task]) for paths in (paths_a, paths_b)]
        check_same_data(*results)
        tables = read_common_rows([paths_a[task], paths_b[task]])
        for metric, column in zip(results[0]["main"], find_columns(tables[0]), strict=True):
            if metric in results[1]["main"]:
                (a_Q, row_Q), (b_Q, _) = (get_query_values(table, column) for table in tables)
                difference_Q = (b_Q == 1).astype(np.float64) - (a_Q == 1)
                lines.append(
                    _measure(task, metric, difference_Q, get_clusters(tables[0])[row_Q], difference, wanted_power)
                )
    if not lines:
        raise ValueError(f"{a} and {b} have no task in common.")
    return lines


def _measure(
    task: str, metric: str, difference_Q: np.ndarray, cluster_Q: np.ndarray, difference: float, wanted_power: float
) -> Sensitivity:
    rows, disagreement = len(difference_Q), float((difference_Q != 0).mean())
    design_effect = rows / count_effective_rows(difference_Q, cluster_Q)
    options = {"power": wanted_power, "design_effect": design_effect}
    needed = power.count_rows(difference, disagreement, **options) if difference <= disagreement else None
    detectable = power.find_difference(rows, disagreement, **options)
    return Sensitivity(task, metric, rows, disagreement, design_effect, detectable, needed)
