"""Compare results with published scores of the same model on the same dataset (evaluators/results/scores.py).

A score on other rows than the result is shown as such: it neither agrees nor disagrees. If several sources have a score
for the same number and they differ, the number is compared with the nearest one; the others are shown with the cause,
if it is known (published_differences.csv).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

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

ALIASES = {
    "NegCLIP/coco-ft": "NegCLIP",
    "openai/clip-vit-large-patch14-336": "ViT-L-14-336/openai",
    **{name: model.name for (source, name), model in read_models().items() if source == "mteb"},
}


@cache
def get_canonical_name(name: str) -> str:
    """Return one name for all names of a model: with -quickgelu if the weights were trained with this activation."""
    from compeval.evaluators.models.open_clip_names import list_models, parse_name

    name = get_alias(name)
    if (
        name.partition("/")[0].removesuffix("-gelu") not in list_models()
    ):  # the error would look for similar names
        return name
    try:
        architecture, weights, is_quick_gelu = parse_name(name)
    except (ValueError, OSError):  # not a name of open_clip
        return name
    return f"{architecture}{'-quickgelu' if is_quick_gelu else ''}/{weights}"


def get_alias(name: str) -> str:
    """Return the name under which the scores of a model are recorded."""
    name = name.removeprefix("transformers:")
    return ALIASES.get(name, name)


def find_scores(*names: str) -> list[PublishedScore]:
    """Return the published scores of a model, given its names."""
    aliases = {get_alias(name) for name in names}
    by_model = group_scores(read_scores)
    if not any(
        "/" in name.partition(":")[0] for name in aliases
    ):  # none is open_clip's, which is slow to load
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
        found = [match for score in scores if (match := _match_score(score, name, by_task))]
        matches += _judge(found)
    return matches


def _judge(matches: Sequence[Match]) -> list[Match]:
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


def measure(
    score: PublishedScore, by_task: Mapping[str, Mapping[str, Any]]
) -> tuple[float, int, list[Mapping[str, Any]]] | None:
    """Return the value of a score's metric in percent, its rows and its results; None if something is missing.

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
    measured = [(result, *part) for result in members if (part := _get_part(score, result))]
    if not measured or (score.tasks and len(measured) != score.tasks):
        return None
    rows = sum(rows for _, _, rows in measured)
    percent = 100 * sum(rows * value for _, value, rows in measured) / rows
    if not score.tasks:  # seeds of the same rows
        rows = measured[0][2]
    return percent, rows, [result for result, *_ in measured]


def _measure_mean(
    score: PublishedScore, by_task: Mapping[str, Mapping[str, Any]]
) -> tuple[float, int, list[Mapping[str, Any]]] | None:
    value, rows, members = 0.0, 0, []
    for column, weight in read_means()[score.task, score.metric].items():
        part = PublishedScore(
            score.model, percent=0.0, source="", **read_columns()["vl_compo", column]
        )
        measured = measure(part, by_task)
        if measured is None:
            return None
        value, rows, members = (
            value + weight * measured[0],
            rows + measured[1],
            [*members, *measured[2]],
        )
    return value, rows, members


def _match_score(
    score: PublishedScore, model: str, by_task: Mapping[str, Mapping[str, Any]]
) -> Match | None:
    """Compare a published score with the results of a model. Returns None if a task or the metric is missing."""
    measured = measure(score, by_task)
    if measured is None:
        return None
    ours, rows, members = measured
    match = Match(score, ours, rows, tasks=tuple(member["task"] for member in members))
    if match.agrees and not match.is_on_other_rows:
        return match
    return match._replace(causes=tuple(find_causes(score, model, members, match)))


def _get_part(score: PublishedScore, result: Mapping[str, Any]) -> tuple[float, int] | None:
    """Return the value of a score's metric and its number of rows in a result, or None if they are missing."""
    if not score.category:
        return (
            (result["metrics"][score.metric], result["data"]["rows"])
            if score.metric in result["metrics"]
            else None
        )
    part = result.get("categories", {}).get(score.by, {}).get(score.category, {})
    return (part[score.metric], part["rows"]) if score.metric in part else None
