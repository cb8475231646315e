"""Zero-shot classification, by itself and against retrieval among hard negatives.

Source: CREPE (arXiv:2212.07796), Figures 7 (systematicity) and 8 (productivity, n = 4, 8, 12); R2: Pearson's r squared.
Drawn from three models on, since any two points are on a line.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import linregress

from evaluators.report.figures import COLOURS, OTHER_COLOUR, draw
from evaluators.report.results import PRODUCTIVITY_KINDS, SYSTEMATICITY_KINDS, Results, own_corpus
from evaluators.report.section import Section, by_task
from evaluators.report.tables import Table, table

MIN_MODELS = 3
COMPLEXITIES = (4, 8, 12)
CAPTION = "Zero-shot classification against retrieval among hard negatives ({} of the paper)."
Correlated = tuple[str, str, pd.DataFrame]
"""Caption of a figure, name of a set, and its models: columns trained_on, accuracy, recall (shares)."""


def section(results: Results) -> Section | None:
    """None without results on classification."""
    classified = results.of("classification")
    if not classified:
        return None
    tables = [by_task("classification", classified, {"top1": "Accuracy"})]
    sets = list(correlated(results.frame))
    if not sets:
        return Section("classification", tables)
    return Section("classification", [*tables, correlation_table(sets)], figures(sets), variant="_correlated")


def correlated(results: pd.DataFrame) -> Iterator[Correlated]:
    """The sets with at least three models of different accuracy."""
    accuracy = results[results["dataset"] == "classification"].groupby("model")["top1"].mean()
    own = own_corpus(results)
    sets = [
        (
            "Figure 7",
            f"{SYSTEMATICITY_KINDS[kind]} {split.upper()}",
            own[(own["kind"] == kind) & (own["split"] == split)],
        )
        for kind in ("hnatom", "hncomp")
        for split in ("sc", "uc")
    ]
    for kind in ("hnatom", "hnswap", "hnneg"):
        of_kind = results[results["kind"] == kind]
        for number in COMPLEXITIES:
            rows = of_kind[of_kind["complexity"] == number]
            sets.append(("Figure 8", f"{PRODUCTIVITY_KINDS[kind]} n = {number}", rows))
    for figure, name, rows in sets:
        models = rows.set_index("model")[["trained_on", "recall@1"]].join(accuracy.rename("accuracy"), how="inner")
        if len(models) >= MIN_MODELS and models["accuracy"].nunique() > 1:
            yield CAPTION.format(figure), name, models


def correlation_table(sets: list[Correlated]) -> Table:
    """R2, slope and p of each set."""
    rows = []
    for _, name, models in sets:
        line = linregress(models["accuracy"], models["recall@1"])
        rows.append([name, len(models), f"{line.rvalue**2:.2f}", f"{line.slope:+.2f}", f"{line.pvalue:.2g}"])  # pyright: ignore[reportAttributeAccessIssue]
    return table("correlation", ["Set", "Models", "R2", "Slope", "p"], rows)


def figures(sets: list[Correlated]) -> dict[str, str]:
    """Caption -> SVG: one point per model, one panel per set."""

    def draw_sets(chosen: list[Correlated]) -> str:
        def paint(panels: list[Axes]) -> None:
            for axes, (_, name, models) in zip(panels, chosen, strict=True):
                colours = [COLOURS.get(str(corpus), OTHER_COLOUR) for corpus in models["trained_on"]]
                axes.scatter(100 * models["accuracy"], 100 * models["recall@1"], c=colours, s=20)
                axes.set(title=name, xlabel="zero-shot accuracy (%)")
            panels[0].set_ylabel("Recall@1 (%)")

        return draw(len(chosen), paint)

    captions = dict.fromkeys(caption for caption, _, _ in sets)
    return {caption: draw_sets([one for one in sets if one[0] == caption]) for caption in captions}
