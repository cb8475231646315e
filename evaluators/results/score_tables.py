"""The tables with published scores of many models: their files, and how their numbers are read.

    compeval results pull scores

score_files.yaml has the files, each with its size and SHA-256, so a changed file is an error. The result files of MTEB
are read by mteb.py.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from compeval.base.files.cache_folder import cache_folder
from compeval.base.progress import ProgressCallback, no_progress
from compeval.base.sources import DataSource, RemoteFile
from compeval.base.sources.download import REMEDY
from compeval.base.sources.obtain import fetch
from compeval.evaluators.results.scores import add_table_scores, read_columns, read_sources

ReadText = Callable[[str], str]
"""Returns the text of a file of a source, given its path there."""
FILES = Path(__file__).with_name("score_files.yaml")
RAW = "https://raw.githubusercontent.com"
CLONES = "In a checkout, `tools/published-scores write` reads clones of the sources instead."
HUMAN = "Human"
RUNS = "runs/sentence-semantics"
FAMILY_COLUMNS = ("arch", "pretrained", "family")
"""Columns of vl_compo's table that identify a model."""
MODEL_COLUMNS = ("CLIP", "Pretrained_Finetined", "Arch")
"""Columns of FSC-CLIP's table that identify a model, in its spelling."""


class Number(NamedTuple):
    """A score of a source, as it states it."""

    name: str
    """Name of the model in the source."""
    column: str
    percent: float


class PulledTables(NamedTuple):
    """Numbers of scores and models that were added to the user's published scores."""

    scores: int
    models: int


def read_numbers(source: str, read: ReadText) -> Iterator[Number]:
    """Yield all numbers of a source, those of columns that are not used here included."""
    for file in list_tables()[source].files:
        yield from READERS[source](file.name, csv.DictReader(read(file.name).splitlines()))


def _read_vl_compo(path: str, rows: Iterator[dict[str, str]]) -> Iterator[Number]:
    for row in rows:
        name = "/".join(row[key] for key in FAMILY_COLUMNS)
        for column, value in row.items():
            if "::" in column and value:
                yield Number(name, column, float(value))


def _read_fsc_clip(path: str, rows: Iterator[dict[str, str]]) -> Iterator[Number]:
    for row in rows:
        name = "/".join(row[key] for key in MODEL_COLUMNS)
        for column, value in row.items():
            if column not in MODEL_COLUMNS:
                yield Number(name, column, float(value))


def _read_negbench(path: str, rows: Iterator[dict[str, str]]) -> Iterator[Number]:
    """Yield the accuracies of the multiple choice. A model that is in several tables has the same ones in all."""
    for row in rows:
        name = row.pop("Model")
        for column, value in row.items():
            yield Number(name, column, 100 * float(value))


def _read_predicate_noun(path: str, rows: Iterator[dict[str, str]]) -> Iterator[Number]:
    """Yield the share of the pairs of rows that are both right, in all and by the part that differs.

    Source: ``transform_to_per_pair_results`` of the authors. People answered single rows.
    """
    name = path.removeprefix(f"{RUNS}/").partition("/")[0]
    answers = [(row["pos"], row["result"] == "True") for row in rows]
    if name == HUMAN:
        yield Number(name, "single rows", _compute_percent([right for _, right in answers]))
        return
    pairs = [
        (part, first and second)
        for (part, first), (_, second) in zip(answers[::2], answers[1::2], strict=True)
    ]
    yield Number(name, "pairs", _compute_percent([right for _, right in pairs]))
    for kind in ("subject", "object"):
        percent = _compute_percent([right for part, right in pairs if part == kind])
        yield Number(name, f"pairs:{kind}", percent)


def _compute_percent(answers: list[bool]) -> float:
    return 100 * sum(answers) / len(answers)


READERS: Mapping[str, Callable[[str, Iterator[dict[str, str]]], Iterator[Number]]] = {
    "vl_compo": _read_vl_compo,
    "fsc_clip": _read_fsc_clip,
    "negbench": _read_negbench,
    "predicate_noun": _read_predicate_noun,
}


@cache
def list_tables() -> dict[str, DataSource]:
    """Return source -> its files at the pinned commit."""
    tables: dict[str, DataSource] = {}
    for name, entries in yaml.safe_load(FILES.read_text(encoding="utf-8")).items():
        source = read_sources()[name]
        repository = source["url"].removeprefix("https://github.com/")
        root = f"{RAW}/{repository}/{source['commit']}"
        files = tuple(RemoteFile(**entry) for entry in entries)
        tables[name] = DataSource(name, title=source["title"], files=files, root=root)
    return tables


def pull(report: ProgressCallback = no_progress) -> PulledTables:
    """Download the tables of all sources, and add their scores to the user's published scores.

    An interrupted download resumes; files are deleted after they were read. ``report`` is called with the name of a
    file, and its finished and total bytes.

    Raises:
        ValueError: A file cannot be downloaded, or is not the pinned one.
    """
    folder = cache_folder() / "score_tables"
    rows: list[dict[str, Any]] = []
    for name, source in list_tables().items():
        try:
            fetch(source, folder / name, report=report)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(str(error).replace(REMEDY, CLONES)) from None
        rows.extend(_list_scores(name, folder / name))
    add_table_scores(rows)
    shutil.rmtree(folder)
    return PulledTables(len(rows), len({(row["source"], row["name"]) for row in rows}))


def _list_scores(source: str, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a downloaded source, of the columns that are used here.

    A model that is in several files has the same numbers in all.
    """
    numbers = read_numbers(source, lambda path: (folder / path).read_text(encoding="utf-8"))
    scores = {
        (number.name, number.column): number.percent
        for number in numbers
        if (source, number.column) in read_columns()
    }
    return [
        {"source": source, "name": name, "column": column, "percent": percent, "seconds": None}
        for (name, column), percent in scores.items()
    ]
