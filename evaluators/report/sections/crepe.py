"""Make the tables and figures of CREPE's systematicity and productivity (Ma et al. 2023, arXiv:2212.07796, appendix B).

Systematicity: Tables 9 to 11 and 15, Figure 4. sc: seen compounds, uc: unseen compounds, ua: unseen atoms.
Productivity: Tables 12 to 14 and 16, Figures 5, 6 and 13. Figure 6 shows the models that were not trained on a corpus
of CREPE; OpenAI's CLIP models are one line, their mean. In Figure 5, so are the models of a corpus. Retrieval among raw
pairs (Tables 15 and 16) has no hard negatives: Recall@1 in both directions among N rows, mean and standard deviation
over folds. Difference from the paper: its chance is given per row, because N may differ between corpora.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from compeval.base.schemas.corpus_names import CORPORA
from compeval.evaluators.report import figures
from compeval.evaluators.report.headlines import explain_below_chance, test_trend
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Results, sort_by
from compeval.evaluators.report.tables import TEXTS, Table, make_pivot
from compeval.evaluators.report.text_only import describe_best_baseline

SYSTEMATICITY_KINDS: dict[str, str] = TEXTS["labels"]["systematicity_kinds"]
PRODUCTIVITY_KINDS: dict[str, str] = TEXTS["labels"]["productivity_kinds"]
SINGLE_KINDS = ("hnatom", "hnswap", "hnneg")
"""Kinds of Figures 5 and 6."""
DIRECTIONS = {"i2t_recall@1": "Image to text", "t2i_recall@1": "Text to image"}
FIGURE_4 = "Seen and unseen compounds (Figure 4 of the paper)."
FIGURE_5 = (
    "Recall@1 against complexity, by type of hard negative, mean of the models of a corpus (Figure 5 of "
    "the paper)."
)
FIGURE_13 = "Recall@1 against complexity, all types together (Figure 13 of the paper)."
FIGURE_6 = "Recall@1 against complexity, models with other training data (Figure 6 of the paper)."
OPENAI = "/openai"
OPENAI_TITLE = "OpenAI CLIP"
"""Suffix of the names of OpenAI's CLIP models, and the title of their mean."""


def make_systematicity(results: Results) -> Section | None:
    """Make the section. Returns None if no model was evaluated on the sets of its own training corpus."""
    values = results.values[results.values["is_own_corpus"]]
    values = values.assign(
        column=values["metric"] + " " + values["split"],
        seen=values["split"].map({"sc": 1.0, "uc": 0.0}),
    )
    if values.empty:
        return None
    recall = values[values["metric"] == "recall@1"]
    drawn = recall[recall["kind"].isin(["hnall", "hnatom", "hncomp"])]
    drawings = (
        {describe_figure(FIGURE_4, drawn, "Bars"): draw_recall(drawn, "split")}
        if len(drawn)
        else {}
    )
    lines = test_trend("seen_and_unseen", results, recall, "seen")
    lines += explain_below_chance(results, recall, SYSTEMATICITY_KINDS)
    tables = make_tables("systematicity", results, values, SYSTEMATICITY_KINDS)
    return Section("systematicity", tables, drawings, lines, shown=get_keys(values))


