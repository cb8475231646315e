"""The table of the published models alone, without results of one's own (``compeval leaderboard --published``).

A column has the scores of all models for one number: the mean over a benchmark that its sources publish, or a metric
of a task over all its rows (of retrieval, the mean of both directions). The scores of a column are on the same rows and
of the same mean, so each has a place: 1 + the number of models with a higher score. A score on other rows than the
others, or one that is marked as not comparable (published_columns.csv), is shown without a place. No source publishes
intervals, and ties count as in each source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from compeval.evaluators.leaderboard.published import describe_published
from compeval.evaluators.leaderboard.scores import COUNTED, RECOGNITION
from compeval.evaluators.report.tables import MISSING, Table, format_percent, make_table
from compeval.evaluators.results.ranks import DECIMALS, compute_rank, group_by_metric
from compeval.evaluators.results.scores import MEAN, PublishedScore, read_columns, read_means

FEWEST_MODELS = 10
"""Models of a column of the table of all benchmarks; if no mean over a benchmark has as many, that of the most."""
NO_PLACE = "†"
BOTH_DIRECTIONS = tuple(COUNTED["recall"])
MAIN = [
    metric for protocol, metrics in COUNTED.items() for metric in metrics if protocol != "recall"
]
"""Metrics that are the score of a task, the first ones before the others."""
DETAILS = ("text_score", "image_score")
RECOGNITION_SETS = RECOGNITION[0], "retrieval"
"""Datasets of the protocols of recognition."""


@dataclass(frozen=True)
class Column:
    """The published scores of one number, in percent."""

    name: str
    benchmark: str
    kind: str
    """``mean``: the mean over a benchmark; ``rows``: its mean over the rows of all tasks; ``task``: the main metric of
    a task; ``detail``: another metric."""
    scores: Mapping[str, float]
    """Model -> score, of those that can be compared with each other."""
    others: Mapping[str, float]
    """Model -> score, of those that cannot."""
    reasons: tuple[str, ...]
    """The reasons why the models of ``others`` cannot be compared, and the rows of all scores if they are not the
    released ones."""
    sources: tuple[str, ...]

    @property
    def is_recognition(self) -> bool:
        return self.benchmark in RECOGNITION_SETS


def make_columns(benchmarks: Collection[str] = ()) -> list[Column]:
    """Return a column for each benchmark, or all columns of the given ones; composition before recognition.

    A benchmark without a published mean has a column for each task. Raises ValueError for a benchmark without
    published scores.
    """
    columns = list(_make_columns())
    with_scores = {column.benchmark: None for column in columns}
    for name in benchmarks:
        if name not in with_scores:
            raise ValueError(
                f"{name}: no published scores. They are known for {', '.join(with_scores)}."
            )
    means = [column for column in columns if column.kind == "mean"]
    fewest = min(FEWEST_MODELS, max(len(column.scores) for column in means))
    with_mean = {column.benchmark for column in means}
    shown = [
        column
        for column in columns
        if (
            column.benchmark in benchmarks
            if benchmarks
            else _is_overview(column, with_mean, fewest)
        )
    ]
    kinds = ["mean", "rows", "task", "detail"]
    return sorted(
        shown,
        key=lambda column: (column.is_recognition, column.benchmark, kinds.index(column.kind)),
    )


def _is_overview(column: Column, with_mean: Collection[str], fewest: int) -> bool:
    """Return True if a column is part of the table of all benchmarks."""
    kinds = ("mean", "rows") if column.benchmark in with_mean else ("task", "rows")
    return column.kind in kinds and "@" not in column.name and len(column.scores) >= fewest


def _make_columns() -> Iterator[Column]:
    by_task: dict[str, dict[str, Sequence[PublishedScore]]] = {}
    for (task, metric), scores in group_by_metric().items():
        by_task.setdefault(task, {})[metric] = scores
    for task, groups in by_task.items():
        benchmark = task.partition("/")[0]
        if MEAN in groups:
            part = next(iter(read_means()[task, MEAN]))
            benchmark = read_columns()["vl_compo", part]["task"].partition("/")[0]
            parts = {benchmark: ("mean", [groups[MEAN]])}
        elif groups.keys() >= {*BOTH_DIRECTIONS}:
            parts = {task: ("task", [groups[metric] for metric in BOTH_DIRECTIONS])}
        else:
            parts = {
                name: (kind, [groups[metric]]) for name, kind, metric in _name_metrics(task, groups)
            }
        for name, (kind, members) in parts.items():
            if (column := _make_column(name, benchmark, kind, members)).scores:
                yield column


def _name_metrics(task: str, groups: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, kind and metric of the columns of a task."""
    shown = [metric for metric in MAIN if metric in groups]
    shown += [
        metric
        for metric in groups
        if metric.partition("_macro_")[0] in MAIN and metric not in shown
    ]
    shown += [metric for metric in DETAILS if metric in groups]
    if task.endswith("/*"):
        yield f"{task.removesuffix('/*')}, mean over rows", "rows", shown[0]
        return
    for number, metric in enumerate(dict.fromkeys(shown)):
        is_main = number == 0 and metric in MAIN
        name = task if is_main else f"{task} {metric.replace('_', ' ')}"
        yield name, "task" if number == 0 else "detail", metric


