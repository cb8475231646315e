"""Explain results below chance by the form of the sets, with the balanced sets as control.

In the paper's sets, every negative is an edit of the true caption. The true caption lies between its negatives, so a
baseline that knows nothing rarely ranks it above all of them: random word weights (stage ``text_only``) select it less
often than 1/K. The captions of a balanced set differ from each other in the same way, and random word weights are at
chance. A model that is below chance on the first and not on the second is misled by the form of the sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean

import pandas as pd

from evaluators.metrics.intervals import compute_share_interval
from evaluators.report.headlines import count_models, read_hits
from evaluators.report.results import Results
from evaluators.report.text_only import find_measured

CONTROL = "_balanced"
"""Suffix of the kinds of hard negatives that are the control of another kind."""


def explain_below_chance(results: Results, values: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return a line for each kind on which the models together and random word weights are below chance.

    ``values``: Recall@1 of the results to consider. ``titles``: kind of hard negatives -> its title.
    """
    lines = []
    for kind, title in titles.items():
        rows, control = values[values["kind"] == kind], values[values["kind"] == kind + CONTROL]
        if rows.empty or kind.endswith(CONTROL):
            continue
        (relation, found), random = _compare(results, rows), _average_random_recall(results, rows)
        if relation != "below" or random is None or random >= rows["chance"].iloc[0]:
            continue
        line = f"{title} Recall@1 is below chance, {found}. "
        line += f"Random word weights, which know nothing of the image, reach {random:.1%}."
        if not control.empty:
            relation, found = _compare(results, control)
            random = _average_random_recall(results, control)
            line += f" On the balanced sets it is {relation} chance, {found}"
            line += "." if random is None else f", and random word weights reach {random:.1%}."
        lines.append(line)
    return lines


def _compare(results: Results, values: pd.DataFrame) -> tuple[str, str]:
    """Return how the results together compare with chance, and Recall@1 with its interval."""
    hits, chance = read_hits(results, values), values["chance"].iloc[0]
    low, high = compute_share_interval(hits["hit"].to_numpy(dtype=float), hits["image_id"].tolist())
    relation = "below" if high < chance else "above" if low > chance else "not different from"
    return relation, (
        f"{hits['hit'].mean():.1%} (95 % interval {100 * low:.1f} to {100 * high:.1f}; {len(hits):,} rows, "
        f"{count_models(hits)}; chance {chance:.1%})"
    )


def _average_random_recall(results: Results, values: pd.DataFrame) -> float | None:
    """Return Recall@1 of random word weights on the sets of the results, or None if it was not measured."""
    measured = (find_measured(results, result) for result in results.find(values))
    shares = [group["random_scorers"] for group in measured if group and "random_scorers" in group]
    return mean(shares) if shares else None
