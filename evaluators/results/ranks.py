"""Where a result stands among the published models (evaluators/results/scores.py).

A model is compared with the scores of other models for the same metric on the same rows. If several sources have a
score for a model, the first one counts: vl_compo, MTEB, FSC-CLIP, papers. The rank is 1 + the number of models with a
higher score; models with equal scores share it. Scores on other rows are not ranked, nor are those of sources that
count ties otherwise, or do not say how, if there are ties, and of a source that differs from the others on all
models (published_differences.csv). Results on drawn scenes and on a limited number of rows have
no rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from compeval.evaluators.results.causes import describe_rows
from compeval.evaluators.results.matches import find_difference, has_other_rows, is_apart
from compeval.evaluators.results.published import get_alias, get_names, group_by_model, measure
from compeval.evaluators.results.scores import (
    DECIMALS,
    MEAN,
    SAME_TIES,
    PublishedScore,
    read_scores,
)
from compeval.evaluators.results.ties import SHOWN_FROM, get_tie_rate


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
    """Why scores are not ranked, "" if all are."""

    @property
    def rank(self) -> int:
        return compute_rank(self.percent, self.published.values())

    def __str__(self) -> str:
        name = self.task if self.is_main else f"{self.task} {self.metric.replace('_', ' ')}"
        if not self.published:
            return f"{name} {self.percent:.1f}: not ranked among the published models ({self.left_out})"
        best = max(self.published, key=lambda model: self.published[model])
        equal = sum(percent == self.percent for percent in self.published.values())
        return (
            f"{name} {self.percent:.1f}: rank {self.rank} of {len(self.published) + 1}"
            f"{f', shared with {equal}' if equal else ''} ({len(self.published)} published models; median "
            f"{median(self.published.values()):.1f}; best {self.published[best]:.1f}, {best})"
        )


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
        percent, rows, members = measured
        published, left_out = select_comparable(others, rows, members)
        is_main = metric == MEAN or metric in members[0].get("main", (metric,))[:1]
        yield Position(
            names[1], task, metric, is_main, round(percent, DECIMALS), published, left_out
        )


@cache
def group_by_metric() -> dict[tuple[str, str], list[PublishedScore]]:
    """Return (task, metric) -> the scores over all rows."""
    groups: dict[tuple[str, str], list[PublishedScore]] = {}
    for score in read_scores():
        if not score.category:
            groups.setdefault((score.task, score.metric), []).append(score)
    return groups


def select_comparable(
    scores: Iterable[PublishedScore], rows: int, results: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, float], str]:
    """Return model -> score for the scores that a value of these results can be ranked with, and why others cannot."""
    published: dict[str, float] = {}
    reasons: dict[str, None] = {}
    for score in scores:
        if reason := explain_difference(score, rows, results):
            reasons[f"{score.source}: {reason}"] = None
        else:
            published.setdefault(score.model, score.percent)
    return published, "; ".join(reasons)


def explain_difference(
    score: PublishedScore, rows: int, results: Sequence[Mapping[str, Any]]
) -> str:
    """Return why a score and a value of these results cannot be ranked together, "" if they can."""
    if is_apart(score):
        return find_difference(score.task, score.metric)
    if has_other_rows(score, rows):
        return f"other rows, {describe_rows(score, rows)}"
    ties = max(get_tie_rate(result["metrics"], score.metric) for result in results)
    if score.ties != SAME_TIES and ties > SHOWN_FROM:
        return f"ties ({ties:.1%}) are errors here, there: {score.ties}"
    return ""
