"""Metrics by category: of the rows of each category, and macro, the mean over categories without regard to their sizes.

Rows say their categories in a column ``categories``, a list of {"by": "relation", "name": "on"} with each ``by`` once,
or in ``cell`` (a type of prompt) or ``label`` (a class).
Macro means over chosen categories alone are those of macro_views.py. Micro is the plain metric over all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evaluators.metrics import statistics
from evaluators.metrics.macro_views import VIEWS
from evaluators.protocols.base import Answers

Interval = tuple[float, float]


def of_table(
    found: Mapping[str, Answers], table: pa.Table, cluster_N: np.ndarray
) -> tuple[dict[str, Any], dict[str, tuple[float, Interval]]]:
    """by -> category -> {"rows": ..., metric: ...}, and ``<main metric>_macro_<by>`` -> mean and interval.

    ``table`` holds the examples, ``cluster_N`` the image of each.
    """
    tables: dict[str, Any] = {}
    macro: dict[str, tuple[float, Interval]] = {}
    for by, name_N in _groupings(table).items():
        names, rows = np.unique(name_N, return_counts=True)
        tables[by] = {str(name): {"rows": int(count)} for name, count in zip(names, rows, strict=True)}
        for direction, answers in found.items():
            row_Q = answers.rows(len(name_N))
            name_Q = name_N[row_Q]
            for metric, value_Q in answers.values.items():
                full = f"{direction}_{metric}" if direction else metric
                means = {str(name): float(value_Q[name_Q == name].mean()) for name in names}
                for name, mean in means.items():
                    tables[by][name][full] = mean
                if metric == answers.main:
                    resampled_RG = statistics.group_means(value_Q, name_Q, cluster_N[row_Q])
                    key = f"{full}_macro_{by.replace(' ', '_')}"
                    macro |= _macro_means(key, by, means, rows.tolist(), resampled_RG)
    return tables, macro


def _macro_means(
    key: str, by: str, means: Mapping[str, float], rows: Sequence[int], resampled_RG: np.ndarray
) -> dict[str, tuple[float, Interval]]:
    """The mean over all G categories under ``key``, and those of the views of this ``by``."""
    names = list(means)
    kept = {view.name: view.keep(dict(zip(names, rows, strict=True))) for view in VIEWS if view.by == by}
    chosen = {key: names} | {f"{key}_{name}": some for name, some in kept.items() if some}
    return {
        full: (
            float(np.mean([means[name] for name in some])),
            statistics.interval(resampled_RG[:, [names.index(name) for name in some]].mean(axis=1)),
        )
        for full, some in chosen.items()
    }


def _groupings(table: pa.Table) -> dict[str, np.ndarray]:
    """by -> each row's category. ValueError where a row lacks one that another has."""
    found = {name: np.array(table[name].to_pylist()) for name in ("cell", "label") if name in table.column_names}
    if "categories" not in table.column_names:
        return found
    of_rows = [{item["by"]: item["name"] for item in row or ()} for row in table["categories"].to_pylist()]
    kinds = list(dict.fromkeys(by for row in of_rows for by in row))
    for number, row in enumerate(of_rows):
        if row.keys() != set(kinds):
            raise ValueError(f"Row {number} has the categories {sorted(row)}, {sorted(kinds)} expected.")
    return found | {by: np.array([row[by] for row in of_rows]) for by in kinds}
