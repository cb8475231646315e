"""Compare results with published scores of the same model on the same dataset (evaluators/results/scores.py).

A score on other rows than the result is shown as such: it neither agrees nor disagrees. If several sources have a score
for the same number and they differ, the number is compared with the nearest one; the others are shown with the cause,
if it is known (published_differences.csv).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from operator import mul
from typing import Any, NamedTuple

from compeval.evaluators.models import BACKENDS, split_spec
from compeval.evaluators.results.causes import find_causes
from compeval.evaluators.results.matches import Match
from compeval.evaluators.results.scores import (
    MEAN,
    PublishedScore,
    read_columns,
    read_means,
    read_models,
    read_scores,
)
from compeval.evaluators.results.ties import measure_ties

ALIASES = {
    "NegCLIP/coco-ft": "NegCLIP",
    "openai/clip-vit-large-patch14-336": "ViT-L-14-336/openai",
    **{name: model.name for (source, name), model in read_models().items() if source == "mteb"},
}


class Measured(NamedTuple):
    """The value of results for the metric of a published score, in percent."""

    percent: float
    rows: int
    results: Sequence[Mapping[str, Any]]
    interval: tuple[float, float] | None
    """95 % interval. Of a weighted mean over tasks, it is the mean of their bounds, which is wide enough also if all
    tasks share their images."""
    ties: float
    """The most that ``percent`` would be higher if ties were right."""


@cache
def get_canonical_name(name: str) -> str:
    """Return one name for all names of a model: with -quickgelu if the weights were trained with this activation."""
    from compeval.evaluators.models.open_clip_names import list_models, parse_name

    name = get_alias(name)
    # parse_name would look for similar names, for its error.
    if name.partition("/")[0].removesuffix("-gelu") not in list_models():
        return name
    try:
        architecture, weights, is_quick_gelu = parse_name(name)
    except (ValueError, OSError):  # not a name of open_clip
        return name
    return f"{architecture}{'-quickgelu' if is_quick_gelu else ''}/{weights}"


def get_alias(name: str) -> str:
    """Return the name under which the scores of a model are recorded."""
    backend, bare_name = split_spec(name)
    if backend in BACKENDS and BACKENDS[backend].is_published_by_name:
        name = bare_name
    return ALIASES.get(name, name)


def find_scores(*names: str) -> list[PublishedScore]:
    """Return the published scores of a model, given its names."""
    aliases = {get_alias(name) for name in names}
    by_model = group_scores(read_scores)
    # Without a name of open_clip's, the package, which is slow to load, is not needed.
    if not any("/" in name.partition(":")[0] for name in aliases):
        return [score for name in aliases for score in by_model.get(name, ())]
    canonical = {get_canonical_name(name) for name in aliases}
    return [
        score
        for name in by_model
        if get_canonical_name(name) in canonical
        for score in by_model[name]
    ]


@cache
def group_scores(read: Callable[[], Sequence[PublishedScore]]) -> dict[str, list[PublishedScore]]:
    """Return name of a model -> the scores that ``read`` returns for it."""
    groups: dict[str, list[PublishedScore]] = {}
    for score in read():
        groups.setdefault(score.model, []).append(score)
    return groups


def get_names(result: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the names of a result's model."""
    model = result["model"]
    return model["spec"], model["name"], model["effective"]


