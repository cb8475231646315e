"""The scores of a leaderboard: models x benchmarks, with intervals and ranks.

A benchmark is a dataset; a dataset whose tasks have different numbers of candidates is several benchmarks. Its score is
the unweighted mean over its tasks (and over both directions of retrieval). A model without some task of a benchmark has
no score on it, so no mean is over other tasks than that of another model. The balanced subsets of a published dataset
(loaders/published/balanced.py) are a benchmark of their own. Left out: raw retrieval, perturbed sets,
the sets of systematicity (each model has its own), and runs on a limited number of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compeval.base.schemas.corpus_names import parse_systematicity
from compeval.evaluators.metrics import ranking
from compeval.evaluators.metrics.intervals import Interval, compute_weighted_interval
from compeval.evaluators.report.results import Result
from compeval.evaluators.results.paired import read_common_rows, stack_values
from compeval.loaders.datasets.sorting import natural_key

COUNTED = {
    "choice": {"recall@1": "rank"},
    "compound": {"recall@1": "rank"},
    "group": {"group_score": "group_hit"},
    "image_choice": {"recall@1": "rank"},
    "video_choice": {"recall@1": "rank"},
    "video_group": {"group_score": "group_hit"},
    "paraphrase": {"accuracy": "hit"},
    "sets": {"accuracy": "hit"},
    "paired_questions": {"group_accuracy": "hit"},
    "true_or_false": {"accuracy": "hit"},
    "agreement": {"accuracy": "hit"},
    "classification": {"top1": "rank"},
    "recall": {"i2t_recall@1": "i2t_rank", "t2i_recall@1": "t2i_rank"},
}
"""Protocol -> metrics that make up its score -> column of the per-example table with the ranks or hits."""
RECOGNITION = ("classification", "recall")
"""Protocols that measure recognition. All others measure composition."""
SEED = re.compile(r"s\d+")
BALANCED = "balanced"
"""Variant of the balanced subsets of published sets."""


@dataclass(frozen=True)
class Score:
    """The score of a model on a benchmark. ``rank`` is 1 + the number of models that are significantly better."""

    share: float
    interval: Interval
    rank: int


@dataclass(frozen=True)
class BenchmarkScores:
    name: str
    tasks: Sequence[str]
    rows: int
    chance: float
    is_recognition: bool
    scores: Mapping[str, Score]
    """Model -> its score."""
    results: Mapping[str, Mapping[str, Result]] = field(repr=False)
    """Task -> model -> result."""


def make_benchmarks(results: Iterable[Result]) -> list[BenchmarkScores]:
    """Make the benchmarks of all results, composition before recognition."""
    groups: dict[tuple[str, bool, float], list[Result]] = {}
    for result in filter(is_ranked, results):
        is_recognition = result.data["protocol"] in RECOGNITION
        chance = 0.0 if is_recognition else round(float(np.mean(get_chances(result))), 3)
        dataset = result.data["dataset"] + (
            f"@{BALANCED}" if result.data["variant"] == BALANCED else ""
        )
        groups.setdefault((dataset, is_recognition, chance), []).append(result)
    counts = Counter(dataset for dataset, *_ in groups)
    benchmarks = []
    for (dataset, is_recognition, chance), members in groups.items():
        name = (
            dataset
            if counts[dataset] == 1
            else f"{dataset}, 1 of {round(1 / chance) if chance else 'all'}"
        )
        benchmarks.append(_make_benchmark(name, members, is_recognition))
    return sorted(
        benchmarks, key=lambda benchmark: (benchmark.is_recognition, natural_key(benchmark.name))
    )


def is_ranked(result: Result) -> bool:
    """Return False for results that are not part of any benchmark (module docstring)."""
    data = result.data
    is_own_set = result.family == "crepe" and parse_systematicity(data["config"]) is not None
    is_perturbed = data["variant"] not in ("", None, BALANCED) and not SEED.fullmatch(
        data["variant"]
    )
    is_raw = data["config"].endswith("_raw")
    is_limited = data["data"]["limit"] is not None
    return data["protocol"] in COUNTED and not (is_own_set or is_perturbed or is_raw or is_limited)


def choose_tasks(tasks_by_model: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the set of tasks that is measured for most models, weighted by its size."""

    def weigh(tasks: frozenset[str]) -> tuple[int, int]:
        return len(tasks) * sum(tasks <= others for others in tasks_by_model.values()), len(tasks)

    return max(sorted(set(tasks_by_model.values()), key=sorted), key=weigh)


def _make_benchmark(name: str, results: Sequence[Result], is_recognition: bool) -> BenchmarkScores:
    versions = Counter(
        (result.data["task"], result.data["data"]["fingerprint"]) for result in results
    )
    newest = {task: fingerprint for (task, fingerprint), _ in reversed(versions.most_common())}
    by_task: dict[str, dict[str, Result]] = {}
    for result in results:
        if (
            result.data["data"]["fingerprint"] == newest[result.data["task"]]
        ):  # results on other data are left out
            by_task.setdefault(result.data["task"], {})[result.model] = result
    models = sorted({model for members in by_task.values() for model in members})
    tasks_of = {
        model: frozenset(task for task, members in by_task.items() if model in members)
        for model in models
    }
    chosen = choose_tasks(tasks_of)
    models = [model for model in models if chosen <= tasks_of[model]]
    tasks = sorted(chosen, key=natural_key)
    columns = [
        hits for task in tasks for hits in _read_hits([by_task[task][model] for model in models])
    ]
    hit_MN, cluster_N, weight_N = (
        np.concatenate(parts, axis=-1) for parts in zip(*columns, strict=True)
    )
    found = ranking.rank(hit_MN, cluster_N, weight_N)
    scores = {
        model: Score(
            float(found.share_M[index]),
            compute_weighted_interval(hit_MN[index], cluster_N, weight_N),
            int(found.rank_M[index]),
        )
        for index, model in enumerate(models)
    }
    chance = float(
        np.mean([chance for task in tasks for chance in get_chances(by_task[task][models[0]])])
    )
    by_task = {task: {model: by_task[task][model] for model in models} for task in tasks}
    return BenchmarkScores(name, tasks, hit_MN.shape[1], chance, is_recognition, scores, by_task)


def get_chances(result: Result) -> list[float]:
    """Return the chance level of each metric that makes up the score of a result."""
    return [result.data["chance"][metric] for metric in COUNTED[result.data["protocol"]]]


def _read_hits(results: Sequence[Result]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield hits (M, N), clusters (N) and weights (N) of each column of a task, on the rows that all models scored."""
    columns = COUNTED[results[0].data["protocol"]].values()
    tables = read_common_rows([result.path for result in results])
    for column in columns:
        value_MN, cluster_N = stack_values(tables, column)
        rows = value_MN.shape[1]
        yield value_MN == 1, cluster_N.astype(str), np.full(rows, 1 / rows / len(columns))
