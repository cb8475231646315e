"""Compute metrics per category and macro means, which are unweighted means over categories.

The categories of a row are in its column ``categories``, a list of {"by": "relation", "name": "on"} in which each
``by`` occurs once, or in the columns ``cell`` (type of a prompt) or ``label`` (class). macro_views.py defines macro
means over selected categories. The micro mean is the metric over all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from compeval.evaluators.metrics import statistics
from compeval.evaluators.metrics.intervals import MIN_CLUSTERS, Interval
from compeval.evaluators.metrics.macro_views import VIEWS
from compeval.evaluators.protocols.base import QueryMetrics


def compute_category_metrics(
    directions: Mapping[str, QueryMetrics], examples: pa.Table, cluster_N: np.ndarray
) -> tuple[dict[str, Any], dict[str, tuple[float, Interval | None]]]:
    """Compute all metrics per category and the macro means of the main metrics.

    Returns two dictionaries: by -> category -> {"rows": ..., metric: ...}, and ``<main metric>_macro_<by>`` -> (mean,
    confidence interval or None). ``cluster_N``: the image of each example.
    """
    tables: dict[str, Any] = {}
    macro: dict[str, tuple[float, Interval | None]] = {}
    for by, category_N in read_categories(examples).items():
        names, rows = np.unique(category_N, return_counts=True)
        tables[by] = {
            str(name): {"rows": int(count)} for name, count in zip(names, rows, strict=True)
        }
        for direction, metrics in directions.items():
            row_Q = metrics.get_rows(len(category_N))
            category_Q = category_N[row_Q]
            for metric, value_Q in metrics.values.items():
                if metric in metrics.of_all_rows:
                    continue
                full_name = f"{direction}_{metric}" if direction else metric
                means = {str(name): float(value_Q[category_Q == name].mean()) for name in names}
                for name, mean in means.items():
                    tables[by][name][full_name] = mean
                if metric == metrics.main:
                    resampled_RG = statistics.bootstrap_group_means(
                        value_Q, category_Q, cluster_N[row_Q]
                    )
                    if len(np.unique(cluster_N)) < MIN_CLUSTERS:
                        resampled_RG = np.broadcast_to(list(means.values()), (1, len(means)))
                    key = f"{full_name}_macro_{by.replace(' ', '_')}"
                    macro |= _macro_means(key, by, means, rows.tolist(), resampled_RG)
    return tables, macro


def _macro_means(
    key: str, by: str, means: Mapping[str, float], rows: Sequence[int], resampled_RG: np.ndarray
) -> dict[str, tuple[float, Interval | None]]:
    """Return the macro mean over all G categories (named ``key``) and over the categories of each view of ``by``.

    The interval is None if all resampled means are equal, for instance because all rows are hits.
    """
    names = list(means)
    selections = {key: names}
    for (view_by, view), select in VIEWS.items():
        if view_by == by and (selected := select(dict(zip(names, rows, strict=True)))):
            selections[f"{key}_{view}"] = selected
    means_of_views: dict[str, tuple[float, Interval | None]] = {}
    for name, selected in selections.items():
        mean_R = resampled_RG[:, [names.index(category) for category in selected]].mean(axis=1)
        interval = statistics.compute_interval(mean_R) if np.ptp(mean_R) > 0 else None
        means_of_views[name] = float(np.mean([means[category] for category in selected])), interval
    return means_of_views


def read_categories(examples: pa.Table) -> dict[str, np.ndarray]:
    """Return by -> category of each row. Raises ValueError if two rows have categories with different ``by``."""
    groupings = {
        name: np.array(examples[name].to_pylist())
        for name in ("cell", "label")
        if name in examples.schema.names
    }
    if "categories" not in examples.schema.names:
        return groupings
    by_row = [
        {item["by"]: item["name"] for item in items or ()}
        for items in examples["categories"].to_pylist()
    ]
    all_by = list(dict.fromkeys(by for row in by_row for by in row))
    for number, row in enumerate(by_row):
        if row.keys() != set(all_by):
            raise ValueError(
                f"Row {number} has the categories {sorted(row)}; expected {sorted(all_by)}."
            )
    return groupings | {by: np.array([row[by] for row in by_row]) for by in all_by}
