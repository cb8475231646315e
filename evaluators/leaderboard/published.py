"""Published models next to one's own on a leaderboard (evaluators/results/ranks.py says which scores are comparable).

The score of a published model on a benchmark is the mean over the same tasks and metrics as that of one's own models.
It has no interval and no paired test: its place is 1 + the number of models with a higher score. If one's own model has
ties, and a source counts them otherwise or does not say how, the place of the own model is a range: from that with ties
right to that with ties wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from compeval.evaluators.leaderboard.scores import COUNTED, BenchmarkScores
from compeval.evaluators.report.results import Result
from compeval.evaluators.results.matches import find_difference, get_tolerance
from compeval.evaluators.results.published import get_alias, get_names
from compeval.evaluators.results.ranks import explain_difference, group_by_metric
from compeval.evaluators.results.scores import SAME_TIES, Model, PublishedScore, read_models
from compeval.evaluators.results.ties import SHOWN_FROM, get_tie_rate


@dataclass(frozen=True)
class Published:
    """The published scores on a benchmark, as shares."""

    comparable: dict[str, float] = field(default_factory=dict)
    """Model -> mean over the tasks, of all models that can be ranked with one's own."""
    others: dict[str, float] = field(default_factory=dict)
    """Model -> mean over the tasks, of models with a score that cannot."""
    reasons: dict[str, None] = field(default_factory=dict)
    """The reasons why the models of ``others`` cannot be ranked, as keys in order."""
    lenient: set[str] = field(default_factory=set)
    """Models with a score that may count ties as right."""
    disagreements: list[tuple[PublishedScore, PublishedScore, str]] = field(default_factory=list)
    """Scores of two sources for one model that differ, and the cause, "" if it is not known."""


def find_published(benchmark: BenchmarkScores) -> Published:
    """Return the published scores on a benchmark, of models that were not evaluated here."""
    own = {
        alias
        for results in benchmark.results.values()
        for item in results.values()
        for alias in get_aliases(item)
    }
    parts: list[dict[str, tuple[float, bool]]] = []
    published = Published()
    for task in benchmark.tasks:
        results = [result.data for result in benchmark.results[task].values()]
        for metric in COUNTED[results[0]["protocol"]]:
            part: dict[str, tuple[float, bool]] = {}
            for model, scores in _group(task, metric, own).items():
                reasons = {
                    score: _explain(score, metric, results[0]["data"]["rows"]) for score in scores
                }
                score = min(scores, key=lambda score: bool(reasons[score]))
                part[model] = score.percent / 100, not reasons[score]
                if score.ties != SAME_TIES:
                    published.lenient.add(model)
                published.reasons.update(dict.fromkeys(filter(None, reasons.values())))
                published.disagreements.extend(_compare_sources(scores, results[0]["data"]["rows"]))
            parts.append(part)
    for model in sorted(set.intersection(*map(set, parts))) if parts else ():
        values = [part[model] for part in parts]
        group = (
            published.comparable
            if all(is_comparable for _, is_comparable in values)
            else published.others
        )
        group[model] = sum(value for value, _ in values) / len(values)
    return published


def _group(task: str, metric: str, own: set[str]) -> dict[str, list[PublishedScore]]:
    """Return model -> its scores for the metric, or else those for its macro means."""
    groups: dict[str, list[PublishedScore]] = {}
    names = [
        name
        for item, name in group_by_metric()
        if item == task and name.startswith(f"{metric}_macro_")
    ]
    for name in (metric, *names):
        for score in group_by_metric().get((task, name), ()):
            if score.model not in own and (
                not groups.get(score.model) or groups[score.model][0].metric == name
            ):
                groups.setdefault(score.model, []).append(score)
    return groups


def _explain(score: PublishedScore, metric: str, rows: int) -> str:
    """Return why a score cannot be ranked with the metric of one's own models, "" if it can."""
    if score.metric != metric:
        return f"the mean is over {score.mean} in {score.source}, here over rows"
    reason = explain_difference(score, rows)
    return reason and f"{score.source}: {reason}"


def measure_ties(benchmark: BenchmarkScores) -> dict[str, float]:
    """Return own model -> the most that its score (a share) would be higher if ties were right.

    0 for a share up to SHOWN_FROM.
    """
    shares: dict[str, list[float]] = {}
    for by_model in benchmark.results.values():
        for model, result in by_model.items():
            metrics = COUNTED[result.data["protocol"]]
            shares.setdefault(model, []).extend(
                get_tie_rate(result.data["metrics"], metric) for metric in metrics
            )
    means = {model: sum(values) / len(values) for model, values in shares.items()}
    return {model: share if share > SHOWN_FROM else 0.0 for model, share in means.items()}


def _compare_sources(
    scores: Sequence[PublishedScore], rows: int
) -> list[tuple[PublishedScore, PublishedScore, str]]:
    first, *rest = scores
    return [
        (first, other, find_difference(first, other))
        for other in rest
        if abs(other.percent - first.percent) > get_tolerance(first, rows)
    ]


def get_aliases(result: Result) -> set[str]:
    """Return the names under which the published scores of a result's model are recorded."""
    return {get_alias(name) for name in get_names(result.data)}


@cache
def describe_published() -> dict[str, dict[str, str]]:
    """Return name of a published model -> the columns of a leaderboard that are known about it."""
    return {model.name: _describe(model) for model in read_models().values()}


def _describe(model: Model) -> dict[str, str]:
    size = f"{float(model.parameters):,.0f}M" if model.parameters else ""
    family = model.name.partition("/")[0]
    return {"family": family, "parameters": size, "date": model.year, "training_data": model.corpus}
