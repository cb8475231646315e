"""Tables of the report: cells as text, ready for HTML, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from loaders.cards import card

MISSING = "-"


TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
"""Titles and texts of sections, captions of tables."""


@dataclass(frozen=True)
class Table:
    """A caption, the cells as text, and the name of the table's files."""

    name: str
    caption: str
    cells: pd.DataFrame


def table(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    suffix: str = "",
    decimals: int = 2,
    **values: object,
) -> Table:
    """A table of text, counts (int, with thousands separators) and shares (float, in percent; None or NaN: "-").

    Its caption is that of ``name`` in texts.yaml with ``values``; ``suffix`` distinguishes tables of one name.
    """

    def text(cell: object) -> str:
        if isinstance(cell, int | np.integer):
            return f"{cell:,}"
        return cell if isinstance(cell, str) else percent(cell, decimals)

    cells = pd.DataFrame([list(map(text, row)) for row in rows], columns=pd.Index(header))
    return Table(name + suffix, TEXTS["tables"][name].format(**values), cells)


def percent(share: object, decimals: int = 2) -> str:
    """A share in percent; "-" for None and NaN."""
    return MISSING if pd.isna(share) else f"{100 * share:.{decimals}f}"  # pyright: ignore


def with_interval(share: float | None, interval: Sequence[float] | None, decimals: int = 2) -> str:
    """A share and its interval in percent, "50.00 [40.0, 60.0]"; "-" without a share."""
    if share is None or interval is None:
        return MISSING
    return f"{percent(share, decimals)} [{percent(interval[0], 1)}, {percent(interval[1], 1)}]"


def mean_and_deviation(shares: Sequence[float]) -> str:
    """The mean in percent, with the standard deviation of several shares; "-" for none."""
    if not shares:
        return MISSING
    deviation = f" ± {percent(np.std(shares, ddof=1))}" if len(shares) > 1 else ""
    return f"{percent(np.mean(shares))}{deviation}"


def to_latex(table: Table) -> str:
    return table.cells.to_latex(index=False, caption=table.caption, label=f"tab:{table.name}", escape=True)


def to_markdown(table: Table) -> str:
    """A GitHub table under its caption."""
    return f"{table.caption}\n\n{card.table(list(table.cells.columns), table.cells.to_numpy().tolist())}"
