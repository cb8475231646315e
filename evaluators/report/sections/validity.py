"""Show the share of genuine hard negatives (evaluators/validity/genuine_share.py)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from compeval.evaluators.report.figures import add_legend, draw
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.tables import MISSING, TEXTS, make_table

CAPTION = "Genuine hard negatives by annotation recall (share of facts that are annotated)."


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if the report is built without validity.json."""
    if not results.validity:
        return None
    positives = results.validity["positives"]
    foil_words = results.validity["foil_words"]
    listed = [item for item in results.validity.get("listed_atoms", []) if item["rows"]]
    weights = [item["rows"] for item in listed]
    listed_share = (
        float(np.average([item["share"] for item in listed], weights=weights)) if listed else None
    )
    text_values = {
        "captions": positives["captions"],
        "true_share": _format_share(positives["true_share"], 2),
        "listed_atoms": _format_share(listed_share, 2),
        "foil_words": _format_share(foil_words["drawable_and_seen"], 1),
    }
    shares = pd.DataFrame(results.validity["genuine"])
    cells = shares.pivot(index="type", columns="recall", values="genuine").sort_index(
        axis=1, ascending=False
    )
    rows = [
        {
            "Type": kind,
            **{f"recall {recall:.1f}": share for recall, share in zip(cells, row, strict=True)},
        }
        | {"annotators (CREPE)": TEXTS["labels"]["rated_genuine"].get(kind)}
        for kind, row in zip(cells.index, cells.to_numpy().tolist(), strict=True)
    ]
    return Section(
        "validity",
        [make_table("validity", rows)],
        {CAPTION: draw_figure(shares)},
        text_values=text_values,
    )


def _format_share(share: float | None, decimals: int) -> str:
    return MISSING if share is None else f"{share:.{decimals}%}"


def draw_figure(shares: pd.DataFrame) -> str:
    """Draw the genuine share by annotation recall. ``shares`` has the columns type, recall and genuine."""

    def paint(panels: list[Axes]) -> None:
        for kind, group in shares.groupby("type"):
            line = group.sort_values("recall")
            panels[0].plot(
                line["recall"], 100 * line["genuine"], marker="o", markersize=4, label=str(kind)
            )
        panels[0].set(xlabel="annotation recall", title="Verdicts of the oracle")
        add_legend(panels[0], "genuine hard negatives (%)")

    return draw(1, paint)
