"""Make the tables and figures of CREPE's productivity.

Source: arXiv:2212.07796, appendix B, Tables 12 to 14 and 16, Figures 5, 6 and 13. Figure 6 shows the models that were
not trained on a corpus of CREPE; OpenAI's CLIP models are one line, their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report import figures
from evaluators.report.raw_tables import make_raw_table
from evaluators.report.results import PRODUCTIVITY_KINDS as KINDS
from evaluators.report.results import Results, group_by_model
from evaluators.report.section import Section
from evaluators.report.tables import Table, format_with_interval, make_table
from generators.schemas.corpus_names import CORPORA

FIGURE_KINDS = ("hnatom", "hnswap", "hnneg")
FIGURES = {
    "Recall@1 against complexity, by type of hard negative (Figure 5 of the paper).": FIGURE_KINDS,
    "Recall@1 against complexity, all types together (Figure 13 of the paper).": ("hnall",),
}
FIGURE_6 = "Recall@1 against complexity, models with other training data (Figure 6 of the paper)."
OPENAI, OPENAI_TITLE = "/openai", "OpenAI CLIP"
"""Suffix of the names of OpenAI's CLIP models, and the title of their mean."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results by complexity."""
    frame = results.frame[results.frame["complexity"].notna()]
    rows, raw = frame[frame["kind"].isin(KINDS)], frame[frame["kind"] == "raw"]
    if rows.empty and raw.empty:
        return None
    available = set(rows["kind"])
    drawings = {
        describe_figure(caption, rows, figure_kinds): draw_figure(rows, figure_kinds)
        for caption, kinds in FIGURES.items()
        if (figure_kinds := [kind for kind in kinds if kind in available])
    }
    others = rows[~rows["trained_on"].isin(list(CORPORA))]
    if other_kinds := [kind for kind in FIGURE_KINDS if kind in set(others["kind"])]:
        joined = join_openai_models(others)
        drawings[describe_figure(FIGURE_6, joined, other_kinds)] = draw_figure(joined, other_kinds)
    tables = [make_recall_table(rows[rows["kind"] == kind], kind) for kind in KINDS if kind in available]
    if not raw.empty:
        titles = {number: f"n = {int(number)}" for number in sorted(raw["complexity"].unique())}
        tables.append(make_raw_table("productivity_raw", raw, "complexity", titles))
    return Section("productivity", tables, drawings, make_headline(rows[rows["kind"] == "hnatom"]))


def join_openai_models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with OpenAI's CLIP models as one series, so that a figure shows their mean."""
    is_openai = rows["model"].str.endswith(OPENAI)
    return rows.assign(series=rows["series"].mask(is_openai, OPENAI_TITLE))


def make_headline(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    recall = rows.groupby("complexity")["recall@1"].mean()
    first, last = int(recall.index.min()), int(recall.index.max())
    return [
        f"From {first} to {last} atoms, HN-Atom Recall@1 changes from {recall.iloc[0]:.1%} to {recall.iloc[-1]:.1%} "
        f"(chance {rows['chance'].iloc[0]:.1%})."
    ]


def make_recall_table(rows: pd.DataFrame, kind: str) -> Table:
    """Make Tables 12 to 14: Recall@1 of each model by complexity."""
    numbers = sorted(rows["complexity"].unique())
    set_size = int(rows["set_size"].iloc[0])
    body: list[list[object]] = [["Random", "", *[1 / set_size] * len(numbers)]]
    for names, by_number in group_by_model(rows, "complexity"):
        selected = [by_number.get(number, {}) for number in numbers]
        body.append([*names, *(format_with_interval(row.get("recall@1"), _get_interval(row)) for row in selected)])
    header = ["Training data", "Model", *(f"n = {int(number)}" for number in numbers)]
    return make_table("productivity", header, body, suffix=f"_{kind}", kind=KINDS[kind], set_size=set_size)


def _get_interval(row: dict[str, float]) -> tuple[float, float] | None:
    return (row["low"], row["high"]) if row else None


def describe_figure(caption: str, rows: pd.DataFrame, kinds: Sequence[str]) -> str:
    """Return the caption of a figure with the meaning of its bands and the number of rows."""
    shown = rows[rows["kind"].isin(list(kinds))]
    return f"{caption} {figures.describe_spread(shown, 'Bands')} {figures.describe_rows(shown['rows'])}"


def draw_figure(rows: pd.DataFrame, kinds: list[str]) -> str:
    """Draw Recall@1 by complexity, with one panel per type of hard negative and one line per model."""

    def paint(panels: list[Axes]) -> None:
        for axes, kind in zip(panels, kinds, strict=True):
            kind_rows = rows[rows["kind"] == kind]
            for line in figures.make_lines(kind_rows):
                recall = figures.summarise_seeds(line.rows, "complexity")
                axes.plot(recall.index, recall["mean"], marker="o", markersize=4, **line.style)
                band = {"color": line.style["color"], "alpha": 0.12, "linewidth": 0}
                axes.fill_between(recall.index, recall["low"], recall["high"], **band)
            figures.add_chance_line(axes, 1 / kind_rows["set_size"].iloc[0])
            axes.set(title=KINDS[kind], xlabel="complexity n (atoms)", xticks=sorted(kind_rows["complexity"].unique()))
        figures.share_axes(panels, "y")
        figures.add_legend(panels[0], "Recall@1 (%)")

    return figures.draw(len(kinds), paint)
