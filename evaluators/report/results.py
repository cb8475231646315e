"""Results of ``compeval run`` (evaluators/results/documents.py) as a list and as a data frame."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from evaluators.results.documents import documents, read
from generators.schemas.corpus_names import CORPORA
from generators.storage import parquet

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""The end of the names of models that differ only in their training seed."""
SYSTEMATICITY_KINDS = {"hnall": "HN-Atom + HN-Comp", "hnatom": "HN-Atom", "hncomp": "HN-Comp"}
PRODUCTIVITY_KINDS = {
    "hnatom": "HN-Atom",
    "hnswap": "HN-Swap",
    "hnneg": "HN-Neg",
    "hnneg_balanced": "HN-Neg, balanced",
    "hnall": "All types",
}


@dataclass(frozen=True)
class Result:
    """One model on one task."""

    path: Path
    data: dict[str, Any]

    @property
    def examples(self) -> pd.DataFrame:
        """The per-example rows."""
        return parquet.read_table(self.path.with_suffix(".parquet")).to_pandas()

    @property
    def model(self) -> str:
        return self.data["model"]["name"]

    @property
    def label(self) -> str:
        """The model's name, marked if it was trained on the benchmark's images."""
        return self.model + (" *" if self.data["model"]["contaminated"] else "")

    @property
    def metrics(self) -> dict[str, float]:
        return self.data["metrics"]


class Results(list[Result]):
    """All results of a report."""

    validity: dict[str, Any] | None = None
    """The numbers of the validity stage, validity.json."""

    def of(self, dataset: str) -> list[Result]:
        return [result for result in self if result.data["dataset"] == dataset]

    @cached_property
    def frame(self) -> pd.DataFrame:
        return frame(self)


def read_results(folders: Iterable[Path]) -> Results:
    """Every result in the models' folders, in name order. FileNotFoundError for a folder without results.

    Equal results count once: `compeval probe run` measures a model that `compeval run` may have measured elsewhere.
    """
    results: dict[str, Result] = {}
    for folder in folders:
        paths = documents(folder)
        if not paths:
            raise FileNotFoundError(f"{folder}: no results. `compeval run --model ...` writes them.")
        for path in paths:
            data = read(path)
            results.setdefault(json.dumps(data), Result(path, data))
    return Results(results.values())


def by_series(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Model label without the training seed -> the results of all seeds."""
    series: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.model):
        name = SEED.sub("", result.model) + result.label.removeprefix(result.model)
        series.setdefault(name, []).append(result)
    return series


def frame(results: Iterable[Result]) -> pd.DataFrame:
    """One row per result: model, training corpus, parts of the task, metrics, chance and interval of Recall@1.

    ValueError for a result without chance level, for two results of one task on different data, and for synthetic
    results next to real ones: their numbers must not be in one table.
    """
    rows = []
    for result in results:
        data, model = result.data, result.data["model"]
        if not data["chance"]:
            raise ValueError(f"{result.path}: no chance level; the report prints no number without one.")
        crepe = data["dataset"] == "crepe"
        corpus, _, rest = data["config"].partition("_")
        systematic = crepe and corpus in CORPORA
        number = COMPLEXITY.fullmatch(data["split"])
        low, high = data["intervals"].get("recall@1", (None, None))
        rows.append(
            {
                "model": model["name"],
                "series": SEED.sub("", model["name"]),
                "trained_on": model["corpus"],
                "contaminated": model["contaminated"],
                "task": data["task"],
                "dataset": data["dataset"],
                "corpus": corpus if systematic else None,
                "split": rest.split("_")[0] if systematic else None,
                "kind": _kind(data["config"]) if crepe else None,
                "complexity": int(number[1]) if number else None,
                "rows": data["data"]["rows"],
                "set_size": data["data"]["set_size"],
                "data": data["data"]["fingerprint"],
                "source": data["source"],
                "synthetic": data["synthetic"],
                "low": low,
                "high": high,
                "chance": data["chance"].get("recall@1", data["chance"].get("i2t_recall@1")),
                "recall@1": math.nan,
                **data["metrics"],
                **{f"{key}_std": value for key, value in data["std"].items()},
            }
        )
    table = pd.DataFrame(rows)
    for column in ("trained_on", "contaminated"):
        # pandas turns None among texts into NaN, and NaN is truthy: an unmarked model would be marked.
        table[column] = pd.Series([row[column] for row in rows], dtype=object)
    repeated = table.duplicated(["model", "task"])
    if repeated.any():
        model, task = table.loc[repeated, ["model", "task"]].iloc[0]
        raise ValueError(f"Two results of {model} on {task}: name each model's folder once.")
    versions = table.groupby("task")["data"].nunique()
    if (versions > 1).any():
        raise ValueError(
            f"{versions.idxmax()}: the results come from different versions of the data. Run the models again."
        )
    if table["synthetic"].nunique() > 1:
        sources = " and ".join(sorted(table["source"].unique()))
        raise ValueError(f"Results of {sources} must not be mixed in one report.")
    return table


def _kind(config: str) -> str:
    """The type of a CREPE config's hard negatives: "hnatom", "hnneg_balanced"."""
    return config.removeprefix("prod_") if config.startswith("prod_") else config.rsplit("_", 1)[-1]


def corpus_name(corpus: str | None) -> str:
    return CORPORA.get(corpus or "", corpus or "other")


def own_corpus(results: pd.DataFrame) -> pd.DataFrame:
    """Systematicity rows of models on the corpus that they were trained on."""
    return results[results["split"].notna() & (results["corpus"] == results["trained_on"])]


def by_model(results: pd.DataFrame, index: str) -> Iterator[tuple[list[str], dict[Any, dict[Any, Any]]]]:
    """Training data and label of each model, in the paper's order, with its rows by the column ``index``."""
    position = {corpus: number for number, corpus in enumerate(CORPORA)}
    ranked = results.assign(position=results["trained_on"].map(position).fillna(len(position)))
    for (_, model), group in ranked.groupby(["position", "model"]):
        first = group.iloc[0]
        label = f"{model} *" if first["contaminated"] else str(model)
        yield [corpus_name(first["trained_on"]), label], group.set_index(index).to_dict("index")
