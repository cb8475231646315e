"""Compare the best text-only baselines with chance, for the published sets of the results."""

from __future__ import annotations

from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.tables import make_table
from compeval.loaders.datasets.folders import is_published


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no published set with hard negatives is here."""
    best_scores: dict[str, float] = {}
    for result in results:
        name = result.data["task"]
        best_scores[name] = max(best_scores.get(name, 0.0), result.metrics[result.data["main"][0]])
    records = [
        baseline._asdict()
        | {
            "set": name,
            "best_score": best_scores[name],
            "above_chance": "yes" if baseline.beats_chance else "no",
        }
        for name, baseline in results.best_baselines.items()
        if name in best_scores and is_published(name.partition("/")[0])
    ]
    return (
        Section("text_only_baselines", [make_table("text_only_baselines", records)])
        if records
        else None
    )
