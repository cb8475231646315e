"""Results on disk -> data frames. What is read is what ``compeval run`` wrote: see evaluators/results/documents.py."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from evaluators.results.documents import documents, read
from generators.schemas.corpus_names import CORPORA
from generators.storage import parquet

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""The end of the names of models that differ in their training seed alone."""


@dataclass(frozen=True)
class Result:
    """One model on one task."""

    path: Path
    data: dict[str, Any]

    @property
    def examples(self) -> pd.DataFrame:
        """The per-example rows."""
        return parquet.read_table(self.path.with_suffix(".parquet")).to_pandas()


def read_results(folders: Iterable[Path]) -> list[Result]:
    """Every result below the models' folders, in name order. FileNotFoundError for a folder without any.

    Of equal ones the first: `compeval probe run` measures a model that `compeval run` may have measured elsewhere.
    """
    found: dict[str, Result] = {}
    for folder in folders:
        paths = documents(folder)
        if not paths:
            raise FileNotFoundError(f"{folder}: no results. Make some with `compeval run --model ...`.")
        for path in paths:
            data = read(path)
            found.setdefault(json.dumps(data), Result(path, data))
    return list(found.values())


def _kind(config: str) -> str:
    """The type of a CREPE config's hard negatives: "hnatom", "hnneg_balanced"."""
    return config.removeprefix("prod_") if config.startswith("prod_") else config.rsplit("_", 1)[-1]


def frame(results: Iterable[Result]) -> pd.DataFrame:
    """One row a result: model, what it was trained on, task parts, set size, metrics, interval and chance of Recall@1.

    ValueError where a result has no chance level, where two results of one task come from different data, or where
    synthetic and real sources are mixed: their numbers must not stand in one table.
    """
    rows = []
    for result in results:
        data, metrics = result.data, result.data["metrics"]
        if not data["chance"]:
            raise ValueError(f"{result.path}: no chance level; a number without one is not printed.")
        config, crepe = data["config"], data["dataset"] == "crepe"
        corpus, _, rest = config.partition("_")
        systematic = crepe and corpus in CORPORA
        number = COMPLEXITY.fullmatch(data["split"])
        low, high = data["intervals"].get("recall@1", (None, None))
        rows.append(
            {
                "model": data["model"]["name"],
                "series": SEED.sub("", data["model"]["name"]),
                "trained_on": data["model"]["corpus"],
                "contaminated": data["model"]["contaminated"],
                "task": data["task"],
                "corpus": corpus if systematic else None,
                "split": rest.split("_")[0] if systematic else None,
                "kind": _kind(config) if crepe else None,
                "complexity": int(number[1]) if number else None,
                "rows": data["data"]["rows"],
                "set_size": data["data"]["set_size"],
                "data": data["data"]["fingerprint"],
                "source": data["source"],
                "synthetic": data["synthetic"],
                "low": low,
                "high": high,
                "chance": data["chance"].get("recall@1", data["chance"].get("i2t_recall@1")),
                "dataset": data["dataset"],
                "recall@1": math.nan,
                **metrics,
                **{f"{key}_std": value for key, value in data["std"].items()},
            }
        )
    table = pd.DataFrame(rows)
    for column in ("trained_on", "contaminated"):
        # pandas makes NaN of None beside texts, and NaN counts as true: a clean model would be marked.
        table[column] = pd.Series([row[column] for row in rows], dtype=object)
    twice = table.duplicated(["model", "task"])
    if twice.any():
        model, task = table.loc[twice, ["model", "task"]].iloc[0]
        raise ValueError(f"Two results of {model} on {task}: give each model's folder once, under one name.")
    mixed = table.groupby("task")["data"].nunique()
    if (mixed > 1).any():
        raise ValueError(
            f"{mixed.idxmax()}: the results come from different versions of the data. Run the models again."
        )
    if table["synthetic"].nunique() > 1:
        raise ValueError(
            f"Results of {' and '.join(sorted(table['source'].unique()))} must not be mixed in one report."
        )
    return table
