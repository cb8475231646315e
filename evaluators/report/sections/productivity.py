"""CREPE's productivity: Tables 12 to 14, Figures 5 and 13 (arXiv:2212.07796, appendix B)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report.figures import chance_line, draw, legend, lines, over_seeds
from evaluators.report.results import PRODUCTIVITY_KINDS as KINDS
from evaluators.report.results import Results, by_model
from evaluators.report.section import Section
from evaluators.report.tables import Table, table, with_interval

FIGURES = {
    "Recall@1 against complexity, by type of hard negative (Figure 5 of the paper).": ("hnatom", "hnswap", "hnneg"),
    "Recall@1 against complexity, all types together (Figure 13 of the paper).": ("hnall",),
}


def section(results: Results) -> Section | None:
    """None without results by complexity."""
    rows = results.frame
    rows = rows[rows["complexity"].notna() & rows["kind"].isin(KINDS)]
    if rows.empty:
        return None
    run = set(rows["kind"])
    figures = {
        caption: figure(rows, chosen)
        for caption, kinds in FIGURES.items()
        if (chosen := [kind for kind in kinds if kind in run])
    }
    tables = [recall_table(rows[rows["kind"] == kind], kind) for kind in KINDS if kind in run]
    return Section("productivity", tables, figures, headline(rows[rows["kind"] == "hnatom"]))


def headline(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    recall = rows.groupby("complexity")["recall@1"].mean()
    first, last = int(recall.index.min()), int(recall.index.max())
    return [
        f"From {first} to {last} atoms, HN-Atom Recall@1 goes from {recall.iloc[0]:.1%} to {recall.iloc[-1]:.1%} "
        f"(chance {rows['chance'].iloc[0]:.1%})."
    ]


def recall_table(rows: pd.DataFrame, kind: str) -> Table:
    """Tables 12 to 14: Recall@1 of each model by complexity."""
    numbers = sorted(rows["complexity"].unique())
    set_size = int(rows["set_size"].iloc[0])
    body: list[list[object]] = [["Random", "", *[1 / set_size] * len(numbers)]]
    for names, by_number in by_model(rows, "complexity"):
        chosen = [by_number.get(number, {}) for number in numbers]
        body.append([*names, *(with_interval(row.get("recall@1"), _interval(row)) for row in chosen)])
    header = ["Training data", "Model", *(f"n = {int(number)}" for number in numbers)]
    return table("productivity", header, body, suffix=f"_{kind}", kind=KINDS[kind], set_size=set_size)


def _interval(row: dict[str, float]) -> tuple[float, float] | None:
    return (row["low"], row["high"]) if row else None


def figure(rows: pd.DataFrame, kinds: list[str]) -> str:
    """Recall@1 against complexity, one line per model, one panel per type of hard negative."""

    def paint(panels: list[Axes]) -> None:
        for axes, kind in zip(panels, kinds, strict=True):
            chosen = rows[rows["kind"] == kind]
            for line in lines(chosen):
                recall = over_seeds(line.models, "complexity")
                axes.plot(recall.index, recall["mean"], marker="o", markersize=4, **line.style)
                band = {"color": line.style["color"], "alpha": 0.12, "linewidth": 0}
                axes.fill_between(recall.index, recall["low"], recall["high"], **band)
            chance_line(axes, 1 / chosen["set_size"].iloc[0])
            axes.set(title=KINDS[kind], xlabel="complexity n (atoms)", xticks=sorted(chosen["complexity"].unique()))
        legend(panels[0], "Recall@1 (%)")

    return draw(len(kinds), paint)
