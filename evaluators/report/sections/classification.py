"""Show zero-shot classification and its correlation with retrieval among hard negatives.

Source: CREPE (arXiv:2212.07796), Figures 7 (systematicity) and 8 (productivity, n = 4, 8, 12). R2 is the square of
Pearson's r. Correlations need at least three models with results on the same classification set. The paper's
classification set is ImageNet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import linregress

from compeval.evaluators.report.figures import COLOURS, OTHER_COLOUR, draw, share_axes
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.sections.crepe import (
    PRODUCTIVITY_KINDS,
    SINGLE_KINDS,
    SYSTEMATICITY_KINDS,
)
from compeval.evaluators.report.tables import Table, make_pivot, make_table

MIN_MODELS = 3
COMPLEXITIES = (4, 8, 12)
CAPTION = "Zero-shot classification of {} against retrieval among hard negatives ({} of the paper)."


class Correlated(NamedTuple):
    """The models with results on a classification set and on a hard-negative set."""

    classification_set: str
    figure: str
    name: str
    """Title of the hard-negative set."""
    models: pd.DataFrame
    """One row per model: trained_on, accuracy and recall."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on classification."""
    values = results.values[results.values["family"] == "classification"]
    if values.empty:
        return None
    tables = [make_pivot("classification", values)]
    shown = get_keys(values)
    sets = correlate(values, results.values[results.values["metric"] == "recall@1"])
    if not sets:
        return Section("classification", tables, shown=shown)
    tables.append(make_correlation_table(sets))
    return Section("classification", tables, draw_figures(sets), shown=shown, variant="_correlated")


def correlate(classified: pd.DataFrame, recall: pd.DataFrame) -> list[Correlated]:
    """Return the pairs of sets on which at least three models with different accuracies were evaluated."""
    is_seen_set = (
        recall["is_own_corpus"]
        & recall["kind"].isin(["hnatom", "hncomp"])
        & recall["split"].isin(["sc", "uc"])
    )
    by_split = recall[is_seen_set]
    by_number = recall[recall["complexity"].isin(COMPLEXITIES)]
    by_number = by_number[by_number["kind"].isin(SINGLE_KINDS)]
    split_titles = by_split["kind"].map(SYSTEMATICITY_KINDS) + " " + by_split["split"].str.upper()
    number_titles = (
        by_number["kind"].map(PRODUCTIVITY_KINDS) + " n = " + by_number["complexity"].astype(str)
    )
    sets = pd.concat(
        [
            by_split.assign(figure="Figure 7", title=split_titles).sort_values(
                ["kind", "split"], kind="stable"
            ),
            by_number.assign(figure="Figure 8", title=number_titles).sort_values(
                ["kind", "complexity"], kind="stable"
            ),
        ]
    )
    accuracies = classified[(classified["variant"] == "") & (classified["metric"] == "top1")]
    accuracies = accuracies[["model", "config", "value"]].set_axis(
        ["model", "set", "accuracy"], axis="columns"
    )
    models = sets.rename(columns={"value": "recall"}).merge(accuracies, on="model")
    return [
        Correlated(str(classification_set), str(figure), str(title), rows)
        for (classification_set, figure, title), rows in models.groupby(
            ["set", "figure", "title"], sort=False
        )
        if len(rows) >= MIN_MODELS and rows["accuracy"].nunique() > 1
    ]


def make_correlation_table(sets: Sequence[Correlated]) -> Table:
    """Make the table of R2, slope and p-value per pair of sets."""
    records = []
    for item in sets:
        line: Any = linregress(item.models["accuracy"], item.models["recall"])
        fit = {"r2": line.rvalue**2, "slope": line.slope, "p": line.pvalue}
        records.append(item._asdict() | {"models": len(item.models)} | fit)
    return make_table("correlation", records)


def draw_figures(sets: Sequence[Correlated]) -> dict[str, str]:
    """Return caption -> SVG. A figure has one panel per hard-negative set and one point per model."""
    by_caption: dict[str, list[Correlated]] = {}
    for item in sets:
        by_caption.setdefault(CAPTION.format(item.classification_set, item.figure), []).append(item)
    return {caption: _draw_panels(items) for caption, items in by_caption.items()}


def _draw_panels(sets: Sequence[Correlated]) -> str:
    def paint(panels: list[Axes]) -> None:
        for axes, item in zip(panels, sets, strict=True):
            colours = [
                COLOURS.get(str(corpus), OTHER_COLOUR) for corpus in item.models["trained_on"]
            ]
            axes.scatter(
                100 * item.models["accuracy"], 100 * item.models["recall"], c=colours, s=20
            )
            axes.set(
                title=f"{item.name}, {len(item.models)} models", xlabel="zero-shot accuracy (%)"
            )
        share_axes(panels, "x", "y")
        panels[0].set_ylabel("Recall@1 (%)")

    return draw(len(sets), paint)
