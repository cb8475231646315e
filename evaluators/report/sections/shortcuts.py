"""Compare the best rules without the image with chance, for the published sets of the results."""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import format_percent, format_with_interval, make_table

COLUMNS = ("Set", "Best rule without the image", "Correct", "Chance", "Above chance", "Best model", "Rows")


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no published set with hard negatives is here."""
    models = find_best_models(results)
    rows = [
        [
            name,
            shortcut.rule,
            format_with_interval(shortcut.recall, shortcut.interval),
            format_percent(shortcut.chance),
            "yes" if shortcut.beats_chance else "no",
            models[name],
            shortcut.rows,
        ]
        for name, shortcut in results.shortcuts.items()
        if name in models
    ]
    return Section("shortcuts", [make_table("shortcuts", COLUMNS, rows)]) if rows else None


def find_best_models(results: Results) -> dict[str, float | None]:
    """Return the highest main metric on each ``dataset/config`` that has a shortcut."""
    best: dict[str, float | None] = {}
    for result in results:
        name = f"{result.data['dataset']}/{result.data['config']}"
        if name in results.shortcuts:
            best[name] = max(best.get(name) or 0.0, result.metrics[result.data["main"][0]])
    return best
