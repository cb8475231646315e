"""The share of ties, and whether rounding made them. A tie with a wrong candidate counts as an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from compeval.evaluators.metrics.macro_views import select_categories

if TYPE_CHECKING:
    from compeval.evaluators.engine.score import Scored

SHOWN_FROM = 0.01
"""Share of ties above which tables show it."""
MIN_DISTINCT = 8
"""With fewer distinct scores, they are answers or grades, not rounded numbers."""
HALF = ("bf16", "fp16")


def get_tie_rate(metrics: Mapping[str, float], metric: str) -> float:
    """Return the share of ties among the queries of a main metric; 0 if the protocol counts none."""
    base = metric.partition("_macro_")[0]
    name, num_replaced = re.subn(r"(recall@\d+|avg_recall|score|accuracy|top\d)$", "tie_rate", base)
    return metrics.get(name, 0.0) if num_replaced else 0.0


def measure_ties(result: Mapping[str, Any], metric: str) -> float:
    """Return the share of the queries of a metric with a tie, of a macro mean as the mean over its categories.

    It is the most that the metric would be higher if ties were right.
    """
    share = get_tie_rate(result["metrics"], metric)
    _, is_macro, view = metric.partition("_macro_")
    if not (is_macro and share):
        return share
    for by, categories in result.get("categories", {}).items():
        if names := select_categories(
            view, by, {name: part["rows"] for name, part in categories.items()}
        ):
            return float(np.mean([get_tie_rate(categories[name], metric) for name in names]))
    return share


def explain_ties(
    scored: Scored, metrics: Mapping[str, float], main: Iterable[str], precision: str
) -> str | None:
    """Return a warning if more than SHOWN_FROM of the queries are ties, and rounding made them or may have made them.

    ``precision`` is the model's. Its half precision, scores that all are numbers of a coarser type, and cosines that
    only float64 tells apart are rounding. Equal features of a model in float32 are not.
    """
    share = max((get_tie_rate(metrics, metric) for metric in main), default=0.0)
    if share <= SHOWN_FROM:
        return None
    if precision in HALF:
        reason = f"The model ran in {precision}, in which similar texts or images get equal scores: --precision fp32."
    elif name := find_rounding(scored.score_NIT) if not scored.position_bias else None:
        reason = f"All scores are numbers of {name}: rounding, or texts cut to the same beginning, may have made ties."
    elif scored.num_close:
        reason = f"In {scored.num_close:,} of {len(scored.index_N):,} rows, float32 cannot tell scores apart."
    else:
        return None
    task = scored.task.dataset.task.name
    return f"{task}: {share:.1%} of the queries are ties, which count as errors. {reason}"


def find_rounding(scores: np.ndarray) -> str | None:
    """Return the coarsest type whose numbers all scores are, if they were stored more precisely; None otherwise."""
    if scores.dtype != np.float64:
        return None
    distinct = np.unique(scores[np.isfinite(scores)])
    if len(distinct) < MIN_DISTINCT:
        return None
    single = distinct.astype(np.float32)
    with np.errstate(over="ignore"):
        rounded = {
            "bfloat16": (single.view(np.uint32) & 0xFFFF0000).view(np.float32),
            "float16": distinct.astype(np.float16),
            "at most 4 decimals": np.round(distinct, 4),
            "float32": single,
        }
    return next(
        (
            name
            for name, values in rounded.items()
            if np.array_equal(values.astype(np.float64), distinct)
        ),
        None,
    )
