"""The oracle's verdicts (evaluators/validity/genuine_share.py)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report.figures import draw, legend
from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.tables import MISSING, table


def section(results: Results) -> Section | None:
    """None if the report was built without validity.json."""
    if not results.validity:
        return None
    positives, words = results.validity["positives"], results.validity["foil_words"]
    shares = pd.DataFrame(results.validity["genuine"])
    cells = shares.pivot(index="type", columns="recall", values="genuine").sort_index(axis=1, ascending=False)
    genuine = table(
        "validity",
        ["Type", *(f"recall {float(recall):.1f}" for recall in cells.columns)],
        [[kind, *row] for kind, row in zip(cells.index, cells.to_numpy().tolist(), strict=True)],
    )
    values = {
        "captions": positives["captions"],
        "true_share": _share(positives["true_share"], 2),
        "foil_words": _share(words["drawable_and_seen"], 1),
    }
    caption = "Genuine hard negatives against the share of annotated facts."
    return Section("validity", [genuine], {caption: figure(shares)}, values=values)


def _share(share: float | None, decimals: int) -> str:
    return MISSING if share is None else f"{share:.{decimals}%}"


def figure(shares: pd.DataFrame) -> str:
    """Genuine share against annotation recall; columns type, recall, genuine."""

    def paint(panels: list[Axes]) -> None:
        for kind, group in shares.groupby("type"):
            line = group.sort_values("recall")
            panels[0].plot(line["recall"], 100 * line["genuine"], marker="o", markersize=4, label=str(kind))
        panels[0].set(xlabel="annotation recall", title="Verdicts of the oracle")
        legend(panels[0], "genuine hard negatives (%)")

    return draw(1, paint)
