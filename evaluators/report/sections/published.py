"""Compare results with published scores, for all published models that were evaluated on published sets."""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import make_table
from evaluators.results.published import SHUFFLE_TOLERANCE, TOLERANCE, match_scores

COLUMNS = ("Model", "Task", "Metric", "Rows", "Ours", "Published", "Difference", "Tolerance", "Source")


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no result has a published score."""
    scores = match_scores([result.data for result in results])
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
        [make_table("published", COLUMNS, rows)],
        headline=[f"{agreeing} of {len(scores)} published scores are reproduced within tolerance."],
        values={"points": f"{TOLERANCE:g}", "redrawn_points": f"{SHUFFLE_TOLERANCE:g}"},
    )
