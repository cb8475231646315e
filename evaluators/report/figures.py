"""Drawing of figures: SVG text for a page. Dashed lines: chance. Colours: training corpora."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluators.report.results import corpus_name

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


def draw(panels: int, paint: Callable[[list[Axes]], None]) -> str:
    """A row of panels, painted by ``paint``, as SVG without the prolog: the same text on every call."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.3 * panels, 3.0), layout="constrained")
        paint([figure.add_subplot(1, panels, index + 1) for index in range(panels)])
        metadata = {"Date": None, "Creator": None}
        figure.savefig(buffer, format="svg", metadata=metadata, bbox_inches="tight", transparent=True)
    return "".join(buffer.getvalue().partition("<svg")[1:])


def legend(axes: Axes, ylabel: str) -> None:
    axes.set_ylabel(ylabel)
    axes.legend(frameon=False, fontsize=8)


def chance_line(axes: Axes, chance: float) -> None:
    """A dashed line at a share; the axis starts at 0."""
    axes.axhline(100 * chance, color="#999999", linestyle="--", linewidth=1)
    where: Any = {"xy": (1, 100 * chance), "xycoords": ("axes fraction", "data")}
    axes.annotate("chance", xytext=(0, 3), textcoords="offset points", ha="right", color="#777777", fontsize=8, **where)
    axes.set_ylim(bottom=0)


class Line(NamedTuple):
    """The seeds of one model, and the line's style."""

    models: pd.DataFrame
    style: dict[str, Any]


def lines(rows: pd.DataFrame) -> Iterator[Line]:
    """One line per model over its seeds: the colour by its corpus, the dashes by model within a corpus."""
    for corpus, of_corpus in rows.groupby(rows["trained_on"].fillna("other")):
        several = of_corpus["series"].nunique() > 1
        for index, (series, models) in enumerate(of_corpus.groupby("series")):
            label = f"{corpus_name(str(corpus))}, {series}" if several else corpus_name(str(corpus))
            dashes = DASHES[index % len(DASHES)]
            yield Line(models, {"color": COLOURS.get(str(corpus), OTHER_COLOUR), "linestyle": dashes, "label": label})


def over_seeds(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """Recall@1 in percent by ``key``: ``mean`` over seeds, ``low`` and ``high`` of the seeds, or of the interval."""
    grouped = rows.groupby(key)
    several = (grouped["model"].nunique() > 1).any()
    low, high = ("recall@1", "recall@1") if several else ("low", "high")
    table = pd.DataFrame({"mean": grouped["recall@1"].mean(), "low": grouped[low].min(), "high": grouped[high].max()})
    return 100 * table
