"""Read the results of ``compeval run`` (evaluators/results/documents.py) into a list and a data frame."""

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

from evaluators.protocols import all_protocols
from evaluators.results.documents import list_documents, read
from generators.schemas.corpus_names import CORPORA, parse_systematicity
from generators.storage import parquet

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""Suffix of model names with the training seed."""
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
    """The result of one model on one task."""

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
        """The model's name, with * if the model was trained on the benchmark's images."""
        return self.model + (" *" if self.data["model"]["contaminated"] else "")

    @property
    def metrics(self) -> dict[str, float]:
        return self.data["metrics"]


class Results(list[Result]):
    """All results of a report."""

    validity: dict[str, Any] | None = None
    """Content of validity.json, which the stage ``validity`` writes."""
    atom_counts: pd.DataFrame | None = None
    """The frequencies of atoms (evaluators/report/atom_counts.py)."""

    def select(self, dataset: str) -> list[Result]:
        return [result for result in self if result.data["dataset"] == dataset]

    @cached_property
    def frame(self) -> pd.DataFrame:
        return make_frame(self)


def read_results(folders: Iterable[Path]) -> Results:
    """Read all results in the models' folders, sorted by name. Raises FileNotFoundError for a folder without results.

    Equal results count once, since `compeval probe run` and `compeval run` may have evaluated the same model.
    """
    results: dict[str, Result] = {}
    for folder in folders:
        paths = list_documents(folder)
        if not paths:
            raise FileNotFoundError(f"{folder}: no results. `compeval run --model ...` writes them.")
        for path in paths:
            data = read(path)
            results.setdefault(json.dumps(data), Result(path, data))
    return Results(results.values())


def group_by_series(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return model label without the training seed -> results of all seeds."""
    series: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.model):
        name = SEED.sub("", result.model) + result.label.removeprefix(result.model)
        series.setdefault(name, []).append(result)
    return series


def make_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row per result: model, training corpus, parts of the task, metrics, chance and interval of Recall@1.

    Raises ValueError for a result without chance level, for results of a task on different data, and for results on
    synthetic images together with results on photographs, because such numbers must not be in the same table. Results
    on tasks without images may be combined with both.
    """
    rows = []
    image_protocols = {protocol.name for protocol in all_protocols() if protocol.images}
    for result in results:
        data, model = result.data, result.data["model"]
        if not data["chance"]:
            raise ValueError(f"{result.path}: no chance level. The report shows no metric without its chance level.")
        is_crepe = data["dataset"] == "crepe"
        systematicity = parse_systematicity(data["config"]) if is_crepe else None
        number = COMPLEXITY.fullmatch(data["split"])
        low, high = data["intervals"].get("recall@1") or (None, None)
        rows.append(
            {
                "model": model["name"],
                "series": SEED.sub("", model["name"]),
                "trained_on": model["corpus"],
                "contaminated": model["contaminated"],
                "task": data["task"],
                "dataset": data["dataset"],
                "config": data["config"],
                "corpus": systematicity.corpus if systematicity else None,
                "split": systematicity.split if systematicity else None,
                "kind": _get_kind(data["config"]) if is_crepe else None,
                "complexity": int(number[1]) if number else None,
                "rows": data["data"]["rows"],
                "set_size": data["data"]["set_size"],
                "data": data["data"]["fingerprint"],
                "source": data["source"],
                "synthetic": data["synthetic"] if data["protocol"] in image_protocols else None,
                "low": low,
                "high": high,
                "chance": data["chance"].get("recall@1", data["chance"].get("i2t_recall@1")),
                "recall@1": math.nan,
                **data["metrics"],
                **{f"{key}_std": value for key, value in data["std"].items()},
            }
        )
    table = pd.DataFrame(rows)
    for column in ("trained_on", "contaminated", "synthetic"):
        # pandas converts None to NaN, which is truthy, so every model would be marked as contaminated.
        table[column] = pd.Series([row[column] for row in rows], dtype=object)
    repeated = table.duplicated(["model", "task"])
    if repeated.any():
        model, task = table.loc[repeated, ["model", "task"]].iloc[0]
        raise ValueError(f"Two results of {model} on {task}. Pass each model's folder once.")
    versions = table.groupby("task")["data"].nunique()
    if (versions > 1).any():
        raise ValueError(
            f"{versions.idxmax()}: the results come from different versions of the data. Run the models again."
        )
    if table["synthetic"].nunique() > 1:
        sources = " and ".join(sorted(table.loc[table["synthetic"].notna(), "source"].unique()))
        raise ValueError(f"Results of {sources} must not be mixed in one report.")
    return table


def _get_kind(config: str) -> str:
    """Return the type of a CREPE config's hard negatives, such as "hnatom" or "hnneg_balanced"."""
    return config.removeprefix("prod_") if config.startswith("prod_") else config.rsplit("_", 1)[-1]


def get_corpus_name(corpus: str | None) -> str:
    """Return the title of a training corpus, such as "LAION-400M"."""
    return CORPORA.get(corpus or "", corpus or "other")


def select_own_corpus(results: pd.DataFrame) -> pd.DataFrame:
    """Return the systematicity rows in which the model was trained on the corpus of the set."""
    return results[results["split"].notna() & (results["corpus"] == results["trained_on"])]


def group_by_model(results: pd.DataFrame, index: str) -> Iterator[tuple[list[str], dict[Any, dict[Any, Any]]]]:
    """Yield [training data, label] of each model with its rows as a dictionary by column ``index``.

    Models are in the paper's order of training corpora.
    """
    position = {corpus: number for number, corpus in enumerate(CORPORA)}
    ranked = results.assign(position=results["trained_on"].map(position).fillna(len(position)))
    for (_, model), group in ranked.groupby(["position", "model"]):
        first = group.iloc[0]
        label = f"{model} *" if first["contaminated"] else str(model)
        yield [get_corpus_name(first["trained_on"]), label], group.set_index(index).to_dict("index")
