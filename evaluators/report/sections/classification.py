"""Show zero-shot classification and its correlation with retrieval among hard negatives.

Source: CREPE (arXiv:2212.07796), Figures 7 (systematicity) and 8 (productivity, n = 4, 8, 12). R2 is the square of
Pearson's r. Correlations need at least three models.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import linregress

from evaluators.report.figures import COLOURS, OTHER_COLOUR, draw
from evaluators.report.results import PRODUCTIVITY_KINDS, SYSTEMATICITY_KINDS, Results, select_own_corpus
from evaluators.report.section import Section, make_task_table
from evaluators.report.tables import Table, make_table

MIN_MODELS = 3
COMPLEXITIES = (4, 8, 12)
CAPTION = "Zero-shot classification against retrieval among hard negatives ({} of the paper)."
ModelsOfSet = tuple[str, str, pd.DataFrame]
"""Caption of a figure, name of a set, and a table of its models with the columns trained_on, accuracy and recall@1."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on classification."""
    classification_results = results.select("classification")
    if not classification_results:
        return None
    tables = [make_task_table("classification", classification_results, {"top1": "Accuracy"})]
    sets = list(collect_sets(results.frame))
    if not sets:
        return Section("classification", tables)
    return Section("classification", [*tables, make_correlation_table(sets)], draw_figures(sets), variant="_correlated")


def collect_sets(results: pd.DataFrame) -> Iterator[ModelsOfSet]:
    """Yield the sets on which at least three models were evaluated and have different accuracies."""
    accuracy = results[results["dataset"] == "classification"].groupby("model")["top1"].mean()
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
    for figure, name, rows in sets:
        models = rows.set_index("model")[["trained_on", "recall@1"]].join(accuracy.rename("accuracy"), how="inner")
        if len(models) >= MIN_MODELS and models["accuracy"].nunique() > 1:
            yield CAPTION.format(figure), name, models


def make_correlation_table(sets: list[ModelsOfSet]) -> Table:
    """Make the table of R2, slope and p-value per set."""
    rows = []
    for _, name, models in sets:
        line = linregress(models["accuracy"], models["recall@1"])
        rows.append([name, len(models), f"{line.rvalue**2:.2f}", f"{line.slope:+.2f}", f"{line.pvalue:.2g}"])  # pyright: ignore[reportAttributeAccessIssue]
    return make_table("correlation", ["Set", "Models", "R2", "Slope", "p"], rows)


def draw_figures(sets: list[ModelsOfSet]) -> dict[str, str]:
    """Return caption -> SVG. A figure has one panel per set and one point per model."""

    def draw_sets(panel_sets: list[ModelsOfSet]) -> str:
        def paint(panels: list[Axes]) -> None:
            for axes, (_, name, models) in zip(panels, panel_sets, strict=True):
                colours = [COLOURS.get(str(corpus), OTHER_COLOUR) for corpus in models["trained_on"]]
                axes.scatter(100 * models["accuracy"], 100 * models["recall@1"], c=colours, s=20)
                axes.set(title=name, xlabel="zero-shot accuracy (%)")
            panels[0].set_ylabel("Recall@1 (%)")

        return draw(len(panel_sets), paint)

    captions = dict.fromkeys(caption for caption, _, _ in sets)
    return {caption: draw_sets([item for item in sets if item[0] == caption]) for caption in captions}
