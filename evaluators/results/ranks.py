"""Rank a result among the published models (evaluators/results/scores.py).

A model is compared with the scores of other models for the same metric on the same rows. If several sources have a
score for a model, the first one counts: vl_compo, MTEB, FSC-CLIP and so on, papers. The rank is 1 + the number of
models with a higher score; models with equal scores share it. The ranks at the bounds of the 95 % interval are next to
it. If there are ties, and a source counts them otherwise or does not say how, the rank is a range: from that with ties
right to that with ties wrong. Scores on other rows are not ranked, nor are those that are marked as not comparable
(published_columns.csv). Results on drawn scenes and on a limited number of rows have no rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from compeval.evaluators.metrics.intervals import wilson_interval
from compeval.evaluators.results.causes import describe_rows
from compeval.evaluators.results.matches import has_other_rows
from compeval.evaluators.results.published import get_alias, get_names, group_by_model, measure
from compeval.evaluators.results.scores import (
    DECIMALS,
    MEAN,
    SAME_TIES,
    PublishedScore,
    read_scores,
)
from compeval.evaluators.results.ties import SHOWN_FROM


class Position(NamedTuple):
    """A result among the published scores of one metric, in percent."""

    model: str
    task: str
    metric: str
    is_main: bool
    """True for the main metric of the task."""
    percent: float
    published: Mapping[str, float]
    """Other model -> its score."""
    left_out: str
    """The reason why scores are not ranked, "" if all are."""
    interval: tuple[float, float] | None = None
    """95 % interval."""
    ties: float = 0.0
    """The most that ``percent`` would be higher if ties were right."""
    lenient: frozenset[str] = frozenset()
    """Models whose scores may count ties as right."""

    @property
    def rank(self) -> int:
        """Rank if ties are wrong."""
        return compute_rank(self.percent, self.published.values())

    @property
    def best_rank(self) -> int:
        """Rank if ties are right, where the other score may count them so."""
        return self._rank_with_ties_right(self.percent)

    @property
    def rank_bounds(self) -> tuple[int, int] | None:
        """Ranks at the upper bound of the interval (ties right, as for ``best_rank``) and at the lower (ties wrong)."""
        if self.interval is None:
            return None
        low, high = self.interval
        return self._rank_with_ties_right(high), compute_rank(low, self.published.values())

    def _rank_with_ties_right(self, percent: float) -> int:
        gain = dict.fromkeys(self.lenient, self.ties)
        return 1 + sum(
            other > percent + gain.get(model, 0.0) for model, other in self.published.items()
        )

    def __str__(self) -> str:
        name = self.task if self.is_main else f"{self.task} {self.metric.replace('_', ' ')}"
        has_range = bool(self.ties and self.lenient)
        value = f"{self.percent:.1f}" + (f" to {self.percent + self.ties:.1f}" if has_range else "")
        interval = " [{:.1f}, {:.1f}]".format(*self.interval) if self.interval else ""
        if not self.published:
            return (
                f"{name} {value}{interval}: not ranked among the published models ({self.left_out})"
            )
        rank = f"{self.best_rank} to {self.rank}" if has_range else f"{self.rank}"
        equal = sum(percent == self.percent for percent in self.published.values())
        best = max(self.published, key=lambda model: self.published[model])
        parts = [
            f"rank {rank} of {len(self.published) + 1}{' (ties right to ties wrong)' if has_range else ''}",
            "{} to {} within the 95 % interval".format(*self.rank_bounds)
            if self.rank_bounds
            else "",
            f"shared with {equal}" if equal and not has_range else "",
        ]
        return (
            f"{name} {value}{interval}: {', '.join(filter(None, parts))} ({len(self.published)} published models; "
            f"median {median(self.published.values()):.1f}; best {self.published[best]:.1f}, {best})"
        )


def describe_unranked(positions: Iterable[Position]) -> list[str]:
    """Return one line for all tasks without published scores to rank that have the same reason."""
    tasks: dict[str, dict[str, None]] = {}
    for position in positions:
        tasks.setdefault(position.left_out, {})[position.task] = None
    return [
        f"Not ranked among the published models ({reason}): {', '.join(names)}"
        for reason, names in tasks.items()
    ]


def compute_rank(percent: float, others: Iterable[float]) -> int:
    """Return 1 + the number of higher scores."""
    return 1 + sum(other > percent for other in others)


def find_positions(results: Sequence[Mapping[str, Any]]) -> list[Position]:
    """Return the positions of all results, at most one per model and task, in the order of the results."""
    positions = []
    for by_task in group_by_model(results).values():
        chosen: dict[str, Position] = {}
        for position in _find_positions(by_task):
            best = chosen.get(position.task, position)
            chosen[position.task] = max(
                best, position, key=lambda item: (item.is_main, len(item.published))
            )
        order = {task: number for number, task in enumerate(by_task)}
        positions += sorted(
            chosen.values(), key=lambda position: order.get(position.task, len(order))
        )
    return positions


def _find_positions(by_task: Mapping[str, Mapping[str, Any]]) -> Iterator[Position]:
    names = get_names(next(iter(by_task.values())))
    own = {*names, *map(get_alias, names)}
    datasets = {task.partition("/")[0] for task in by_task}
    for (task, metric), scores in group_by_metric().items():
        others = [score for score in scores if score.model not in own]
        measured = (
            measure(scores[0], by_task) if others and task.partition("/")[0] in datasets else None
        )
        if measured is None:
            continue
        comparable, left_out = select_comparable(others, measured.rows)
        has_ties = measured.ties > 100 * SHOWN_FROM
        yield Position(
            names[1],
            task,
            metric,
            is_main=metric == MEAN or metric in measured.results[0].get("main", (metric,))[:1],
            percent=round(measured.percent, DECIMALS),
            published={model: score.percent for model, score in comparable.items()},
            left_out=left_out,
            interval=measured.interval,
            ties=measured.ties if has_ties else 0.0,
            lenient=frozenset(
                model for model, score in comparable.items() if score.ties != SAME_TIES
            ),
        )


def describe_published(model: str, task: str, metric: str) -> str:
    """Return the rank of a published model as it would be printed if the model had been evaluated here.

    Its interval takes the rows as independent. Raises ValueError if there is no such score.
    """
    scores = group_by_metric().get((task, metric), ())
    score = next((score for score in scores if score.model == model and score.rows), None)
    if score is None or score.rows is None:
        raise ValueError(f"{model}: no published {metric} on {task}.")
    share = score.percent / 100
    result = {
        "task": task,
        "model": dict.fromkeys(("spec", "name", "effective"), model),
        "data": {"rows": score.rows, "limit": None},
        "metrics": {metric: share},
        "intervals": {metric: wilson_interval(share, score.rows)},
    }
    return next(str(item) for item in find_positions([result]) if item.metric == metric)


@cache
def group_by_metric() -> dict[tuple[str, str], list[PublishedScore]]:
    """Return (task, metric) -> the scores over all rows."""
    groups: dict[tuple[str, str], list[PublishedScore]] = {}
    for score in read_scores():
        if not score.category:
            groups.setdefault((score.task, score.metric), []).append(score)
    return groups


def select_comparable(
    scores: Iterable[PublishedScore], rows: int
) -> tuple[dict[str, PublishedScore], str]:
    """Return model -> score for the scores that a value on ``rows`` rows can be ranked with, and why others cannot."""
    comparable: dict[str, PublishedScore] = {}
    reasons: dict[str, None] = {}
    for score in scores:
        if reason := explain_difference(score, rows):
            reasons[f"{score.source}: {reason}"] = None
        else:
            comparable.setdefault(score.model, score)
    return comparable, "; ".join(reasons)


def explain_difference(score: PublishedScore, rows: int) -> str:
    """Return why a score cannot be ranked with a value on ``rows`` rows, "" if it can."""
    if score.apart:
        return score.apart
    return f"other rows, {describe_rows(score, rows)}" if has_other_rows(score, rows) else ""
