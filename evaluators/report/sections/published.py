"""Published scores next to ours, for every published model that was run on a published set."""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import table
from evaluators.results.published import SHUFFLE_TOLERANCE, TOLERANCE, matches

COLUMNS = ("Model", "Task", "Metric", "Rows", "Ours", "Published", "Difference", "Tolerance", "Source")


def section(results: Results) -> Section | None:
    """None if no result has a published score."""
    scores = matches([result.data for result in results])
    if not scores:
        return None
    rows = [
        [
            *(pair.score.model, pair.score.task, pair.score.metric, pair.rows),
            *(f"{pair.ours:.2f}", f"{pair.score.percent:.2f}"),
            f"{pair.difference:+.2f}" + ("" if pair.agrees else " !"),
            *(f"{pair.tolerance:.2f}", pair.score.source),
        ]
        for pair in scores
    ]
    agreeing = sum(pair.agrees for pair in scores)
    return Section(
        "published",
        [table("published", COLUMNS, rows)],
        headline=[f"{agreeing} of {len(scores)} published scores are reproduced within tolerance."],
        values={"points": f"{TOLERANCE:g}", "redrawn_points": f"{SHUFFLE_TOLERANCE:g}"},
    )
