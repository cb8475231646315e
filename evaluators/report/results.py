"""Read the results of ``compeval run`` (evaluators/results/documents.py) into a list and a tidy frame of values.

A report has one part for each world that its results are of: numbers on drawn scenes, on photographs and on the
published sets are never in the same table.

The frame has one row per model, task and metric.

Columns that describe the model: ``model``, ``label`` (with * if contaminated), ``series`` (the label without training
seed), ``trained_on``, ``training_data`` (title of the corpus). The task: ``task``, ``dataset``, ``family``, ``config``,
``variant`` and ``strategy`` (the variant without seed), both "" for none, ``rows``, ``set_size``. Of CREPE's tasks:
``kind`` of hard negatives, ``split`` (sc, uc or ua), ``complexity``, and
``is_own_corpus``, True if the model was trained on the corpus of the set. The value: ``metric``, ``value``, ``low`` and
``high`` (95 % interval), ``std`` (over folds), ``chance``. Values are fractions of 1; what is missing is NaN or None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from compeval.base.schemas.corpus_names import CORPORA, get_kind, parse_systematicity
from compeval.base.storage import parquet
from compeval.evaluators.protocols import all_protocols
from compeval.evaluators.report.tables import MISSING
from compeval.evaluators.results.documents import list_documents, read, read_time

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""Suffix with a seed, of the names of models and of variants."""
HITS = ("rank", "hit", "group_hit")
"""Columns of the examples with the rank (1 is a hit) or the hit of the main metric."""
NO_INTERVAL = (float("nan"), float("nan"))
PUBLISHED = "_published"
"""Suffix of the names of datasets that were imported from published files."""
PARTS = {
    "microworld": "Drawn scenes (micro-world)",
    "photographs": "Photographs",
    "published": "Published sets",
}
"""Id of a part -> its title, in the order of the page."""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one model on one task."""

    path: Path
    data: dict[str, Any]

    @property
    def examples(self) -> pd.DataFrame:
        """The per-example rows."""
        return parquet.read_table(self.path.with_suffix(".parquet")).to_pandas()

    @property
    def hits(self) -> pd.DataFrame:
        """One row per example: ``hit`` of the main metric, and ``image_id``, the image or, without images, the row.

        Rows of CREPE have ``crop_id`` and ``caption`` as well.
        """
        rows = self.examples
        images = rows["image_id"] if "image_id" in rows else rows["row"]
        column = next(name for name in HITS if name in rows)
        return rows.filter(["crop_id", "caption"]).assign(
            hit=rows[column] == 1, image_id=images.astype(str)
        )

    @property
    def date(self) -> str:
        """The day on which the model was last evaluated, "" if it is not known."""
        time = read_time(self.path, self.data["task"])
        return time.date().isoformat() if time else ""

    @property
    def model(self) -> str:
        return self.data["model"]["name"]

    @property
    def label(self) -> str:
        """The model's name, with * if the model was trained on the benchmark's images."""
        return self.model + (" *" if self.data["model"]["contaminated"] else "")

    @property
    def metrics(self) -> dict[str, float]:
        return self.data["metrics"]

    @property
    def family(self) -> str:
        """The dataset without the suffix of imported files: "crepe" for crepe and for crepe_published."""
        return self.data["dataset"].removesuffix(PUBLISHED)

    @property
    def is_published(self) -> bool:
        """True if the dataset was imported under a name of its own, because there is a generated one of its name."""
        return self.data["dataset"].endswith(PUBLISHED)

    @property
    def key(self) -> tuple[str, str]:
        """Model and task."""
        return self.model, self.data["task"]

    @property
    def is_limited(self) -> bool:
        """True if the result is on the first rows of the task only (--limit)."""
        return self.data["data"]["limit"] is not None

    @property
    def is_synthetic(self) -> bool | None:
        """True if the images are drawn scenes; None for tasks without images."""
        return self.data["synthetic"] if self.data["protocol"] in _list_image_protocols() else None

    @property
    def is_trained_on_microworld(self) -> bool:
        """True if the training corpus is of the micro-world. Documents of version 0.1 do not state it."""
        model = self.data["model"]
        guess = "microworld" if self.data["synthetic"] else "web"
        return bool(model["corpus"]) and model.get("corpus_source", guess) == "microworld"

    @property
    def training_data(self) -> str:
        """The title of the training corpus, such as "LAION-400M" or "laion (micro-world)"."""
        return get_corpus_name(self.data["model"]["corpus"], self.is_trained_on_microworld)


class Results(list[Result]):
    """All results of a report."""

    validity: dict[str, Any] | None = None
    """Content of validity.json, which the stage ``validity`` writes."""
    atom_counts: pd.DataFrame | None = None
    """The frequencies of atoms (evaluators/report/sections/atom_counts.py)."""
    text_only: Mapping[str, Any] = {}
    """Dataset -> content of text_only.json, which the stage ``text_only`` writes."""
    best_baselines: Mapping[str, Any] = {}
    """Task -> best text-only baseline, of sets without measured ones (evaluators/validity/best_baselines.py)."""

    def select(self, family: str) -> list[Result]:
        return [result for result in self if result.family == family]

    def find(self, values: pd.DataFrame) -> list[Result]:
        """Return the result of each row of ``values``, which are rows of ``self.values``."""
        by_key = {result.key: result for result in self}
        return [by_key[key] for key in zip(values["model"], values["task"], strict=True)]

    def copy_with(self, results: Iterable[Result]) -> Results:
        """Return other results with the same validity, counts and text-only baselines."""
        copy = Results(results)
        copy.validity = self.validity
        copy.atom_counts = self.atom_counts
        copy.text_only = self.text_only
        copy.best_baselines = self.best_baselines
        return copy

    @cached_property
    def values(self) -> pd.DataFrame:
        """One row per model, task and metric. Raises ValueError for results that must not be in one report."""
        check(self)
        return make_values(self)


def check(results: Iterable[Result]) -> None:
    """Raise ValueError for results that must not be in one report.

    These are results without chance level, two results of a model on a task, and results on different data.
    """
    versions: dict[str, str] = {}
    keys: set[tuple[str, str]] = set()
    for result in results:
        task = result.data["task"]
        data = result.data["data"]["fingerprint"]
        if not result.data["chance"]:
            raise ValueError(
                f"{result.path}: no chance level. The report shows no metric without its chance level."
            )
        if result.key in keys:
            raise ValueError(
                f"Two results of {result.model} on {task}. Pass each model's folder once."
            )
        if versions.setdefault(task, data) != data:
            raise ValueError(
                f"{task}: the results come from different versions of the data. Run the models again."
            )
        keys.add(result.key)


def read_results(folders: Iterable[Path]) -> Results:
    """Read all results in the models' folders, sorted by name. Raises FileNotFoundError for a folder without results.

    Equal results count once, since `compeval probe run` and `compeval run` may have evaluated the same model.
    """
    results: dict[str, Result] = {}
    for folder in folders:
        paths = list_documents(folder)
        if not paths:
            raise FileNotFoundError(
                f"{folder}: no results. `compeval run --model ...` writes them."
            )
        for path in paths:
            data = read(path)
            results.setdefault(json.dumps(data), Result(path, data))
    return Results(results.values())


def split_parts(results: Results) -> dict[str, Results]:
    """Return id of a part -> its results, without empty parts.

    The published sets have a part of their own if the same sets were also built from photographs. Tasks without images
    belong to the first part.
    """
    built = {
        result.family
        for result in results
        if result.is_synthetic is False and not result.is_published
    }
    part_of = {
        result: "published" if result.is_published and result.family in built else "photographs"
        for result in results
        if result.is_synthetic is False
    } | {result: "microworld" for result in results if result.is_synthetic}
    names = [name for name in PARTS if name in part_of.values()] or ["photographs"]
    return {
        name: results.copy_with(
            result for result in results if part_of.get(result, names[0]) == name
        )
        for name in names
    }


def get_corpus_name(corpus: str | None, is_microworld: bool = False) -> str:
    """Return the title of a training corpus, such as "LAION-400M".

    The micro-world's corpora have the names of real ones, so the title says which of both it is. "-" for no corpus.
    """
    if is_microworld:
        return f"{corpus} (micro-world)"
    return CORPORA.get(corpus or "", corpus or MISSING)


@cache
def _list_image_protocols() -> frozenset[str]:
    return frozenset(protocol.name for protocol in all_protocols() if protocol.images)


def make_values(results: Iterable[Result]) -> pd.DataFrame:
    """Return the values of all results, by training corpus (in the paper's order), model and task."""
    results = list(results)
    described = pd.DataFrame(list(map(_describe, results))).astype(
        {"complexity": "Int64", "set_size": "Int64"}
    )
    measured = [
        {"result": number, "metric": metric, "value": value, "low": low, "high": high}
        | {"std": result.data["std"].get(metric), "chance": result.data["chance"].get(metric)}
        for number, result in enumerate(results)
        for metric, value in result.metrics.items()
        for low, high in [result.data["intervals"].get(metric) or NO_INTERVAL]
    ]
    values = described.join(
        pd.DataFrame(measured).set_index("result").astype({"std": float, "chance": float})
    )
    position = (
        values["trained_on"]
        .map({corpus: number for number, corpus in enumerate(CORPORA)})
        .fillna(len(CORPORA))
    )
    order = values.assign(position=position).sort_values(["position", "model"], kind="stable").index
    return values.loc[order.unique()].reset_index(drop=True)


def sort_by(values: pd.DataFrame, column: str, order: Iterable[Any]) -> pd.DataFrame:
    """Return the rows whose value of ``column`` is in ``order``, in this order."""
    position = {value: number for number, value in enumerate(order)}
    selected = values[values[column].isin(list(position))]
    return selected.sort_values(column, key=lambda cells: cells.map(position), kind="stable")


def _describe(result: Result) -> dict[str, Any]:
    data = result.data
    config = data["config"]
    variant = data["variant"] or ""
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
