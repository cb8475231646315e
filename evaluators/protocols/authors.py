"""Score a published benchmark also by its authors' own rule, if it differs from ours.

The benchmark declares the rule (loaders/benchmarks/). Its metrics are named ``authors_accuracy`` or
``authors_<name>_accuracy`` and can be compared with published scores.

Shapes: N rows, I images and T texts per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from compeval.evaluators.protocols.base import Directions, check_finite, count_hits

PACKAGE = "compeval.loaders.benchmarks"
"""Imported by name: the stages of the pipeline evaluate generated datasets only and do not depend on it."""


class Rule(Protocol):
    """``AuthorsRule`` of loaders/published/declaration.py."""

    @property
    def what(self) -> str: ...
    @property
    def hits(self) -> Callable[[np.ndarray], Mapping[str, np.ndarray]]: ...
    @property
    def chance(self) -> Mapping[str, float]: ...


def find_module(dataset: str) -> str | None:
    """Return the file of the module that declares a published benchmark; None for any other dataset."""
    spec = find_spec(f"{PACKAGE}.{dataset}") if dataset.isidentifier() else None
    return spec and spec.origin


def find_rule(dataset: str, config: str) -> Rule | None:
    """Return the authors' rule for a config; None if the dataset is not published or its authors score as we do."""
    module = import_module(f"{PACKAGE}.{dataset}") if find_module(dataset) else None
    benchmark = getattr(module, "BENCHMARK", None)
    return benchmark and benchmark.find_authors_rule(config)


def evaluate(rule: Rule, score_NIT: np.ndarray) -> Directions:
    """Compute the accuracy of each hit of a rule. Raises ValueError if a score is not finite."""
    check_finite(score_NIT)
    return {
        f"authors_{name}" if name else "authors": count_hits(hits, rule.chance[name])
        for name, hits in rule.hits(score_NIT).items()
    }
