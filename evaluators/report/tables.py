"""Tables of reports, leaderboards and inspections: their declarations, and one renderer for all formats.

tables.yaml declares what a table shows. A cell is text that contains all that belongs to a value: its interval or
deviation, and a mark if it is below chance.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from pandas.io.formats.style import Styler

from compeval.base.files.csv_tables import quote_formula
from compeval.loaders.cards import card

FOLDER = Path(__file__).parent
TEXTS = yaml.safe_load((FOLDER / "texts.yaml").read_text(encoding="utf-8"))
"""Titles and texts of sections, sentences of findings, labels."""
TABLES = yaml.safe_load((FOLDER / "tables.yaml").read_text(encoding="utf-8"))
"""The rows, columns and metrics of each table."""
MISSING = "-"
RANDOM = "Random"
"""First cell of the row with the chance levels."""
BELOW_CHANCE = "↓"
ABOVE_CHANCE = "↑"
SMALL = 0.1
"""Percentages below this are printed with two significant digits, such as chance among many images."""
LATEX = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#_%"}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        BELOW_CHANCE: r"$\downarrow$",
        ABOVE_CHANCE: r"$\uparrow$",
        "→": r"$\rightarrow$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "×": r"$\times$",
        "±": r"$\pm$",
        "−": "$-$",
        "†": r"\dag{}",
        "‡": r"\ddag{}",
    }
)
"""Character -> LaTeX in text mode. In the default encoding of fonts, < > | print as other characters; the arrows and
signs have no definition with pdfLaTeX."""
SPREAD = re.compile(
    rf"(-?[\d.,]+)([{BELOW_CHANCE}{ABOVE_CHANCE}]| #\d+|) (\[.+\](?: \(.+\))?|± .+|\(.+\))"
)
"""A value, its mark, and its interval, deviation or a remark."""
EMPHASIS = {ABOVE_CHANCE: " above", " #1": " best"}
"""Mark -> class of the value in HTML."""


@dataclass(frozen=True)
class Table:
    """A table. ``name`` is the name of its files."""

    name: str
    caption: str
    cells: pd.DataFrame


def make_table(
    name: str,
    records: Iterable[Mapping[str, object]],
    suffix: str = "",
    note: str = "",
    **texts: object,
) -> Table:
    """Make a table with one row per record, whose cells are declared in tables.yaml.

    Columns without any value are left out. The caption is that of tables.yaml, formatted with ``texts``, and ``note``.
    ``suffix`` is appended to the name of the files.
    """
    declared = TABLES[name]
    if "columns" in declared:
        rows = format_rows(name, records)
    else:
        rows = [
            {heading: format_cell(value) for heading, value in record.items()} for record in records
        ]
    cells = pd.DataFrame(rows, dtype=object).fillna(MISSING)
    measured = cells[cells.iloc[:, 0] != RANDOM] if len(cells) else cells
    cells = cells.loc[:, ~measured.isin([MISSING, ""]).all()]
    caption = f"{declared['caption'].format(**texts)} {note}".strip()
    if any(BELOW_CHANCE in cell for cell in cells.to_numpy().flat):
        caption = f"{caption} {TEXTS['below_chance']}"
    return Table(name + suffix, caption, cells)


def format_rows(name: str, records: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the rows of a table of records as heading -> cell (tables.yaml)."""
    columns = TABLES[name]["columns"].items()
    return [
        {
            heading.format_map(record): _format_field(record, template)
            for heading, template in columns
        }
        for record in records
    ]


def make_pivot(
    name: str, values: pd.DataFrame, suffix: str = "", note: str = "", **texts: object
) -> Table:
    """Make a table of values (results.py), whose rows, columns and cells are declared in tables.yaml."""
    return make_table(name, pivot(values, **TABLES[name]["pivot"]), suffix, note, **texts)


def pivot(
    values: pd.DataFrame,
    rows: Mapping[str, str],
    column: str,
    titles: Mapping[Any, str] | str,
    spread: Literal["interval", "deviation"] = "interval",
    random_row: bool = False,
    joined: Mapping[str, str] | None = None,
    metric: str | None = None,
) -> list[dict[str, str]]:
    """Return the rows of a table as heading -> cell (tables.yaml). Several values of a cell are seeds."""
    if isinstance(titles, str):
        titles = {value: titles.format(value) for value in sorted(values[column].dropna().unique())}
    values = values[values[column].isin(list(titles))]
    values = values if metric is None else values[values["metric"] == metric]
    body = []
    for key, group in values.groupby(list(rows.values()), sort=False):
        by_value = dict(iter(group.groupby(column)))
        row = {heading: format_cell(value) for heading, value in zip(rows, key, strict=True)}
        for value, title in titles.items():
            row[title] = format_values(by_value[value], spread) if value in by_value else MISSING
        for heading, name in (joined or {}).items():
            distinct = [
                format_cell(by_value[value][name].iloc[0]) for value in titles if value in by_value
            ]
            row[heading] = distinct[0] if len(set(distinct)) == 1 else " / ".join(distinct)
        body.append(row)
    if random_row:
        chance = values.groupby(column)["chance"].first()
        first = dict.fromkeys(rows, "") | {next(iter(rows)): RANDOM}
        body.insert(
            0, first | {title: format_percent(chance.get(value)) for value, title in titles.items()}
        )
    return body


