"""Look up the text-only baselines of a set (stages ``text_only``, ``text_only_aro``; ``compeval inspect``).

A set that has none of these files is measured when the report is made (evaluators/validity/best_baselines.py).

The best baseline is the one with the highest Recall@1, so it is chosen with knowledge of the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.schemas.corpus_names import parse_systematicity
from compeval.base.text_only.judges import name_judge
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.tables import format_with_interval

STEM = "text_only"
GROUPS = ("refining", "held_out", "comparing", "rules")
"""Keys of groups of baselines in the files: the first three of the stages, the last of ``compeval inspect``."""


class Baseline(NamedTuple):
    """A text-only baseline with its Recall@1 and 95 % interval."""

    key: str
    recall: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        return f"{format_with_interval(self.recall, self.interval)} {name_judge(self.key)}"


def read_text_only(paths: Iterable[Path]) -> dict[str, Any]:
    """Return dataset -> content of text_only.json (of crepe) or text_only_<dataset>.json.

    Raises FileNotFoundError, or ValueError for other files.
    """
    contents = {}
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(
                f"{path}: no such file. `dvc repro text_only text_only_aro` or `compeval inspect` writes it."
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            is_valid = all(
                any(map(group.get, GROUPS)) for group in content.values()
            ) and path.stem.startswith(STEM)
        except (ValueError, AttributeError, TypeError):
            is_valid = False
            content = {}
        if not is_valid:
            raise ValueError(
                f"{path}: not a file of the stage text_only or of `compeval inspect`; expected text_only.json or "
                "text_only_<dataset>.json."
            )
        contents[path.stem.removeprefix(STEM).removeprefix("_") or "crepe"] = content
    return contents


def find_measured(results: Results, result: Result) -> Mapping[str, Any] | None:
    """Return what text-only baselines reach on the set of a result.

    Returns None if they were not measured, or on another version of the dataset.
    """
    config = parse_systematicity(result.data["config"])
    groups = results.text_only.get(result.data["dataset"], {})
    group = groups.get(result.data["config"], groups.get(config.kind) if config else None)
    version = result.data["data"].get("version")
    return group if group and group.get("version", version) == version else None


def find_best_baseline(results: Results, result: Result) -> Baseline | None:
    """Return the best text-only baseline on the set of a result, or None if it was not measured."""
    measured = find_measured(results, result) or {}
    scores = {key: values for group in GROUPS for key, values in measured.get(group, {}).items()}
    best = max(scores, key=lambda key: scores[key]["recall@1"], default=None)
    if best:
        return Baseline(best, scores[best]["recall@1"], tuple(scores[best]["interval"]))
    measured_now = results.best_baselines.get(result.data["task"])
    return (
        Baseline(measured_now.name, measured_now.recall, measured_now.interval)
        if measured_now
        else None
    )


def find_without_measured(results: Results) -> list[Mapping[str, Any]]:
    """Return the documents of the results on sets whose text-only baselines no file contains."""
    return [result.data for result in results if not find_measured(results, result)]


def describe_best_baseline(results: Results, shown: Iterable[Result]) -> str:
    """Return a sentence with the best text-only baseline on the sets of some results, or "" if none was measured.

    Of several sets, such as those of several corpora, the highest result is shown.
    """
    baselines = {baseline for result in shown if (baseline := find_best_baseline(results, result))}
    best = max(baselines, key=lambda baseline: (baseline.recall, baseline.key), default=None)
    of_sets = f" on any of the {len(baselines)} sets" if len(baselines) > 1 else ""
    return f"Best text-only baseline{of_sets}: {best}." if best else ""