def _make_column(
    name: str, benchmark: str, kind: str, groups: Sequence[Sequence[PublishedScore]]
) -> Column:
    """Make a column of the mean of several metrics. Of several sources, the first one counts for a model."""
    parts = [_choose(scores) for scores in groups]
    models = [model for model in parts[0] if all(model in part for part in parts)]
    first = next((score for score in parts[0].values() if not score.apart), None)
    scores: dict[str, float] = {}
    others: dict[str, float] = {}
    reasons: dict[str, None] = {first.subset: None} if first and first.subset else {}
    for model in models:
        chosen = [part[model] for part in parts]
        percent = round(sum(score.percent for score in chosen) / len(chosen), DECIMALS)
        apart = [
            score for score in chosen if score.apart or (first and score.subset != first.subset)
        ]
        (others if apart else scores)[model] = percent
        reasons.update(
            dict.fromkeys(
                f"{NO_PLACE} {score.source}: {score.apart or score.subset}" for score in apart
            )
        )
    sources = dict.fromkeys(score.source for part in parts for score in part.values())
    return Column(name, benchmark, kind, scores, others, tuple(reasons), tuple(sources))


def _choose(scores: Sequence[PublishedScore]) -> dict[str, PublishedScore]:
    """Return model -> its first score, of those that are not marked if there are any."""
    chosen: dict[str, PublishedScore] = {}
    for score in sorted(scores, key=lambda score: bool(score.apart)):
        chosen.setdefault(score.model, score)
    return chosen


def choose_averaged(columns: Sequence[Column]) -> list[Column]:
    """Return the columns of composition over which the mean of a model is: those with more than half of the models.

    A second mean of a benchmark, over rows, is left out. Returns [] if a benchmark still has several such columns,
    which do not weigh alike.
    """
    most = max(len(column.scores) for column in columns)
    chosen = [
        column
        for column in columns
        if not column.is_recognition and column.kind != "rows" and 2 * len(column.scores) > most
    ]
    return chosen if len({column.benchmark for column in chosen}) == len(chosen) > 1 else []


def make_models(columns: Sequence[Column]) -> pd.DataFrame:
    """Return one row per model: what is known about it, its mean over composition, and its scores and places.

    Shares are fractions of 1. Models without a score in a column of :func:`choose_averaged` have no mean. The best mean
    or first score comes first.
    """
    averaged = choose_averaged(columns)
    models = dict.fromkeys(
        model for column in columns for model in (*column.scores, *column.others)
    )
    facts_by_model = describe_published()
    rows = []
    for model in models:
        own = [column.scores.get(model) for column in averaged]
        mean = np.nan if None in own or not own else sum(filter(None, own)) / len(own) / 100
        row: dict[str, Any] = {"model": model, **facts_by_model.get(model, {}), "mean": mean}
        for column in columns:
            percent = column.scores.get(model, column.others.get(model))
            row[column.name] = np.nan if percent is None else percent / 100
            is_ranked = model in column.scores
            row[f"{column.name} place"] = (
                compute_rank(column.scores[model], column.scores.values()) if is_ranked else None
            )
        rows.append(row)
    table = pd.DataFrame(rows)
    places = {f"{column.name} place": "Int64" for column in columns}
    order = ["mean", *(column.name for column in columns), "model"]
    return table.astype(places).sort_values(
        order, ascending=[*[False] * (len(order) - 1), True], ignore_index=True
    )


def make_models_table(models: pd.DataFrame, columns: Sequence[Column]) -> Table:
    """Make the table of the page."""
    records = []
    rows: list[dict[str, Any]] = models.to_dict("records")  # pyright: ignore[reportAssignmentType]
    for row in rows:
        record: dict[str, object] = {"Model": row["model"]}
        record["Mean"] = None if pd.isna(row["mean"]) else format_percent(row["mean"])
        for column in columns:
            record[column.name] = _format_score(row, column)
        for name in ("family", "parameters", "date", "training_data"):
            value = row.get(name)
            record[name.replace("_", " ").capitalize()] = (
                value if isinstance(value, str) and value else None
            )
        records.append(record)
    return replace(make_table("leaderboard_published", records), name="leaderboard")


def _format_score(row: Mapping[str, Any], column: Column) -> str:
    """Format, for example, "61.2 (86 of 201)"."""
    if pd.isna(row[column.name]):
        return MISSING
    place = row[f"{column.name} place"]
    text = NO_PLACE if pd.isna(place) else f"{place} of {len(column.scores)}"
    return f"{format_percent(row[column.name])} ({text})"


def make_columns_table(columns: Sequence[Column]) -> Table:
    """Make the table that explains the columns."""
    averaged = choose_averaged(columns)
    records = [
        vars(column)
        | {"measures": "recognition" if column.is_recognition else "composition"}
        | {"models": len(column.scores), "remarks": "; ".join(column.reasons)}
        | {"averaged": "yes" if column in averaged else None}
        | {
            "median": float(np.median(list(column.scores.values()))),
            "sources": ", ".join(column.sources),
        }
        for column in columns
    ]
    return make_table("leaderboard_published_columns", records)
