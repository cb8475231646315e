"""The scores of a leaderboard: models x benchmarks, with intervals and ranks.

A benchmark is a published dataset, or one kind of hard negatives of it: CREPE's kinds, each config of a user's own
data, and each config of a dataset whose tasks have different chance levels. Word order and replaced atoms are different
abilities, and a set of 9 rows must not weigh as much as one of 293, so kinds are columns of their own and are not
averaged with each other. The score of a benchmark is the unweighted mean over its tasks (and over both directions of
retrieval). A model without some task of a benchmark has
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

from compeval.base.schemas.corpus_names import get_kind, parse_systematicity
from compeval.evaluators.metrics import ranking
from compeval.evaluators.metrics.intervals import Interval, compute_weighted_interval
from compeval.evaluators.report.headlines import MIN_ROWS
from compeval.evaluators.report.results import Result
from compeval.evaluators.report.sections.own import is_own
from compeval.evaluators.report.tables import TEXTS
from compeval.evaluators.results.paired import read_common_rows, stack_values
from compeval.evaluators.results.task_names import describe_set
from compeval.evaluators.validity.best_baselines import BestBaseline
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
NO_BASELINES: Mapping[str, BestBaseline] = {}
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
    kind: str = ""
    """Kind of hard negatives; "" if the benchmark is all of a dataset."""
    baseline: float | None = None
    """Mean of the best text-only baselines of the tasks; None if one was not measured."""
    baseline_name: str = ""

    @property
    def has_differences(self) -> bool:
        """True if a model is significantly better than another one."""
        return any(score.rank > 1 for score in self.scores.values())


def make_benchmarks(
    results: Iterable[Result], baselines: Mapping[str, BestBaseline] = NO_BASELINES
) -> list[BenchmarkScores]:
    """Make the benchmarks of all results, composition before recognition, and those of a few rows last.

    ``baselines``: task -> best text-only baseline.
    """
    ranked = list(filter(is_ranked, results))
    chances: dict[str, set[float]] = {}
    for result in ranked:
        if not is_recognition(result):
            chance = round(float(np.mean(get_chances(result))), 3)
            chances.setdefault(get_dataset(result), set()).add(chance)
    groups: dict[tuple[str, bool, str], list[Result]] = {}
    for result in ranked:
        dataset = get_dataset(result)
        kind = get_kind_name(result, is_mixed=len(chances.get(dataset, ())) > 1)
        groups.setdefault((dataset, is_recognition(result), kind), []).append(result)
    benchmarks = []
    for (dataset, recognises, kind), members in groups.items():
        has_other = any(other == dataset and not both for other, both, _ in groups)
        title = "recognition" if recognises and has_other else kind
        name = f"{dataset}, {title}" if title else dataset
        benchmarks.append(_make_benchmark(name, members, recognises, kind, baselines))
    return sorted(
        benchmarks,
        key=lambda benchmark: (
            benchmark.is_recognition,
            benchmark.rows < MIN_ROWS,
            natural_key(benchmark.name),
        ),
    )


def is_recognition(result: Result) -> bool:
    return result.data["protocol"] in RECOGNITION


def get_dataset(result: Result) -> str:
    """Return the name of the dataset, of balanced subsets with their variant."""
    suffix = f"@{BALANCED}" if result.data["variant"] == BALANCED else ""
    return f"{result.data['dataset']}{suffix}"


def get_kind_name(result: Result, *, is_mixed: bool) -> str:
    """Return the kind of hard negatives that is a benchmark of its own, or "" (module docstring).

    ``is_mixed``: whether the tasks of the dataset have different chance levels.
    """
    config = result.data["config"]
    if is_recognition(result):
        return ""
    if is_own(result):
        return describe_set(config)
    if result.family == "crepe":
        kind = get_kind(config).removeprefix("prod_")
        return TEXTS["labels"]["productivity_kinds"].get(kind, config)
    return config if is_mixed else ""


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


def _make_benchmark(
    name: str,
    results: Sequence[Result],
    is_recognition: bool,
    kind: str,
    baselines: Mapping[str, BestBaseline],
) -> BenchmarkScores:
    versions = Counter(
        (result.data["task"], result.data["data"]["fingerprint"]) for result in results
    )
    newest = {task: fingerprint for (task, fingerprint), _ in reversed(versions.most_common())}
    by_task: dict[str, dict[str, Result]] = {}
    for result in results:
        # Results on other data are left out.
        if result.data["data"]["fingerprint"] == newest[result.data["task"]]:
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
    found = [baselines[task] for task in tasks if task in baselines]
    is_measured = len(found) == len(tasks)
    names = {baseline.name for baseline in found}
    return BenchmarkScores(
        name,
        tasks,
        hit_MN.shape[1],
        chance,
        is_recognition,
        scores,
        by_task,
        kind,
        float(np.mean([baseline.recall for baseline in found])) if is_measured else None,
        (names.pop() if len(names) == 1 else "the best of each task") if is_measured else "",
    )


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
