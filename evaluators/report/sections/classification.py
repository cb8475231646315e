"""Show zero-shot classification and its correlation with retrieval among hard negatives.

Source: CREPE (arXiv:2212.07796), Figures 7 (systematicity) and 8 (productivity, n = 4, 8, 12). R2 is the square of
Pearson's r. Correlations need at least three models with results on the same classification set. The paper's
classification set is ImageNet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import linregress

from evaluators.report.figures import COLOURS, OTHER_COLOUR, draw, share_axes
from evaluators.report.results import PRODUCTIVITY_KINDS, SYSTEMATICITY_KINDS, Results, select_own_corpus
from evaluators.report.section import Section, make_task_table
from evaluators.report.tables import Table, make_table

MIN_MODELS = 3
COMPLEXITIES = (4, 8, 12)
CAPTION = "Zero-shot classification of {} against retrieval among hard negatives ({} of the paper)."


class Correlated(NamedTuple):
    """The models with results on a classification set and on a hard-negative set."""

    figure: str
    classification_set: str
    name: str
    """Title of the hard-negative set."""
    models: pd.DataFrame
    """One row per model: trained_on, accuracy and recall@1."""

    @property
    def caption(self) -> str:
        return CAPTION.format(self.classification_set, self.figure)


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on classification."""
    classification_results = results.select("classification")
    if not classification_results:
        return None
    tables = [make_task_table("classification", classification_results, {"top1": "Accuracy"})]
    frame, shown = results.frame, {result.key for result in classification_results}
    without_variants = frame[frame["task"] == "classification/" + frame["config"]]
    sets = [item for name, rows in without_variants.groupby("config") for item in correlate(str(name), rows, frame)]
    if not sets:
        return Section("classification", tables, shown=shown)
    tables.append(make_correlation_table(sets))
    return Section("classification", tables, draw_figures(sets), shown=shown, variant="_correlated")


def correlate(name: str, classified: pd.DataFrame, results: pd.DataFrame) -> Iterator[Correlated]:
    """Yield the hard-negative sets on which at least three models with different accuracies were evaluated.

    ``classified``: the results on the classification set ``name``.
    """
    accuracy = classified.set_index("model")["top1"]
    own_corpus_rows = select_own_corpus(results)
    sets = [
        (
            "Figure 7",
            f"{SYSTEMATICITY_KINDS[kind]} {split.upper()}",
            own_corpus_rows[(own_corpus_rows["kind"] == kind) & (own_corpus_rows["split"] == split)],
        )
        for kind in ("hnatom", "hncomp")
        for split in ("sc", "uc")
    ]
    for kind in ("hnatom", "hnswap", "hnneg"):
        kind_rows = results[results["kind"] == kind]
        for number in COMPLEXITIES:
            rows = kind_rows[kind_rows["complexity"] == number]
            sets.append(("Figure 8", f"{PRODUCTIVITY_KINDS[kind]} n = {number}", rows))
    for figure, title, rows in sets:
        models = rows.set_index("model")[["trained_on", "recall@1"]].join(accuracy.rename("accuracy"), how="inner")
        if len(models) >= MIN_MODELS and models["accuracy"].nunique() > 1:
            yield Correlated(figure, name, title, models)


def make_correlation_table(sets: list[Correlated]) -> Table:
    """Make the table of R2, slope and p-value per pair of sets."""
    rows = []
    for item in sets:
        line = linregress(item.models["accuracy"], item.models["recall@1"])
        numbers = (f"{line.rvalue**2:.2f}", f"{line.slope:+.2f}", f"{line.pvalue:.2g}")  # pyright: ignore[reportAttributeAccessIssue]
        rows.append([item.classification_set, item.name, len(item.models), *numbers])
    return make_table("correlation", ["Classification of", "Set", "Models", "R2", "Slope", "p"], rows)


def draw_figures(sets: list[Correlated]) -> dict[str, str]:
    """Return caption -> SVG. A figure has one panel per hard-negative set and one point per model."""

    def draw_sets(panel_sets: list[Correlated]) -> str:
        def paint(panels: list[Axes]) -> None:
            for axes, item in zip(panels, panel_sets, strict=True):
                colours = [COLOURS.get(str(corpus), OTHER_COLOUR) for corpus in item.models["trained_on"]]
                axes.scatter(100 * item.models["accuracy"], 100 * item.models["recall@1"], c=colours, s=20)
                axes.set(title=f"{item.name}, {len(item.models)} models", xlabel="zero-shot accuracy (%)")
            share_axes(panels, "x", "y")
            panels[0].set_ylabel("Recall@1 (%)")

        return draw(len(panel_sets), paint)

    captions = dict.fromkeys(item.caption for item in sets)
    return {caption: draw_sets([item for item in sets if item.caption == caption]) for caption in captions}
