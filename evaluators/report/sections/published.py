"""Compare results with published scores, for all published models that were evaluated on published sets."""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import MISSING, Table, make_table
from evaluators.results.causes import KINDS
from evaluators.results.published import SHUFFLE_TOLERANCE, TOLERANCE, Match, match_scores

COLUMNS = (
    *("Model", "Task", "Metric", "Rows", "Ours", "Published", "Difference", "Tolerance", "Source", "Known causes"),
)
UNKNOWN = "unknown"


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no result has a published score."""
    matches = match_scores([result.data for result in results])
    if not matches:
        return None
    rows = [
        [
            *(match.score.model, match.score.task, match.metric, match.rows),
            *(f"{match.ours:.2f}", f"{match.score.percent:.2f}"),
            f"{match.difference:+.2f}" + ("" if match.agrees else " !"),
            *(f"{match.tolerance:.2f}", match.score.source),
            "; ".join(cause.text for cause in match.causes) or ("" if match.agrees else UNKNOWN),
        ]
        for match in matches
    ]
    comparable = [match for match in matches if match.is_comparable]
    agreeing = sum(match.agrees for match in comparable)
    return Section(
        "published",
        [make_map(matches), make_table("published", COLUMNS, rows)],
        headline=[f"{agreeing} of {len(comparable)} published scores are reproduced within tolerance."],
        values={"points": f"{TOLERANCE:g}", "redrawn_points": f"{SHUFFLE_TOLERANCE:g}"},
    )


def make_map(matches: Sequence[Match]) -> Table:
    """Make a table of models and benchmarks: how many scores agree, and the kinds of causes for the others."""
    cells: dict[str, dict[str, list[Match]]] = {}
    for match in matches:
        benchmark = match.score.task.partition("/")[0]
        cells.setdefault(match.score.model, {}).setdefault(benchmark, []).append(match)
    benchmarks = sorted({benchmark for row in cells.values() for benchmark in row})
    rows = [[model, *(format_cell(row.get(name, ())) for name in benchmarks)] for model, row in sorted(cells.items())]
    kinds = {cause.kind for match in matches for cause in match.causes}
    legend = "; ".join(f"{kind}: {meaning}" for kind, meaning in KINDS.items() if kind in kinds)
    return make_table(
        "published_map", ["Model", *benchmarks], rows, note=f"{legend[:1].upper()}{legend[1:]}." * bool(legend)
    )


def format_cell(matches: Sequence[Match]) -> str:
    """Return, for example, "5 of 7 ! ties": two disagree and ties are the only known cause."""
    if not matches:
        return MISSING
    differing = [match for match in matches if not match.agrees]
    kinds = [kind for kind in KINDS if any(cause.kind == kind for match in differing for cause in match.causes)]
    kinds += [UNKNOWN] * any(not match.causes for match in differing)
    return f"{len(matches) - len(differing)} of {len(matches)}" + (f" ! {', '.join(kinds)}" if kinds else "")