def group_by_model(results: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return effective name of a model -> task -> result.

    Left out are results with a row limit, and results on drawn scenes.
    """
    by_model: dict[str, dict[str, Mapping[str, Any]]] = {}
    for result in results:
        if result["data"]["limit"] is None and not result.get("synthetic"):
            by_model.setdefault(result["model"]["effective"], {})[result["task"]] = result
    return by_model


def match_scores(results: Sequence[Mapping[str, Any]]) -> list[Match]:
    """Return the published scores for which there is a result."""
    matches: list[Match] = []
    for by_task in group_by_model(results).values():
        names = get_names(next(iter(by_task.values())))
        scores = find_scores(*names)
        name = get_alias(names[-1])
        if all(score.model != name for score in scores):
            name = get_canonical_name(name)
        model_matches = [match for score in scores if (match := _match_score(score, name, by_task))]
        matches += _keep_nearest_source(model_matches)
    return matches


def _keep_nearest_source(matches: Sequence[Match]) -> list[Match]:
    """Compare each number with the nearest of its comparable scores only.

    A mean over several tasks does not disagree if another source has scores for all these tasks that agree.
    """
    nearest: dict[tuple[str, str, str], Match] = {}
    single = [match for match in matches if match.verdict == "yes" and len(match.tasks) == 1]
    agreeing = {match.tasks: match.score.source for match in single}
    for match in filter(lambda match: match.is_comparable, matches):
        key = match.score.task, match.score.metric, match.score.category
        nearest[key] = min(nearest.get(key, match), match, key=lambda match: abs(match.difference))
    judged = []
    for match in matches:
        best = nearest.get((match.score.task, match.score.metric, match.score.category))
        source = "" if match.agrees or best is None or best is match else best.score.source
        if (
            not match.agrees
            and len(match.tasks) > 1
            and all((task,) in agreeing for task in match.tasks)
        ):
            source = agreeing[match.tasks[:1]]
        judged.append(match._replace(nearest=source))
    return judged


def measure(score: PublishedScore, by_task: Mapping[str, Mapping[str, Any]]) -> Measured | None:
    """Return the value of a score's metric in the results of its tasks; None if something is missing.

    The rows of a mean over seeds are those of one seed, as of the score.
    """
    if score.metric == MEAN:
        return _measure_mean(score, by_task)
    if score.task in by_task:
        members = [by_task[score.task]]
    elif "*" in score.task:
        members = [result for task, result in by_task.items() if fnmatchcase(task, score.task)]
    else:
        return None
    parts = [part for result in members if (part := _measure_part(score, result))]
    if not parts or (score.tasks and len(parts) != score.tasks):
        return None
    rows = sum(part.rows for part in parts)
    whole = _average(parts, [part.rows / rows for part in parts])
    return whole if score.tasks else whole._replace(rows=parts[0].rows)  # seeds of the same rows


def _measure_mean(
    score: PublishedScore, by_task: Mapping[str, Mapping[str, Any]]
) -> Measured | None:
    parts = []
    weights = []
    for column, weight in read_means()[score.task, score.metric].items():
        part = PublishedScore(
            score.model, percent=0.0, source="", **read_columns()["vl_compo", column]
        )
        measured = measure(part, by_task)
        if measured is None:
            return None
        parts.append(measured)
        weights.append(weight)
    return _average(parts, weights)


def _average(parts: Sequence[Measured], weights: Sequence[float]) -> Measured:
    """Return the weighted mean of values. It has an interval if all of them have one."""
    bounds = [part.interval for part in parts if part.interval]
    interval = None
    if len(bounds) == len(parts):
        low, high = (sum(map(mul, weights, side)) for side in zip(*bounds, strict=True))
        interval = low, high
    return Measured(
        sum(weight * part.percent for weight, part in zip(weights, parts, strict=True)),
        sum(part.rows for part in parts),
        [result for part in parts for result in part.results],
        interval,
        sum(weight * part.ties for weight, part in zip(weights, parts, strict=True)),
    )


def _match_score(
    score: PublishedScore, model: str, by_task: Mapping[str, Mapping[str, Any]]
) -> Match | None:
    """Compare a published score with the results of a model. Returns None if a task or the metric is missing."""
    measured = measure(score, by_task)
    if measured is None:
        return None
    tasks = tuple(result["task"] for result in measured.results)
    match = Match(score, measured.percent, measured.rows, tasks=tasks)
    if match.agrees and not match.is_on_other_rows:
        return match
    return match._replace(causes=tuple(find_causes(score, model, measured.results, match)))


def _measure_part(score: PublishedScore, result: Mapping[str, Any]) -> Measured | None:
    """Return the value of a score's metric in a result, or None if it is missing."""
    if score.category:
        part = result.get("categories", {}).get(score.by, {}).get(score.category, {})
        if score.metric not in part:
            return None
        return Measured(100 * part[score.metric], part["rows"], [result], None, 0.0)
    if score.metric not in result["metrics"]:
        return None
    bounds = result.get("intervals", {}).get(score.metric)
    return Measured(
        100 * result["metrics"][score.metric],
        result["data"]["rows"],
        [result],
        (100 * bounds[0], 100 * bounds[1]) if bounds else None,
        100 * measure_ties(result, score.metric),
    )
