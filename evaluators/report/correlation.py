"""Zero-shot classification against hard-negative retrieval, over models.

Source: CREPE (arXiv:2212.07796), Figures 7 (systematicity) and 8 (productivity, n = 4, 8, 12); R2: Pearson's r squared.
Drawn where at least three models have both, since two points always lie on a line.
"""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pandas as pd
from scipy.stats import linregress

from evaluators.report.figures import COLOURS, OTHER_COLOUR, STYLE, panels, svg
from evaluators.report.tables import KINDS, PRODUCTIVITY_KINDS, Table, own_corpus

MODELS_AT_LEAST = 3
COMPLEXITIES = (4, 8, 12)
SYSTEMATICITY, PRODUCTIVITY = "Systematicity (Figure 7)", "Productivity (Figure 8)"


def pairs(results: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Figure, name of a set and its models: rows ``model, trained_on, accuracy, recall``, shares."""
    classified = results[results["dataset"] == "classification"]
    if classified.empty:
        return
    accuracy = classified.groupby("model")["top1"].mean()
    systematic = own_corpus(results)
    for kind in ("hnatom", "hncomp"):
        for split in ("sc", "uc"):
            rows = systematic[(systematic["kind"] == kind) & (systematic["split"] == split)]
            yield SYSTEMATICITY, f"{KINDS[kind]} {split.upper()}", _joined(rows, accuracy)
    for kind in ("hnatom", "hnswap", "hnneg"):
        for number in COMPLEXITIES:
            rows = results[(results["kind"] == kind) & (results["complexity"] == number)]
            yield PRODUCTIVITY, f"{PRODUCTIVITY_KINDS[kind]} n = {number}", _joined(rows, accuracy)


def _joined(rows: pd.DataFrame, accuracy: pd.Series) -> pd.DataFrame:
    both = rows.set_index("model")[["trained_on", "recall@1"]].join(accuracy.rename("accuracy"), how="inner")
    return both.rename(columns={"recall@1": "recall"}).reset_index()


def _enough(results: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    return [
        (figure, name, models)
        for figure, name, models in pairs(results)
        if len(models) >= MODELS_AT_LEAST and models["accuracy"].nunique() > 1
    ]


def correlation_table(results: pd.DataFrame) -> Table | None:
    """R2, slope and p of each set; None where there are too few models."""
    rows = []
    for _, name, models in _enough(results):
        line = linregress(models["accuracy"], models["recall"])
        rows.append([name, str(len(models)), f"{line.rvalue**2:.2f}", f"{line.slope:+.2f}", f"{line.pvalue:.2g}"])  # pyright: ignore[reportAttributeAccessIssue]
    if not rows:
        return None
    caption = "Recall@1 on hard-negative sets against zero-shot classification accuracy, over models."
    return Table("correlation", caption, pd.DataFrame(rows, columns=pd.Index(["Set", "Models", "R2", "Slope", "p"])))


def correlation_figures(results: pd.DataFrame) -> dict[str, str]:
    """Caption -> SVG: one point a model, one panel a set."""
    found, made = _enough(results), {}
    for title in (SYSTEMATICITY, PRODUCTIVITY):
        sets = [(name, models) for figure, name, models in found if figure == title]
        if not sets:
            continue
        with mpl.rc_context(STYLE):
            figure, axes = panels(len(sets))
            for panel, (name, models) in zip(axes, sets, strict=True):
                colours = [COLOURS.get(str(corpus), OTHER_COLOUR) for corpus in models["trained_on"]]
                panel.scatter(100 * models["accuracy"], 100 * models["recall"], c=colours, s=20)
                panel.set(title=name, xlabel="zero-shot accuracy (%)")
            axes[0].set_ylabel("Recall@1 (%)")
            made[f"Zero-shot classification against retrieval among hard negatives. {title}."] = svg(figure)
    return made
