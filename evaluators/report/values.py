"""The values of a report as a tidy frame: one row per model, task and metric.

Columns that describe the model: ``model``, ``label`` (with * if contaminated), ``series`` (the label without training
seed), ``trained_on``, ``training_data`` (title of the corpus). The task: ``task``, ``dataset``, ``family``, ``config``,
``variant`` and ``strategy`` (the variant without seed), both "" for none, ``rows``, ``set_size``. Of CREPE's tasks:
``kind`` of hard negatives, ``split`` (sc, uc or ua), ``complexity``, and
``is_own_corpus``, True if the model was trained on the corpus of the set. The value: ``metric``, ``value``, ``low`` and
``high`` (95 % interval), ``std`` (over folds), ``chance``. Values are fractions of 1; what is missing is NaN or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from generators.schemas.corpus_names import CORPORA, get_kind, parse_systematicity

if TYPE_CHECKING:
    from evaluators.report.results import Result

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""Suffix with a seed, of the names of models and of variants."""
NO_INTERVAL = (float("nan"), float("nan"))


def make_values(results: Iterable[Result]) -> pd.DataFrame:
    """Return the values of all results, by training corpus (in the paper's order), model and task."""
    results = list(results)
    described = pd.DataFrame(list(map(_describe, results))).astype({"complexity": "Int64", "set_size": "Int64"})
    measured = [
        {"result": number, "metric": metric, "value": value, "low": low, "high": high}
        | {"std": result.data["std"].get(metric), "chance": result.data["chance"].get(metric)}
        for number, result in enumerate(results)
        for metric, value in result.metrics.items()
        for low, high in [result.data["intervals"].get(metric) or NO_INTERVAL]
    ]
    values = described.join(pd.DataFrame(measured).set_index("result").astype({"std": float, "chance": float}))
    position = values["trained_on"].map({corpus: number for number, corpus in enumerate(CORPORA)}).fillna(len(CORPORA))
    order = values.assign(position=position).sort_values(["position", "model"], kind="stable").index
    return values.loc[order.unique()].reset_index(drop=True)


def sort_by(values: pd.DataFrame, column: str, order: Iterable[Any]) -> pd.DataFrame:
    """Return the rows whose value of ``column`` is in ``order``, in this order."""
    position = {value: number for number, value in enumerate(order)}
    selected = values[values[column].isin(list(position))]
    return selected.sort_values(column, key=lambda cells: cells.map(position), kind="stable")


def _describe(result: Result) -> dict[str, Any]:
    data = result.data
    config, variant = data["config"], data["variant"] or ""
    is_crepe = result.family == "crepe"
    systematicity = parse_systematicity(config) if is_crepe else None
    complexity = COMPLEXITY.fullmatch(data["split"])
    corpus = data["model"]["corpus"]
    return {
        "model": result.model,
        "label": result.label,
        "series": SEED.sub("", result.model) + result.label.removeprefix(result.model),
        "trained_on": corpus,
        "training_data": result.training_data,
        "task": data["task"],
        "dataset": data["dataset"],
        "family": result.family,
        "config": config,
        "variant": variant,
        "strategy": SEED.sub("", variant),
        "rows": data["data"]["rows"],
        "set_size": data["data"]["set_size"],
        "kind": get_kind(config).removeprefix("prod_") if is_crepe else None,
        "split": systematicity.split if systematicity else None,
        "complexity": int(complexity[1]) if complexity else None,
        "is_own_corpus": systematicity is not None
        and systematicity.corpus == corpus
        and result.is_trained_on_microworld == bool(result.is_synthetic),
    }
