"""Findings for the top of the page. A sentence claims a difference only if a test supports it.

Models are compared only on the tasks that all of them were evaluated on, and results on a limited number of rows take
no part. Intervals are 95 % intervals over images.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluators.metrics.trend import Slope, regress
from evaluators.report.results import Result, Results
from evaluators.report.tables import format_p

MAX_MODELS = 6
"""With more models, there are no sentences about single models."""


def read_hits(results: Sequence[Result], column: str, values: Sequence[object]) -> pd.DataFrame:
    """Return one row per example: hit, model, image_id, and the given value of its result in ``column``."""
    parts = []
    for result, value in zip(results, values, strict=True):
        rows = result.examples
        images = rows["image_id"] if "image_id" in rows else rows["row"].astype(str)
        part = pd.DataFrame({"hit": rows["rank"] == 1, "image_id": images.astype(str), column: value})
        parts.append(part.assign(model=result.model))
    return pd.concat(parts, ignore_index=True)


def keep_complete_models(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows of the models that have all values of ``column``."""
    complete = rows.groupby("model")[column].nunique() == rows[column].nunique()
    return rows[rows["model"].map(complete)]


def test_slope(rows: pd.DataFrame, column: str) -> Slope | None:
    """Regress the hits of all models on a column."""
    return regress(*(rows[name].to_numpy() for name in ("hit", column, "model", "image_id")))


def describe_interval(slope: Slope, sign: int = 1) -> str:
    """Return the interval in percentage points and the p-value: "95 % interval 1.0 to 2.0, p < 0.001"."""
    low, high = sorted((sign * slope.low, sign * slope.high))
    p = format_p(slope.p)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f}, p {p if p.startswith('<') else f'= {p}'}"


def count_models(rows: pd.DataFrame) -> str:
    number = rows["model"].nunique()
    return "1 model" if number == 1 else f"{number} models"


def compare_with_chance(results: Results) -> list[str]:
    """Return one sentence per model: how many of its results with hard negatives differ from chance."""
    models: dict[str, list[Result]] = {}
    for result in results:
        if result.data["protocol"] == "choice" and result.data["intervals"].get("recall@1"):
            models.setdefault(result.label, []).append(result)
    if len(models) > MAX_MODELS:
        return []
    return [_describe_chance(name, members) for name, members in sorted(models.items())]


def compare_value(results: Sequence[Result], metric: str) -> str:
    """Compare a metric with chance: "above chance, 50.0%" if the intervals of all training seeds are above it."""
    chance = results[0].data["chance"][metric]
    intervals = [result.data["intervals"].get(metric) for result in results]
    if not all(intervals):
        return f"chance {chance:.1%}"
    is_above, is_below = (all(low > chance for low, _ in intervals), all(high < chance for _, high in intervals))
    relation = "above" if is_above else "below" if is_below else "not different from"
    return f"{relation} chance, {chance:.1%}"


def _describe_chance(name: str, results: Sequence[Result]) -> str:
    relations = [compare_value([result], "recall@1").split()[0] for result in results]
    above, below = relations.count("above"), relations.count("below")
    rows = sum(result.data["data"]["rows"] for result in results)
    ties = sum(result.data["data"]["rows"] * result.metrics.get("tie_rate", 0) for result in results) / rows
    parts = [
        f"{count} {text}"
        for count, text in (
            (above, "above chance"),
            (len(results) - above - below, "not different from chance"),
            (below, "below chance"),
        )
        if count
    ]
    tied = f" In {ties:.0%} of the rows, the true caption ties with a wrong one, which counts as an error." * (
        ties > 0.01
    )
    tasks = "1 task" if len(results) == 1 else f"{len(results)} tasks"
    return f"{name}, {tasks} with hard negatives: {', '.join(parts)} (95 % intervals).{tied}"