def make_productivity(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results by complexity."""
    is_shown = results.values["complexity"].notna() & results.values["kind"].isin(
        ["raw", *PRODUCTIVITY_KINDS]
    )
    values = results.values[is_shown]
    if values.empty:
        return None
    recall = values[values["metric"] == "recall@1"]
    is_on_corpus = recall["trained_on"].isin(list(CORPORA))
    others = join_openai_models(recall[~is_on_corpus])
    averaged = average_models(recall[is_on_corpus]) if is_on_corpus.any() else recall
    drawn = {
        FIGURE_5: averaged[averaged["kind"].isin(SINGLE_KINDS)],
        FIGURE_13: recall[recall["kind"] == "hnall"],
        FIGURE_6: others[others["kind"].isin(SINGLE_KINDS)],
    }
    drawings = {
        describe_figure(caption, rows, "Bands"): draw_recall(rows, "complexity")
        for caption, rows in drawn.items()
        if len(rows)
    }
    lines = test_trend("complexity", results, recall, "complexity")
    lines += explain_below_chance(results, recall, PRODUCTIVITY_KINDS)
    tables = make_tables("productivity", results, values, PRODUCTIVITY_KINDS)
    return Section("productivity", tables, drawings, lines, shown=get_keys(values))


def join_openai_models(values: pd.DataFrame) -> pd.DataFrame:
    """Return the values with OpenAI's CLIP models as one series, so that a figure shows their mean."""
    return values.assign(
        series=values["series"].mask(values["model"].str.endswith(OPENAI), OPENAI_TITLE)
    )


def average_models(values: pd.DataFrame) -> pd.DataFrame:
    """Return the values with the models of each corpus as one series, so that a figure shows their mean."""
    count = values.groupby("training_data")["series"].transform("nunique")
    return values.assign(
        series=values["series"].mask(count > 1, "mean of " + count.astype(str) + " models")
    )


def make_tables(
    name: str, results: Results, values: pd.DataFrame, kinds: Mapping[str, str]
) -> list[Table]:
    """Make a table per kind of hard negatives, with the best text-only baseline in its caption, and one of raw pairs.

    ``kinds``: kind -> title.
    """
    tables = []
    for kind, title in kinds.items():
        rows = values[values["kind"] == kind]
        if len(rows):
            note = describe_best_baseline(results, results.find(rows))
            texts = {"kind": title, "set_size": rows["set_size"].iloc[0]}
            tables.append(make_pivot(name, rows, f"_{kind}", note, **texts))
    raw = sort_by(values[values["kind"] == "raw"], "metric", DIRECTIONS)
    if len(raw):
        tables.append(
            make_pivot(f"{name}_raw", raw.assign(direction=raw["metric"].map(DIRECTIONS)))
        )
    return tables


def describe_figure(caption: str, recall: pd.DataFrame, mark: str) -> str:
    """Return the caption of a figure with the meaning of its ``mark`` (bands or bars) and the number of rows."""
    return (
        f"{caption} {figures.describe_spread(recall, mark)} {figures.describe_rows(recall['rows'])}"
    )


def draw_recall(recall: pd.DataFrame, key: str) -> str:
    """Draw Recall@1 by ``key`` (split or complexity), with one panel per kind of hard negatives, one line per model."""
    titles = SYSTEMATICITY_KINDS if key == "split" else PRODUCTIVITY_KINDS
    kinds = [kind for kind in titles if kind in set(recall["kind"])]

    def paint(panels: list[Axes]) -> None:
        for axes, kind in zip(panels, kinds, strict=True):
            rows = recall[recall["kind"] == kind]
            for index, line in enumerate(figures.make_lines(rows)):
                means = figures.summarise_seeds(line.values, key)
                if key == "split":
                    _draw_bars(axes, means.reindex(["sc", "uc"]), line.style, 0.04 * (index - 1))
                else:
                    _draw_band(axes, means, line.style)
            figures.add_chance_line(axes, rows["chance"].iloc[0])
            axes.set_title(titles[kind])
            if key == "complexity":
                axes.set(xlabel="complexity n (atoms)", xticks=sorted(rows[key].unique()))
        figures.share_axes(panels, "y")
        figures.add_legend(panels[0], "Recall@1 (%)")

    return figures.draw(len(kinds), paint)


def _draw_bars(axes: Axes, means: pd.DataFrame, style: dict[str, Any], shift: float) -> None:
    error = [means["mean"] - means["low"], means["high"] - means["mean"]]
    axes.errorbar([shift, 1 + shift], means["mean"], error, marker="o", capsize=3, **style)
    axes.set(xticks=[0, 1], xticklabels=["seen (SC)", "unseen (UC)"], xlim=(-0.3, 1.3))


def _draw_band(axes: Axes, means: pd.DataFrame, style: dict[str, Any]) -> None:
    axes.plot(means.index, means["mean"], marker="o", markersize=4, **style)
    axes.fill_between(
        means.index, means["low"], means["high"], color=style["color"], alpha=0.12, linewidth=0
    )