class _CellFormatter(string.Formatter):
    """Format the fields of a record. A field that it lacks is a missing value."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        return format_cell(value, format_spec)


def _format_field(record: Mapping[str, object], template: str) -> str:
    if "{" not in template:
        return format_cell(record.get(template))
    cell = _CellFormatter().vformat(template, (), record)
    return cell if any(map(str.isalnum, cell)) else MISSING  # all fields are missing


def format_cell(value: Any, spec: str = "") -> str:
    """Format a value of a table: with ``spec`` (tables.yaml) or, without, a text, a count or a share."""
    if spec == "interval":
        return (
            f"[{MISSING}]"
            if value is None
            else f"[{format_percent(value[0])}, {format_percent(value[1])}]"
        )
    if spec.endswith("bounds") and value is not None:
        return " to ".join(f"{100 * bound:{spec.removesuffix('bounds')}.1f}" for bound in value)
    if pd.isna(value):
        return MISSING
    if spec == "percent":
        return f"{100 * value:.1f}"
    if spec == "points":
        return f"{100 * value:+z.1f}"
    if spec:
        return format_p(value) if spec == "p" else format(value, spec)
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return value if isinstance(value, str) else format_percent(value)


def format_values(
    values: pd.DataFrame, spread: Literal["interval", "deviation"] = "interval"
) -> str:
    """Format the mean of the values of a cell in percent, with their ``spread`` (tables.yaml)."""
    share = values["value"].mean()
    first = values.iloc[0]
    if spread == "deviation":
        deviation = values["value"].std() if len(values) > 1 else first["std"]
        return format_percent(share) + (
            "" if pd.isna(deviation) else f" ± {format_percent(deviation)}"
        )
    if len(values) > 1:
        return format_with_interval(share, (values["value"].min(), values["value"].max()))
    return format_with_interval(share, (first["low"], first["high"]), first["chance"])


def format_percent(share: object) -> str:
    """Format a share in percent with one decimal, or two digits if it is small. Returns "-" for None and NaN."""
    if pd.isna(share):  # pyright: ignore
        return MISSING
    percent = 100 * float(share)  # pyright: ignore
    return f"{percent:.2g}" if 0 < abs(percent) < SMALL else f"{percent:.1f}"


def format_p(p: float | None) -> str:
    """Format a p-value with two digits, "< 0.001", or "-" for None."""
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}"


def format_with_interval(
    share: float | None,
    interval: Sequence[float] | None,
    chance: float | None = None,
    mark: str = "",
) -> str:
    """Format a share and its interval in percent: "50.0 [40.0, 60.0]", or "50.0 [-]" if there is no interval.

    A share whose interval is below ``chance`` is marked: "50.0↓ [40.0, 60.0]". ``mark``: a mark of other shares.
    Returns "-" if there is no share.
    """
    if share is None or pd.isna(share):
        return MISSING
    interval = None if interval is None or pd.isna(interval[0]) else interval
    mark = BELOW_CHANCE if interval and chance is not None and interval[1] < chance else mark
    return f"{format_percent(share)}{mark} {format_cell(interval, 'interval')}"


def to_html(table: Table) -> str:
    """Return the table in HTML with row headings in the first column. Cells are text, so their markup is escaped."""

    def format_cell(cell: Any) -> str:
        if not (match := SPREAD.fullmatch(cell)):
            return cell
        value, mark, spread = match.groups()
        return f'<span class="value{EMPHASIS.get(mark, "")}">{value}{mark}</span> <span class="spread">{spread}</span>'

    is_text = [
        not any(re.match(r"[-+<]? ?\d", cell) for cell in table.cells[name]) for name in table.cells
    ]
    style = Styler.from_custom_template(str(FOLDER), html_table="table.html.j2")(table.cells).hide(
        axis="index"
    )
    style = style.format(format_cell, escape="html")
    style = style.format_index(_format_heading, escape="html", axis="columns")
    return style.to_html(is_text=is_text)


def _format_heading(heading: object) -> str:
    """Return a heading in HTML, with the facts of a benchmark, "(59 rows, chance 50.0)", in small type."""
    name, bracket, facts = str(heading).partition(" (")
    if not bracket or "chance " not in facts:
        return str(heading)
    return f'{name} <span class="facts">({facts}</span>'


def to_latex(table: Table) -> str:
    """Return the table in LaTeX with special characters escaped, in the caption too."""
    return format_latex(table.cells, caption=escape_latex(table.caption), label=f"tab:{table.name}")


def format_latex(cells: pd.DataFrame, **options: Any) -> str:
    """Return the cells, which are texts, as a table in LaTeX. ``options``: those of ``DataFrame.to_latex``."""
    escaped = cells.map(escape_latex)
    escaped.columns = [escape_latex(str(name)) for name in cells.columns]
    return escaped.to_latex(index=False, escape=False, **options)


def escape_latex(text: str) -> str:
    """Return a text in one line that LaTeX prints as it is, in a cell or a caption.

    A bracket at the start would be an option of the line break before it.
    """
    escaped = " ".join(text.split()).translate(LATEX)
    return f"{{}}{escaped}" if escaped.startswith("[") else escaped


def to_markdown(table: Table) -> str:
    """Return the caption and the table in GitHub's Markdown. Cells are text, so their markup is escaped."""
    rows = [[escape_markdown(cell) for cell in row] for row in table.cells.to_numpy().tolist()]
    return f"{table.caption}\n\n{card.table(list(map(str, table.cells)), rows)}"


def escape_markdown(text: str) -> str:
    """Return a text on one line in which no character starts markup, a link or HTML."""
    return re.sub(r"([\\`*<>|]|(?<=\])\()", r"\\\1", " ".join(text.split()))


def to_csv(table: Table) -> str:
    """Return the table as CSV without cells that a spreadsheet would execute."""
    return table.cells.map(quote_formula).to_csv(index=False)
