"""Tables of the report. Cells are formatted as text, for HTML, Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from generators.files.csv_tables import quote_formula
from loaders.cards import card

MISSING = "-"
RANDOM = "Random"
"""First cell of the row with the chance levels."""
BELOW_CHANCE = "↓"
BELOW_CHANCE_NOTE = (
    "↓ The 95 % interval is below chance: the model prefers wrong captions systematically, for example captions in a "
    "more common word order, or its scores are tied, and a tie counts as an error."
)
SMALL = 0.1
"""Percentages below this are printed with two significant digits, such as chance among many images."""
LATEX = {character: f"\\{character}" for character in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
"""Titles and texts of sections, captions and labels of tables."""


@dataclass(frozen=True)
class Table:
    """A table. ``name`` is the name of its files."""

    name: str
    caption: str
    cells: pd.DataFrame


def make_table(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    suffix: str = "",
    note: str = "",
    **values: object,
) -> Table:
    """Make a table from cells that are text, counts (int) or shares (float, None or NaN).

    Counts get thousands separators, shares are printed in percent, and None and NaN are printed as "-". Columns without
    any value are left out. The caption is the text of ``name`` in texts.yaml, formatted with ``values``, and ``note``.
    ``suffix`` is appended to the name of the files.
    """

    def format_cell(cell: object) -> str:
        if isinstance(cell, int | np.integer):
            return f"{cell:,}"
        return cell if isinstance(cell, str) else format_percent(cell)

    cells = pd.DataFrame([list(map(format_cell, row)) for row in rows], columns=pd.Index(header))
    measured = cells[cells.iloc[:, 0] != RANDOM] if len(cells.columns) else cells
    has_value = ~measured.isin([MISSING, ""]).all() | measured.empty
    cells = cells.loc[:, has_value]
    caption = f"{TEXTS['tables'][name].format(**values)} {note}".strip()
    if cells.astype(str).apply(lambda column: column.str.contains(BELOW_CHANCE)).any(axis=None):
        caption = f"{caption} {BELOW_CHANCE_NOTE}"
    return Table(name + suffix, caption, cells)


def format_percent(share: object) -> str:
    """Format a share in percent with one decimal, or two digits if it is small. Returns "-" for None and NaN."""
    if pd.isna(share):  # pyright: ignore
        return MISSING
    percent = 100 * float(share)  # pyright: ignore
    return f"{percent:.2g}" if 0 < abs(percent) < SMALL else f"{percent:.1f}"


def format_p(p: float | None) -> str:
    """Format a p-value with two digits, "< 0.001", or "-" for None."""
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}"


def format_with_interval(share: float | None, interval: Sequence[float] | None, chance: float | None = None) -> str:
    """Format a share and its interval in percent: "50.0 [40.0, 60.0]", or "50.0 [-]" if there is no interval.

    A share whose interval is below ``chance`` is marked: "50.0↓ [40.0, 60.0]". Returns "-" if there is no share.
    """
    if share is None or pd.isna(share):
        return MISSING
    if interval is None or pd.isna(interval[0]):
        return f"{format_percent(share)} [{MISSING}]"
    mark = BELOW_CHANCE if chance is not None and interval[1] < chance else ""
    return f"{format_percent(share)}{mark} [{format_percent(interval[0])}, {format_percent(interval[1])}]"


def split_spread(cell: str) -> tuple[str, str]:
    """Return the value and the interval or deviation ("" for none) of a cell."""
    match = re.fullmatch(rf"(-?[\d.,]+{BELOW_CHANCE}?) (\[.+\]|± .+)", cell)
    return (match[1], match[2]) if match else (cell, "")


def format_mean_and_deviation(shares: Sequence[float]) -> str:
    """Format the mean of shares in percent, with the standard deviation if there are several. Returns "-" for []."""
    if not shares:
        return MISSING
    deviation = f" ± {format_percent(np.std(shares, ddof=1))}" if len(shares) > 1 else ""
    return f"{format_percent(np.mean(shares))}{deviation}"


def to_latex(table: Table) -> str:
    """Return the table as LaTeX with special characters escaped, in the caption too."""
    caption = re.sub(r"[\\{}$&#^_~%]", lambda match: LATEX[match[0]], table.caption)
    latex = table.cells.to_latex(index=False, caption=caption, label=f"tab:{table.name}", escape=True)
    return latex.replace(BELOW_CHANCE, r"$\downarrow$")


def to_markdown(table: Table) -> str:
    """Return the caption and the table in GitHub's Markdown. Cells are text, so their markup is escaped."""
    rows = [[escape_markdown(str(cell)) for cell in row] for row in table.cells.to_numpy().tolist()]
    return f"{table.caption}\n\n{card.table(list(table.cells.columns), rows)}"


def escape_markdown(text: str) -> str:
    """Return a text on one line in which no character starts markup, a link or HTML."""
    return re.sub(r"([\\`*<>|]|(?<=\])\()", r"\\\1", " ".join(text.split()))


def to_csv(table: Table) -> str:
    """Return the table as CSV without cells that a spreadsheet would execute."""
    return table.cells.map(quote_formula).to_csv(index=False)
