"""Read the results of ``compeval run`` (evaluators/results/documents.py) into a list and a data frame.

A report has one part for each world that its results are of: numbers on drawn scenes, on photographs and on the
published sets are never in the same table.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from evaluators.protocols import all_protocols
from evaluators.results.documents import list_documents, read
from generators.schemas.corpus_names import CORPORA, get_kind, parse_systematicity
from generators.storage import parquet

COMPLEXITY = re.compile(r"n(\d+)")
SEED = re.compile(r"-s\d+$")
"""Suffix of model names with the training seed."""
PUBLISHED = "_published"
"""Suffix of the names of datasets that were imported from published files."""
SYSTEMATICITY_KINDS = {
    "hnall": "HN-Atom + HN-Comp",
    "hnatom": "HN-Atom",
    "hncomp": "HN-Comp",
    "hnatom_balanced": "HN-Atom, balanced",
    "hncomp_balanced": "HN-Comp, balanced",
}
PRODUCTIVITY_KINDS = {
    "hnatom": "HN-Atom",
    "hnswap": "HN-Swap",
    "hnneg": "HN-Neg",
    "hnatom_balanced": "HN-Atom, balanced",
    "hnswap_balanced": "HN-Swap, balanced",
    "hnneg_balanced": "HN-Neg, balanced",
    "hnall": "All types",
}


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
    def key(self) -> tuple[str, str]:
        """Model and task."""
        return self.model, self.data["task"]

    @property
    def is_synthetic(self) -> bool | None:
        """Whether the images are drawn scenes. None for tasks without images."""
        has_images = self.data["protocol"] in _list_image_protocols()
        return self.data["synthetic"] if has_images else None

    @property
    def is_trained_on_microworld(self) -> bool:
        """Whether the training corpus is the micro-world's. Documents of version 0.1 do not say so."""
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
    """The frequencies of atoms (evaluators/report/atom_counts.py)."""
    text_only: Mapping[str, Any] = {}
    """Dataset -> content of text_only.json, which the stage ``text_only`` writes."""
    shortcuts: Mapping[str, Any] = {}
    """``dataset/config`` of published sets -> the best rule without the image (evaluators/validity/shortcuts.py)."""

    def select(self, family: str) -> list[Result]:
        return [result for result in self if result.family == family]

    def select_keys(self, keys: Collection[tuple[str, str]]) -> Results:
        """Return the results with the given models and tasks."""
        return self.copy_with(result for result in self if result.key in keys)

    def copy_with(self, results: Iterable[Result]) -> Results:
        """Return other results with the same validity, counts and text-only rules."""
        copy = Results(results)
        copy.validity, copy.atom_counts, copy.text_only = self.validity, self.atom_counts, self.text_only
        copy.shortcuts = self.shortcuts
        return copy

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


PARTS = {
    "microworld": "Drawn scenes (micro-world)",
    "photographs": "Photographs",
    "published": "Published sets",
}
"""Id of a part -> its title, in the order of the page."""


def split_parts(results: Results) -> dict[str, Results]:
    """Return id of a part -> its results, without empty parts.

    The published sets have a part of their own if the same sets were also built from photographs. Tasks without images
    belong to the first part.
    """
    built = {result.family for result in results if result.is_synthetic is False and not _is_published(result)}
    parts = {name: results.copy_with([]) for name in PARTS}
    without_images = []
    for result in results:
        if result.is_synthetic is None:
            without_images.append(result)
        elif result.is_synthetic:
            parts["microworld"].append(result)
        else:
            parts["published" if _is_published(result) and result.family in built else "photographs"].append(result)
    first = next((name for name, members in parts.items() if members), "photographs")
    parts[first] += without_images
    return {name: members for name, members in parts.items() if members}


def _is_published(result: Result) -> bool:
    return result.data["dataset"].endswith(PUBLISHED)


def group_by_series(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return model label without the training seed -> results of all seeds."""
    series: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.model):
        name = SEED.sub("", result.model) + result.label.removeprefix(result.model)
        series.setdefault(name, []).append(result)
    return series


def make_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row per result: model, training corpus, parts of the task, metrics, chance and interval of Recall@1.

    Raises ValueError for a result without chance level, and for results of a task on different data.
    """
    rows = []
    for result in results:
        data, model = result.data, result.data["model"]
        if not data["chance"]:
            raise ValueError(f"{result.path}: no chance level. The report shows no metric without its chance level.")
        is_crepe = result.family == "crepe"
        systematicity = parse_systematicity(data["config"]) if is_crepe else None
        number = COMPLEXITY.fullmatch(data["split"])
        low, high = data["intervals"].get("recall@1") or (None, None)
        rows.append(
            {
                "model": model["name"],
                "series": SEED.sub("", model["name"]),
                "trained_on": model["corpus"],
                "training_data": result.training_data,
                "is_own_world": result.is_trained_on_microworld == bool(result.is_synthetic),
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
                "synthetic": result.is_synthetic,
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
    return table


def _get_kind(config: str) -> str:
    """Return the type of a CREPE config's hard negatives, such as "hnatom" or "hnneg_balanced"."""
    return get_kind(config).removeprefix("prod_")


def get_corpus_name(corpus: str | None, is_microworld: bool = False) -> str:
    """Return the title of a training corpus, such as "LAION-400M".

    The micro-world's corpora have the names of real ones, so the title says which of both it is.
    """
    if is_microworld:
        return f"{corpus} (micro-world)"
    return CORPORA.get(corpus or "", corpus or "other")


@cache
def _list_image_protocols() -> frozenset[str]:
    return frozenset(protocol.name for protocol in all_protocols() if protocol.images)


def select_own_corpus(results: pd.DataFrame) -> pd.DataFrame:
    """Return the systematicity rows in which the model was trained on the corpus of the set."""
    is_own = (results["corpus"] == results["trained_on"]) & results["is_own_world"]
    return results[results["split"].notna() & is_own]


def group_by_model(results: pd.DataFrame, index: str) -> Iterator[tuple[list[str], dict[Any, dict[Any, Any]]]]:
    """Yield [training data, label] of each model with its rows as a dictionary by column ``index``.

    Models are in the paper's order of training corpora.
    """
    position = {corpus: number for number, corpus in enumerate(CORPORA)}
    ranked = results.assign(position=results["trained_on"].map(position).fillna(len(position)))
    for (_, model), group in ranked.groupby(["position", "model"]):
        first = group.iloc[0]
        label = f"{model} *" if first["contaminated"] else str(model)
        yield [first["training_data"], label], group.set_index(index).to_dict("index")
