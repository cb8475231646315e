"""Show the share of genuine hard negatives (evaluators/validity/genuine_share.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report.figures import add_legend, draw
from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import MISSING, make_table


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if the report is built without validity.json."""
    if not results.validity:
        return None
    positives, words = results.validity["positives"], results.validity["foil_words"]
    shares = pd.DataFrame(results.validity["genuine"])
    cells = shares.pivot(index="type", columns="recall", values="genuine").sort_index(axis=1, ascending=False)
    genuine_table = make_table(
        "validity",
        ["Type", *(f"recall {float(recall):.1f}" for recall in cells.columns)],
        [[kind, *row] for kind, row in zip(cells.index, cells.to_numpy().tolist(), strict=True)],
    )
    values = {
        "captions": positives["captions"],
        "true_share": _format_share(positives["true_share"], 2),
        "listed_atoms": _format_share(_pool_listed_atoms(results.validity.get("listed_atoms", [])), 2),
        "foil_words": _format_share(words["drawable_and_seen"], 1),
    }
    caption = "Genuine hard negatives by annotation recall (share of facts that are annotated)."
    return Section("validity", [genuine_table], {caption: draw_figure(shares)}, values=values)


def _pool_listed_atoms(shares: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the share over the rows of all kinds, None without rows."""
    rows = sum(item["rows"] for item in shares)
    return sum(item["rows"] * item["share"] for item in shares if item["rows"]) / rows if rows else None


def _format_share(share: float | None, decimals: int) -> str:
    return MISSING if share is None else f"{share:.{decimals}%}"


def draw_figure(shares: pd.DataFrame) -> str:
    """Draw the genuine share by annotation recall. ``shares`` has the columns type, recall and genuine."""

    def paint(panels: list[Axes]) -> None:
        for kind, group in shares.groupby("type"):
            line = group.sort_values("recall")
            panels[0].plot(line["recall"], 100 * line["genuine"], marker="o", markersize=4, label=str(kind))
        panels[0].set(xlabel="annotation recall", title="Verdicts of the oracle")
        add_legend(panels[0], "genuine hard negatives (%)")

    return draw(1, paint)
