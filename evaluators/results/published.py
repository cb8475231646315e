"""Compare results with published scores of the same model on the same dataset (evaluators/results/scores.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from evaluators.results.causes import Cause, find_causes
from evaluators.results.scores import PublishedScore, read_scores

TOLERANCE = 1.0
"""Tolerated difference in percentage points. Libraries decode and resize images differently, and precisions vary."""
ALIASES = {
    "NegCLIP/coco-ft": "NegCLIP",
    "openai/clip-vit-base-patch32": "ViT-B-32/openai",
    "openai/clip-vit-base-patch16": "ViT-B-16/openai",
    "openai/clip-vit-large-patch14": "ViT-L-14/openai",
    "openai/clip-vit-large-patch14-336": "ViT-L-14-336/openai",
}
SHUFFLE_TOLERANCE = 2.0
"""Tolerance for ARO's order tasks, whose published shuffles are not available."""


def get_tolerance(score: PublishedScore, num_rows: int) -> float:
    """Return the tolerance in percentage points. It is at least the weight of one row."""
    return max(SHUFFLE_TOLERANCE if fnmatchcase(score.task, "*_order") else TOLERANCE, 100 / num_rows)


class Match(NamedTuple):
    """A published score and our score for the same model and task, in percent."""

    score: PublishedScore
    ours: float
    rows: int
    causes: tuple[Cause, ...] = ()
    """Known causes of a disagreement that apply to this one."""

    @property
    def difference(self) -> float:
        return self.ours - self.score.percent

    @property
    def tolerance(self) -> float:
        return get_tolerance(self.score, self.rows)

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.tolerance

    @property
    def is_comparable(self) -> bool:
        """False if the published model ran with another activation than its weights, so that it is another model."""
        return all(cause.kind != "activation" for cause in self.causes)

    @property
    def metric(self) -> str:
        """The metric, with the category of the rows if it is of a part of them."""
        return f"{self.score.metric} ({self.score.category})" if self.score.category else self.score.metric

    def to_json(self) -> dict[str, Any]:
        causes = {"causes": [cause.text for cause in self.causes]}
        return self.score._asdict() | {"ours": self.ours, "rows": self.rows, "agrees": self.agrees} | causes


@cache
def get_canonical_name(name: str) -> str:
    """Return one name for all names of a model: with -quickgelu if the weights were trained with this activation."""
    from evaluators.models.open_clip_names import parse_name

    name = ALIASES.get(name.removeprefix("transformers:"), name)
    try:
        architecture, weights, is_quick_gelu = parse_name(name)
    except (ValueError, OSError):  # not a name of open_clip
        return name
    return f"{architecture}{'-quickgelu' if is_quick_gelu else ''}/{weights}"


def find_scores(*names: str) -> list[PublishedScore]:
    """Return the published scores of a model, given its names."""
    names = tuple(ALIASES.get(name.removeprefix("transformers:"), name) for name in names)
    if not any("/" in name.partition(":")[0] for name in names):  # none is open_clip's, which is slow to load
        return [score for score in read_scores() if score.model in names]
    canonical = {get_canonical_name(name) for name in names}
    return [score for score in read_scores() if get_canonical_name(score.model) in canonical]


def get_names(result: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the names of a result's model."""
    model = result["model"]
    return model["spec"], model["name"], model["effective"]


def match_scores(results: Sequence[Mapping[str, Any]]) -> list[Match]:
    """Return the published scores for which there is a result.

    Results with a row limit are ignored, and results on drawn scenes.
    """
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        if result["data"]["limit"] is None and not result.get("synthetic"):
            by_model.setdefault(result["model"]["effective"], []).append(result)
    pairs = (
        (score, model_results)
        for model_results in by_model.values()
        for score in find_scores(*get_names(model_results[0]))
    )
    return [match for score, model_results in pairs if (match := _match_score(score, model_results))]


def _match_score(score: PublishedScore, results: Sequence[Mapping[str, Any]]) -> Match | None:
    """Compare a published score with the results of a model. Returns None if a task or the metric is missing."""
    parts = [(item, _get_part(score, item)) for item in results if fnmatchcase(item["task"], score.task)]
    measured = [(item, *part) for item, part in parts if part is not None]
    if len(measured) != score.tasks:
        return None
    num_rows = sum(rows for _, _, rows in measured)
    match = Match(score, 100 * sum(rows * value for _, value, rows in measured) / num_rows, num_rows)
    if match.agrees:
        return match
    runs_otherwise, members = get_canonical_name(score.model) != score.model, [item for item, *_ in measured]
    return match._replace(causes=tuple(find_causes(score, runs_otherwise, members, match.tolerance)))


def _get_part(score: PublishedScore, result: Mapping[str, Any]) -> tuple[float, int] | None:
    """Return the value of a score's metric and its number of rows in a result, or None if they are missing."""
    if not score.category:
        return (result["metrics"][score.metric], result["data"]["rows"]) if score.metric in result["metrics"] else None
    part = result["categories"].get(score.by, {}).get(score.category, {})
    return (part[score.metric], part["rows"]) if score.metric in part else None
