"""Published scores beside ours, wherever a model that was published on a set was measured on it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluators.report.read import Result
from evaluators.report.sections import Section
from evaluators.report.tables import Table
from evaluators.results.published import SHUFFLE_TOLERANCE, TOLERANCE, matches

COLUMNS = ("Model", "Task", "Metric", "Rows", "Ours", "Published", "Difference", "Tolerance", "Source")


def section(results: Sequence[Result]) -> Section | None:
    """None where nothing of it was published."""
    found = matches([result.data for result in results])
    if not found:
        return None
    rows = [
        [
            pair.score.model,
            pair.score.task,
            pair.score.metric,
            f"{pair.rows:,}",
            f"{pair.ours:.2f}",
            f"{pair.score.percent:.2f}",
            f"{pair.difference:+.2f}" + ("" if pair.agrees else " !"),
            f"{pair.tolerance:.2f}",
            pair.score.source,
        ]
        for pair in found
    ]
    agreeing = sum(pair.agrees for pair in found)
    return Section(
        "published",
        "Beside published scores",
        "In percent, for the same model on the same published set. A difference is within tolerance up to "
        f"{TOLERANCE:g} percentage points ({SHUFFLE_TOLERANCE:g} for the orders, whose shuffles are drawn "
        "anew), or what one row is worth where that is more; beyond it stands an exclamation mark.",
        [Table("published", "Published scores and ours.", pd.DataFrame(rows, columns=pd.Index(COLUMNS)))],
        headline=[f"{agreeing} of {len(found)} published scores are met within tolerance."],
    )
