"""The published scores: of papers' tables, of tables of many models, and those that benchmarks declare.

published_papers.csv      the papers' tables. ARO's authors scored rows by FLAVA's match and BLIP's match plus cosine
published_scores.csv      one score per column of vl_compo's table for five of its models, in percent with four decimals
published_columns.csv     what a column measures, on which rows, and why its scores must not be ranked with others
published_means.csv       the weights of a mean over columns. vl_compo's are those that reproduce its table of means
published_models.csv      the names of the models in each source and here; their parameters (millions), corpus and year
published_sources.csv     commit and date of each source, and how it counts ties

`compeval results pull scores` makes published_scores.parquet, with the scores of all models, in the cache folder
(``$COMPEVAL_CACHE`` or ~/.cache/compeval). `tools/published-scores write` makes it from clones of the sources, there or
here for a release (:func:`find_tables`); `check` compares the file that is in use with the sources, number by number.
Result files of MTEB that `compeval results pull` has read are in mteb_scores.parquet of the cache folder; a score there
replaces the one of the same model and column.

CREPE's authors did not release the raw pairs of Tables 15 and 16. The importer makes raw configs from the captions of
the released files, which are other rows (:func:`count_rows`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from compeval.base.files.atomic import atomic_file
from compeval.base.files.cache_folder import cache_folder
from compeval.loaders.datasets.folders import is_published
from compeval.loaders.papers.figures import figures

FOLDER = Path(__file__).parent
DECLARATIONS = "compeval.loaders.benchmarks"
"""Imported by name, which code digests do not follow, so that a new declaration makes no stage stale. The stages read
the scores that declarations state, but these are of published sets, and the stages evaluate generated ones."""
MEAN = "mean"
"""Metric of a score that is a mean over several tasks of a benchmark, with the weights of published_means.csv."""
NOT_STATED = "not stated"
SAME_TIES = "errors"
DECIMALS = 4
"""Decimals of the scores in files, which are in percent."""
GENERATED = ("aro", "compun", "crepe", "retrieval")
"""Datasets of which papers have scores, and which the pipeline builds: no benchmark is declared for them."""
ALL_MODELS = "published_scores.parquet"
RELEASED = FOLDER / ALL_MODELS
"""Scores of all models. The repository does not have the file; a release may contain it."""
FIVE_MODELS = FOLDER / "published_scores.csv"
HOW_TO_ADD = (
    "Of vl_compo's table, five models are known here: `compeval results pull scores` adds about 230 published models "
    "(17 MB)."
)
KEY = ("source", "name", "column")
SCHEMA = pa.schema(
    [(name, pa.string()) for name in KEY] + [("percent", pa.float64()), ("seconds", pa.float32())]
)
ROWS = {
    **{"retrieval/coco": 5000, "retrieval/flickr30k": 1000, "classification/imagenet": 50_000},
    **{"classification/cifar10": 10_000, "classification/cifar100": 10_000, "compun/main": 400},
    **{"aro_published/coco_order": 25_010, "aro_published/flickr30k_order": 5000},
}
"""Rows of the sets that no declaration counts: the Karpathy test splits and the usual validation sets."""


class PublishedScore(NamedTuple):
    """A published score in percent, and what it is over."""

    model: str
    """Effective name of the model in results."""
    task: str
    """Name of a task, a glob of several tasks, whose mean over rows is compared, or a dataset if the metric is MEAN."""
    metric: str
    percent: float
    tasks: int
    """Number of tasks that ``task`` matches. 0: any number, as of seeds."""
    source: str
    by: str = ""
    """Kind of category, for a score on a part of the rows."""
    category: str = ""
    rows: int | None = None
    """Number of rows; None if it is not known."""
    subset: str = ""
    """The rows, if they are not those of the released file."""
    ties: str = NOT_STATED
    """The rule by which a tie with a wrong candidate counts."""
    apart: str = ""
    """The reason why the score cannot be compared with others although it is equal to its source, "" if it can."""
    commit: str = ""
    date: str = ""
    seconds: float | None = None
    """Wall time of the evaluation."""

    @property
    def mean(self) -> str:
        """Return over what the mean is: "rows" (micro), or the categories of a macro mean."""
        if self.metric == MEAN:
            return "tasks"
        return self.metric.partition("_macro_")[2].replace("_", " ") or "rows"


class Model(NamedTuple):
    """A published model. ``parameters`` (millions), ``corpus`` and ``year`` are "" if they are not known."""

    name: str
    parameters: str
    corpus: str
    year: str


def read_csv(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of this folder. Numbers are parsed; empty ``rows`` and ``seconds`` are None."""
    with (FOLDER / f"published_{name}.csv").open(encoding="utf-8", newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    types = {"tasks": int, "percent": float, "weight": float}
    types |= {
        "rows": lambda text: int(text) if text else None,
        "seconds": lambda text: float(text) if text else None,
    }
    return [
        row | {name: kind(row[name]) for name, kind in types.items() if name in row} for row in rows
    ]


def has_published_scores(dataset: str) -> bool:
    """Return True if a dataset may have published scores. None are read."""
    return is_published(dataset) or dataset in GENERATED


@cache
def read_sources() -> dict[str, dict[str, str]]:
    """Return id of a source -> title, url, commit, date and ties."""
    return {row.pop("source"): row for row in read_csv("sources")}


@cache
def read_columns() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (source, column) -> what the column measures, as fields of PublishedScore."""
    return {(row.pop("source"), row.pop("column")): row for row in read_csv("columns")}


@cache
def read_means() -> dict[tuple[str, str], dict[str, float]]:
    """Return (task, metric) of a mean -> column of vl_compo -> weight."""
    means: dict[tuple[str, str], dict[str, float]] = {}
    for row in read_csv("means"):
        means.setdefault((row["task"], row["metric"]), {})[row["part"]] = row["weight"]
    return means


@cache
def read_models() -> dict[tuple[str, str], Model]:
    """Return (source, name of a model there) -> the model."""
    rows = read_csv("models")
    return {
        (row["source"], row["name"]): Model(
            row["model"], row["parameters"], row["corpus"], row["year"]
        )
        for row in rows
    }


@cache
def read_scores() -> tuple[PublishedScore, ...]:
    """Return all published scores."""
    return (*_read_tables(), *_read_papers(), *_read_declared())


def find_cached_tables() -> Path:
    """Return the path of the user's file, which `compeval results pull scores` writes."""
    return cache_folder() / ALL_MODELS


def find_tables() -> Path:
    """Return the path of the file with the tables of many models: that of a release, the user's, or the five models'.

    The repository has numbers of five models only, because the sources' files are not part of it. A release may contain
    all numbers. It comes first, so that all users of a release rank among the same models.
    """
    return next((path for path in (RELEASED, find_cached_tables()) if path.exists()), FIVE_MODELS)


def describe_missing() -> str:
    """Return a sentence that says how to get the scores of all models, "" if they are there."""
    return HOW_TO_ADD if find_tables() == FIVE_MODELS else ""


def find_pulled_scores() -> Path:
    """Return the path of the user's file, with the scores that `compeval results pull` read."""
    return cache_folder() / "mteb_scores.parquet"


def add_pulled_scores(rows: Sequence[Mapping[str, Any]]) -> Path:
    """Add rows of source, name, column, percent and seconds to the user's file, and return its path.

    Rows of the same source, name and column are replaced.
    """
    path = find_pulled_scores()
    earlier = _read_pulled(path) if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scores(path, _merge(earlier, rows))
    return path


def add_table_scores(rows: Sequence[Mapping[str, Any]]) -> Path:
    """Add rows of the tables of many models to the user's file, and return its path. An unreadable file is replaced."""
    path = find_cached_tables()
    try:
        earlier = _read_table_file(path) if path.exists() else []
    except ValueError:
        earlier = []
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scores(path, _merge(earlier, rows))
    return path


def write_scores(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of source, name, column, percent and seconds to a parquet file, ordered by these names."""
    rounded = [{**row, "percent": round(row["percent"], DECIMALS)} for row in rows]
    table = pa.Table.from_pylist(sorted(rounded, key=_get_key), SCHEMA)
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd", compression_level=19)


def read_tables(*, with_pulled: bool = True) -> list[dict[str, Any]]:
    """Return the rows of the tables of many models: source, name, column, percent and seconds (None: not known).

    They are ordered by source, as in published_sources.csv: if several sources have a score, the first one counts.

    Raises:
        ValueError: A file of the user's is not one that this version wrote.
    """
    pulled = find_pulled_scores()
    tables = find_tables()
    rows = read_csv("scores") if tables == FIVE_MODELS else _read_table_file(tables)
    if with_pulled and pulled.exists():
        rows = _merge(rows, _read_pulled(pulled))
    order = {source: number for number, source in enumerate(read_sources())}
    return sorted(rows, key=lambda row: order[row["source"]])


def _get_key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["source"], row["name"], row["column"]


def _merge(rows: Iterable[Mapping[str, Any]], others: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the rows of both; those of ``others`` replace rows of the same source, name and column."""
    return list({_get_key(row): row for row in (*rows, *others)}.values())


def _read_table_file(path: Path) -> list[dict[str, Any]]:
    return _read_scores(path, "compeval results pull scores", "Run this command again")


def _read_pulled(path: Path) -> list[dict[str, Any]]:
    return _read_scores(path, "compeval results pull", "Delete it and pull again")


def _read_scores(path: Path, writer: str, remedy: str) -> list[dict[str, Any]]:
    """Return the rows of a parquet file. Raises ValueError for another format, or for unknown models or columns."""
    try:
        rows = pq.read_table(path, columns=SCHEMA.names).to_pylist()
        is_valid = all(
            (row["source"], row["name"]) in read_models()
            and (row["source"], row["column"]) in read_columns()
            for row in rows
        )
    except (pa.ArrowException, OSError):
        is_valid = False
        rows = []
    if not is_valid:
        raise ValueError(f"{path}: not a file of this version's `{writer}`. {remedy}.")
    return rows


def _read_tables() -> Iterator[PublishedScore]:
    """Yield the scores of the tables of many models; after vl_compo's follow the means over its columns.

    A model that is twice in a source, with equal scores, counts once.
    """
    columns = {key: measured | _get_facts(key[0]) for key, measured in read_columns().items()}
    scores: dict[str, dict[tuple[str, str], PublishedScore]] = {}
    for row in read_tables():
        source = row["source"]
        column = row["column"]
        model = read_models()[source, row["name"]].name
        score = PublishedScore(
            model, percent=row["percent"], seconds=row["seconds"], **columns[source, column]
        )
        scores.setdefault(source, {}).setdefault((model, column), score)
    for source, by_column in scores.items():
        yield from by_column.values()
        if source == "vl_compo":
            percents: dict[str, dict[str, float]] = {}
            for (model, column), score in by_column.items():
                percents.setdefault(model, {})[column] = score.percent
            yield from _compute_means(percents, _get_facts(source))


def _compute_means(
    percents: Mapping[str, Mapping[str, float]], facts: Mapping[str, Any]
) -> Iterator[PublishedScore]:
    for (task, metric), weights in read_means().items():
        subset = next(
            (text for part in weights if (text := read_columns()["vl_compo", part]["subset"])), ""
        )
        tasks = 1
        rows = None if metric == MEAN else count_rows(task)
        if task.endswith("/*"):  # over the rows of all tasks, each of which is a part
            tasks = len(weights)
            rows = sum(read_columns()["vl_compo", part]["rows"] for part in weights)
        for model, columns in percents.items():
            if weights.keys() <= columns.keys():
                percent = round(sum(weight * columns[part] for part, weight in weights.items()), 4)
                yield PublishedScore(
                    model, task, metric, percent, tasks, rows=rows, subset=subset, **facts
                )


def _get_facts(source: str) -> dict[str, Any]:
    facts = read_sources()[source]
    return {"source": facts["title"], **{name: facts[name] for name in ("ties", "commit", "date")}}


def _read_papers() -> Iterator[PublishedScore]:
    """Yield the scores of the papers' tables. Without a number of rows, they are over the released file."""
    facts = {source["title"]: source for source in read_sources().values()}
    for row in read_csv("papers"):
        paper = facts[row["source"].partition(",")[0]]
        rows = row["rows"] if row["category"] else count_rows(row["task"])
        yield PublishedScore(**row | {"rows": rows, "ties": paper["ties"], "date": paper["date"]})


def _read_declared() -> Iterator[PublishedScore]:
    for benchmark in import_module(DECLARATIONS).load_all():
        for score in benchmark.scores:
            task = f"{benchmark.name}/{score.config}"
            yield PublishedScore(
                score.model,
                task,
                score.metric,
                score.percent,
                1,
                score.source,
                rows=count_rows(task),
            )


def _count_raw_pairs(name: str) -> int | None:
    """Return the number of raw pairs of CREPE's Table 5. The released files have others."""
    if match := re.fullmatch(r"prod_raw/n(\d+)", name):
        return figures("crepe")["productivity"][int(match[1])][0]
    counts = figures("crepe")["systematicity"].get(name.removesuffix("_raw"))
    return counts and counts[0]


@cache
def count_rows(task: str) -> int | None:
    """Return the number of rows of a task in the released files; None if it is not known."""
    dataset, _, rest = task.partition("/")
    if task.startswith("crepe_published/") and "_raw" in rest:
        return _count_raw_pairs(rest)
    rows = import_module(DECLARATIONS).load(dataset).rows if is_published(dataset) else {}
    return rows.get(rest) or rows.get(f"{rest}/test") or ROWS.get(task.partition("@")[0])
