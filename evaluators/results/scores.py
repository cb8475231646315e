"""The published scores: of papers' tables, of vl_compo's table of models, and those that benchmarks declare.

scores.csv contains the papers' tables, and scores of ten models from vl_compo's table. Its columns are those of
:class:`PublishedScore`. CREPE's authors did not release the raw pairs of Tables 15 and 16. If you have a copy, name
the dataset ``crepe_published`` and its configs ``<corpus>_{sc,uc,ua}_raw`` and ``prod_raw``.

vl_compo's whole table has 202 models (Oh et al. 2024, arXiv:2406.09388). It is read if it is here:
`compeval sources get vl_compo` downloads it to ``sources/`` in the current folder.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from loaders.datasets.folders import search_path

SCORES = Path(__file__).with_name("scores.csv")
DECLARATIONS = "loaders.benchmarks"
"""Imported by name: the stages of the pipeline report on generated datasets only and do not depend on it."""
COLUMNS = Path(__file__).with_name("vl_compo_columns.csv")
TABLE = Path("sources", "vl_compo", "individual_results.csv")
TABLE_SOURCE = "vl_compo's table of published models"
PATTERN_BY = "visual pattern"
"""Category of MMVP-VLM."""


class PublishedScore(NamedTuple):
    model: str
    """Effective name of the model in results."""
    task: str
    """Name of a task, or a glob of several tasks, whose mean over rows is compared."""
    metric: str
    percent: float
    tasks: int
    """Number of tasks that ``task`` matches."""
    source: str
    by: str = ""
    """Kind of category, for a score on a part of the rows."""
    category: str = ""


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; ``tasks`` and ``percent`` are numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    types = {"tasks": int, "percent": float}
    return [row | {name: kind(row[name]) for name, kind in types.items() if name in row} for row in rows]


@cache
def read_scores() -> tuple[PublishedScore, ...]:
    """Return all published scores."""
    scores = [PublishedScore(**row) for row in _read_rows(SCORES)]
    table = next((path for folder in search_path() if (path := folder / TABLE).is_file()), None)
    if table is not None:
        scores = [score for score in scores if score.source != TABLE_SOURCE] + read_table(table)
    return (*scores, *_read_declared())


def _read_declared() -> Iterator[PublishedScore]:
    for benchmark in import_module(DECLARATIONS).load_all():
        for score in benchmark.scores:
            task = f"{benchmark.name}/{score.config}"
            yield PublishedScore(score.model, task, score.metric, score.percent, 1, score.source)


@cache
def read_columns() -> dict[str, dict[str, Any]]:
    """Return name of a column of vl_compo's table -> what it measures, as fields of PublishedScore."""
    return {row.pop("column"): row for row in _read_rows(COLUMNS)}


def read_table(path: Path) -> list[PublishedScore]:
    """Return the scores of vl_compo's table (``individual_results.csv``). Raises ValueError for another file."""
    rows = _read_rows(path)
    names = set(rows[0]) if rows else set()
    if not names >= {"arch", "pretrained", "family"} or names.isdisjoint(read_columns()):
        raise ValueError(f"{path}: not vl_compo's individual_results.csv. Download it again.")
    return list(dict.fromkeys(score for row in rows for score in _read_table_row(row)))


def _read_table_row(row: Mapping[str, str]) -> Iterator[PublishedScore]:
    model = name_model(row["arch"], row["pretrained"], row["family"])
    patterns: dict[str, list[float]] = {}
    for name, measured in read_columns().items():
        percent = float(row.get(name) or "nan")
        if not math.isnan(percent):
            yield PublishedScore(model, percent=round(percent, 2), source=TABLE_SOURCE, **measured)
            if measured["by"] == PATTERN_BY:
                patterns.setdefault(measured["metric"], []).append(percent)
    for metric, percents in patterns.items():  # nine patterns of 15 pairs each
        percent = round(sum(percents) / len(percents), 2)
        yield PublishedScore(model, "mmvp_vlm/main", metric, percent, 1, TABLE_SOURCE)


def name_model(architecture: str, weights: str, family: str) -> str:
    """Return the name of a model of the table: open_clip's name, or one that begins with the family.

    open_clip always ran OpenAI's weights with QuickGELU, other weights with the activation of the architecture.
    """
    if architecture == "NegCLIP":
        return architecture
    if weights == "openai":
        return f"{architecture.removesuffix('-quickgelu')}-quickgelu/{weights}"
    return f"{architecture}/{weights}" if family == "OpenCLIP" else f"{family}/{architecture}/{weights}"
