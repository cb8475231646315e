"""Look up how well rules without the image solve a set (stages ``text_only``, ``text_only_aro``; ``compeval inspect``).

The best rule is the one with the highest Recall@1 of all scorers, so it is chosen with knowledge of the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evaluators.report.results import Result, Results
from evaluators.report.tables import format_with_interval
from generators.schemas.corpus_names import parse_systematicity

STEM = "text_only"
SCORERS = ("refining", "held_out", "comparing", "rules")
"""Keys of the results of scorers: the first three of the stages, the last of ``compeval inspect``."""
LABELS = {
    "longest": "most characters",
    "shortest": "fewest characters",
    "wordiest": "most words",
    "tersest": "fewest words",
    "words": "linear model of words",
    "bigrams": "linear model of bigrams",
    "naive_bayes": "naive Bayes",
    "naive_bayes_of_words": "naive Bayes of words",
    "naive_bayes_of_word_pairs": "naive Bayes of word pairs",
    "cooccurrence": "co-occurrence of words",
    "ordered_pairs": "linear model of ordered pairs",
    "naive_bayes_of_ordered_pairs": "naive Bayes of ordered pairs",
    "form": "length and structure",
    "medoid_of_characters": "medoid, characters",
    "medoid_of_words": "medoid, words",
    "nearest_to_mean": "nearest to mean",
    "learned": "random forest",
    "extra_trees": "extremely randomised trees",
    "extra_trees_with_words": "extremely randomised trees with words",
}
"""Names of rules in tables. Others are named by their keys."""


def label(rule: str) -> str:
    """Return the name of a rule in tables."""
    return LABELS.get(rule, rule.replace("_", " "))


class Rule(NamedTuple):
    """A rule that chooses a caption without the image, with its Recall@1 and 95 % interval."""

    name: str
    recall: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        return f"{format_with_interval(self.recall, self.interval)} {label(self.name)}"


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
            is_valid = all(any(map(group.get, SCORERS)) for group in content.values()) and path.stem.startswith(STEM)
        except (ValueError, AttributeError, TypeError):
            is_valid, content = False, {}
        if not is_valid:
            raise ValueError(
                f"{path}: not a file of the stage text_only or of `compeval inspect`; expected text_only.json or "
                "text_only_<dataset>.json."
            )
        contents[path.stem.removeprefix(STEM).removeprefix("_") or "crepe"] = content
    return contents


def find_group(results: Results, result: Result) -> Mapping[str, Any] | None:
    """Return what text-only scorers reach on the set of a result, or None if this set was not measured."""
    config = parse_systematicity(result.data["config"])
    groups = results.text_only.get(result.data["dataset"], {})
    group = groups.get(result.data["config"], groups.get(config.kind) if config else None)
    version = result.data["data"].get("version")
    if group is None or group.get("version", version) != version:
        return None  # not measured, or measured on another version of the dataset
    return group


def find_rule(results: Results, result: Result, metric: str = "recall@1") -> Rule | None:
    """Return the best rule on the set of a result, or None if this set was not measured."""
    group = find_group(results, result)
    if group is None or metric != "recall@1":
        return None
    scorers = {name: values for kind in SCORERS for name, values in group.get(kind, {}).items()}
    best = max(scorers, key=lambda name: scorers[name]["recall@1"])
    return Rule(best, scorers[best]["recall@1"], tuple(scorers[best]["interval"]))


def describe_rules(results: Results, shown: Iterable[Result]) -> str:
    """Return the best rule on the sets of the given results as a sentence, or "" if they were not measured.

    Sets with different best rules, such as those of several corpora, are described by the highest result.
    """
    rules = {rule for result in shown if (rule := find_rule(results, result))}
    best = max(rules, key=lambda rule: (rule.recall, rule.name), default=None)
    of_sets = f" on any of the {len(rules)} sets" if len(rules) > 1 else ""
    return f"Best rule that reads only the text{of_sets}: {best}." if best else ""
