"""Compare results with published scores, for all published models that were evaluated on published sets."""

from __future__ import annotations

from collections.abc import Sequence

from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.tables import Table, make_table
from compeval.evaluators.results.causes import KINDS
from compeval.evaluators.results.matches import SHUFFLE_TOLERANCE, TOLERANCE, Match
from compeval.evaluators.results.published import match_scores

UNKNOWN = "unknown"
COUNTED_AS_DIFFERENT = ("no", "other activation")
"""Verdicts that are marked. A score on other rows, or of a source that differs from another one, is not."""
SHORT_VERDICTS = {
    "not comparable": "not comparable",
    "other rows": "on other rows",
    "other source": "of another source",
}
"""Verdicts that are only counted."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no result has a published score."""
    matches = match_scores([result.data for result in results])
    if not matches:
        return None
    records = [
        match.describe()
        | {"mark": " !" if match.verdict in COUNTED_AS_DIFFERENT else ""}
        | {"causes": match.explanation.replace("\n", "; ")}
        for match in matches
    ]
    comparable = [match for match in matches if match.is_comparable]
    agreeing = sum(match.agrees for match in comparable)
    return Section(
        "published",
        [make_overview(matches), make_table("published", records)],
        headline=[
            f"{agreeing} of {len(comparable)} published scores are reproduced within tolerance."
        ],
        text_values={"points": f"{TOLERANCE:g}", "redrawn_points": f"{SHUFFLE_TOLERANCE:g}"},
    )


def make_overview(matches: Sequence[Match]) -> Table:
    """Make a table of models and benchmarks: how many scores agree, and the kinds of causes for the others."""
    cells: dict[str, dict[str, list[Match]]] = {}
    for match in sorted(matches, key=lambda match: match.score.task):
        benchmark = match.score.task.partition("/")[0]
        cells.setdefault(benchmark, {}).setdefault(match.score.model, []).append(match)
    models = sorted({match.score.model for match in matches})
    rows = (
        {"Model": model}
        | {benchmark: format_cell(by_model.get(model, ())) for benchmark, by_model in cells.items()}
        for model in models
    )
    kinds = {cause.kind for match in matches for cause in match.causes}
    legend = "; ".join(f"{kind}: {meaning}" for kind, meaning in KINDS.items() if kind in kinds)
    return make_table(
        "published_map", rows, note=f"{legend[:1].upper()}{legend[1:]}." if legend else ""
    )


def format_cell(matches: Sequence[Match]) -> str | None:
    """Return, for example, "5 of 7 ! ties; 2 on other rows": two of seven disagree, and ties are the only known cause.

    None without matches.
    """
    if not matches:
        return None
    differing = [match for match in matches if match.verdict in COUNTED_AS_DIFFERENT]
    kinds = [
        kind
        for kind in KINDS
        if any(cause.kind == kind for match in differing for cause in match.causes)
    ]
    kinds += [UNKNOWN] * any(not match.causes for match in differing)
    agreeing = sum(match.verdict == "yes" for match in matches)
    counted = agreeing + len(differing)
    parts = (
        [f"{agreeing} of {counted}" + (f" ! {', '.join(kinds)}" if kinds else "")]
        if counted
        else []
    )
    for verdict, text in SHORT_VERDICTS.items():
        count = sum(match.verdict == verdict for match in matches)
        parts += [f"{count} {text}"] * bool(count)
    return "; ".join(parts)
