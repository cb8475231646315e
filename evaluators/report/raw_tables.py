"""Make the tables of retrieval among raw pairs, which have no hard negatives.

Source: CREPE (arXiv:2212.07796), appendix B.2, Tables 15 (systematicity) and 16 (productivity): Recall@1 from image to
text and from text to image among N rows, mean and standard deviation over folds. Difference from the paper: chance is
given per row, because N may differ between corpora.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evaluators.report.results import group_by_model
from evaluators.report.tables import Table, format_percent, make_table

DIRECTIONS = {"i2t": "Image to text", "t2i": "Text to image"}


def make_raw_table(name: str, rows: pd.DataFrame, column: str, titles: Mapping[Any, str]) -> Table:
    """Make a table with one row per direction and model. ``titles``: value of ``column`` -> heading."""
    body = []
    for direction, title in DIRECTIONS.items():
        metric = f"{direction}_recall@1"
        for names, by_value in group_by_model(rows, column):
            selected = [by_value.get(value, {}) for value in titles]
            sizes = [int(row["set_size"]) for row in selected if row]
            shares = [
                f"{format_percent(row[metric])} ± {format_percent(row[f'{metric}_std'])}" if row else "-"
                for row in selected
            ]
            body.append([title, *names, _join(f"{size:,}" for size in sizes), *shares])
            body[-1].append(_join(format_percent(1 / size) for size in sizes))
    return make_table(name, ["Direction", "Training data", "Model", "N", *titles.values(), "Chance"], body)


def _join(cells: Sequence[str] | Any) -> str:
    """Return a value that all cells have in common, or all cells separated by slashes."""
    values = list(cells)
    return values[0] if len(set(values)) == 1 else " / ".join(values)
