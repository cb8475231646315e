"""The paper's figures, drawn for our models: SVG text that goes into a page as it is.

Source: CREPE (arXiv:2212.07796): Figure 4 (seen against unseen compounds), Figure 5 (complexity, by type of hard
negative), Figure 13 (complexity, all types at once). Dashed: chance. Bars and bands: 95 % intervals of one model, or
the spread over the seeds where there are several.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluators.report.tables import KINDS, PRODUCTIVITY_KINDS, corpus_name, own_corpus

COLOURS = {"cc12m": "#0072b2", "yfcc": "#d55e00", "laion": "#009e73"}
OTHER_COLOUR = "#555555"
DASHES = ("-", "--", ":", "-.")
STYLE: Any = {
    "svg.hashsalt": "compeval",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e6e6e6",
    "axes.edgecolor": "#888888",
}


def svg(figure: Figure) -> str:
    """The figure as SVG, without the prolog, the same text at every call."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight", transparent=True
    )
    return buffer.getvalue().partition("<svg")[1] + buffer.getvalue().partition("<svg")[2]


def panels(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.3 * count, 3.0), layout="constrained")
    return figure, [figure.add_subplot(1, count, index + 1) for index in range(count)]


class Line(NamedTuple):
    """The seeds of one model, and how to draw them."""

    models: pd.DataFrame
    look: dict[str, Any]


def _lines(rows: pd.DataFrame) -> Iterator[Line]:
    """One line a model whatever its seed: the colour is its corpus', the dashes tell models of one corpus apart."""
    for corpus, of_corpus in rows.groupby(rows["trained_on"].fillna("other")):
        several = of_corpus["series"].nunique() > 1
        for index, (series, models) in enumerate(of_corpus.groupby("series")):
            label = f"{corpus_name(str(corpus))}, {series}" if several else corpus_name(str(corpus))
            dashes = DASHES[index % len(DASHES)]
            yield Line(models, {"color": COLOURS.get(str(corpus), OTHER_COLOUR), "linestyle": dashes, "label": label})


def _seeds(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """Percent of Recall@1 by ``key``: mean over seeds, and low and high: of the interval, or of the seeds."""
    grouped = rows.groupby(key)
    several = (grouped["model"].nunique() > 1).any()
    low, high = ("recall@1", "recall@1") if several else ("low", "high")
    table = pd.DataFrame({"mean": grouped["recall@1"].mean(), "low": grouped[low].min(), "high": grouped[high].max()})
    return 100 * table


def _chance(axes: Axes, set_size: float) -> None:
    axes.axhline(100 / set_size, color="#999999", linestyle="--", linewidth=1)
    axes.annotate(
        "chance",
        (1, 100 / set_size),
        (0, 3),
        ("axes fraction", "data"),
        "offset points",
        ha="right",
        color="#777777",
        fontsize=8,
    )


def seen_unseen(results: pd.DataFrame) -> str:
    """Figure 4: Recall@1 on SC and UC, one line a model, one panel a kind of hard negative."""
    rows = own_corpus(results)
    kinds = [kind for kind in KINDS if (rows["kind"] == kind).any()]
    with mpl.rc_context(STYLE):
        figure, axes_of_kind = panels(len(kinds))
        for axes, kind in zip(axes_of_kind, kinds, strict=True):
            chosen = rows[rows["kind"] == kind]
            for index, line_of in enumerate(_lines(chosen)):
                line = _seeds(line_of.models, "split").reindex(["sc", "uc"])
                place = [0 + 0.04 * (index - 1), 1 + 0.04 * (index - 1)]
                error = [line["mean"] - line["low"], line["high"] - line["mean"]]
                axes.errorbar(place, line["mean"], error, marker="o", capsize=3, **line_of.look)
            _chance(axes, chosen["set_size"].iloc[0])
            axes.set(title=KINDS[kind], xticks=[0, 1], xticklabels=["seen (SC)", "unseen (UC)"], xlim=(-0.3, 1.3))
            axes.set_ylim(bottom=0)
        axes_of_kind[0].set_ylabel("Recall@1 (%)")
        axes_of_kind[0].legend(frameon=False, fontsize=8)
        return svg(figure)


def complexity(results: pd.DataFrame, kinds: list[str]) -> str:
    """Figures 5 and 13: Recall@1 against complexity, one line a model, one panel a kind of hard negative."""
    rows = results[results["complexity"].notna()]
    with mpl.rc_context(STYLE):
        figure, axes_of_kind = panels(len(kinds))
        for axes, kind in zip(axes_of_kind, kinds, strict=True):
            chosen = rows[rows["kind"] == kind]
            for line_of in _lines(chosen):
                line = _seeds(line_of.models, "complexity")
                axes.plot(line.index, line["mean"], marker="o", markersize=4, **line_of.look)
                axes.fill_between(
                    line.index, line["low"], line["high"], color=line_of.look["color"], alpha=0.12, linewidth=0
                )
            _chance(axes, chosen["set_size"].iloc[0])
            axes.set(
                title=PRODUCTIVITY_KINDS[kind],
                xlabel="complexity n (atoms)",
                xticks=sorted(chosen["complexity"].unique()),
            )
            axes.set_ylim(bottom=0)
        axes_of_kind[0].set_ylabel("Recall@1 (%)")
        axes_of_kind[0].legend(frameon=False, fontsize=8)
        return svg(figure)


def paper_figures(results: pd.DataFrame) -> dict[str, str]:
    """Caption -> SVG of every figure for which there are results."""
    figures = {}
    if not own_corpus(results)[lambda rows: rows["kind"].isin(KINDS)].empty:
        figures["Seen against unseen compounds (the paper's Figure 4)."] = seen_unseen(results)
    productive = results[results["complexity"].notna()]
    kinds = [kind for kind in ("hnatom", "hnswap", "hnneg") if (productive["kind"] == kind).any()]
    if kinds:
        figures["Recall@1 against complexity, by type of hard negative (Figure 5)."] = complexity(results, kinds)
    if (productive["kind"] == "hnall").any():
        figures["Recall@1 against complexity, all types at once (Figure 13)."] = complexity(results, ["hnall"])
    return figures


def validity_curve(shares: pd.DataFrame) -> str:
    """Genuine share of hard negatives (percent) against annotation recall; columns type, recall, genuine."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1)
        for kind, group in shares.groupby("type"):
            line = group.sort_values("recall")
            axes.plot(line["recall"], 100 * line["genuine"], marker="o", markersize=4, label=str(kind))
        axes.set(xlabel="annotation recall", ylabel="genuine hard negatives (%)", title="What the oracle says")
        axes.legend(frameon=False, fontsize=8)
        return svg(figure)
