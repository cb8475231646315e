"""Compare models on the same rows: differences with confidence intervals, paired tests, ranks and power.

The interval of the difference in the main metric (Recall@1, group score ...) is over images
(evaluators/metrics/intervals.py). McNemar's exact test compares hits. Wilcoxon's test compares ranks, or hits for
protocols without ranks. The p-values of all tasks of a comparison are Holm-corrected together. Results on different
data cannot be compared. Shares are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from compeval.evaluators.metrics import power, ranking, statistics
from compeval.evaluators.metrics.categories import read_categories
from compeval.evaluators.metrics.intervals import (
    QUANTILE,
    Interval,
    compute_difference_interval,
    compute_share_interval,
    count_effective_rows,
)
from compeval.evaluators.protocols.ranking import PAIRWISE, compute_pairwise
from compeval.evaluators.results.paired import (
    CommonTask,
    PairedValues,
    read_common_tasks,
    read_paired_values,
    stack_values,
)

SHARE_OF_HITS = "share of hits"
"""The metric of a mean over tasks whose own metrics differ."""


class Comparison(NamedTuple):
    """Comparison of two models on one task and direction; ``difference`` is b minus a."""

    task: str
    model_a: str
    model_b: str
    metric: str
    rows: int
    a: float
    b: float
    difference: float
    interval: Interval
    mcnemar: float | None = None
    """p-value of the McNemar test; None for a mean over tasks, and for the accuracy on pairs, which is tested by
    ranks."""
    wilcoxon: float | None = None
    mcnemar_holm: float | None = None
    wilcoxon_holm: float | None = None
    chance: float | None = None
    """Chance level; None for a mean over tasks."""


def compare(a: Path, b: Path) -> list[Comparison]:
    """Compare two result documents, or all common tasks of two result folders.

    Raises ValueError if there is no common task or if two results are of different data.
    """
    return compare_pairs(list(read_paired_values([a, b])))


def compare_pairs(pairs: Sequence[PairedValues]) -> list[Comparison]:
    """Compare two models, given their values on the same rows of each task."""
    lines: list[Comparison] = []
    pairwise: list[Comparison] = []
    for pair in pairs:
        line = _compare(pair, pair.metric, *pair.hits)
        lines.append(
            line._replace(
                chance=pair.chance,
                mcnemar=statistics.mcnemar_p(*pair.hits),
                wilcoxon=statistics.wilcoxon_p(*pair.value_MQ),
            )
        )
        if pair.wrong is not None:
            line = _compare(pair, PAIRWISE, *compute_pairwise(pair.value_MQ, pair.wrong))
            pairwise.append(line._replace(chance=1 / 2))
    return correct_p_values(lines) + pairwise


def _compare(pair: PairedValues, metric: str, a_Q: np.ndarray, b_Q: np.ndarray) -> Comparison:
    """Compare the shares or hits of two models, without tests."""
    difference_Q = b_Q.astype(np.float64) - a_Q
    interval = compute_difference_interval(difference_Q, pair.cluster_Q)
    name_a, name_b = pair.models
    a, b, difference = (float(value_Q.mean()) for value_Q in (a_Q, b_Q, difference_Q))
    return Comparison(pair.task, name_a, name_b, metric, len(a_Q), a, b, difference, interval)


def summarise(pairs: Sequence[PairedValues]) -> Comparison:
    """Return the unweighted mean over the tasks, with an interval over the images of all tasks. It has no test.

    The interval is the wider of two: from the variance between images, which tasks may share, and from the intervals of
    the tasks as if they were independent, which holds for a few rows and for models that never differ, too.
    """
    hit_2Q = np.concatenate([pair.hits for pair in pairs], axis=1).astype(np.float64)
    weight_Q = np.concatenate(
        [np.full(pair.hits.shape[1], 1 / pair.hits.shape[1]) for pair in pairs]
    ) / len(pairs)
    datasets = [
        np.full(pair.hits.shape[1], f"{pair.task.partition('/')[0]} ", object) for pair in pairs
    ]
    cluster_Q = np.concatenate(datasets) + np.concatenate(
        [pair.cluster_Q.astype(str).astype(object) for pair in pairs]
    )
    (name_a, name_b), (share_a, share_b) = pairs[0].models, hit_2Q @ weight_Q
    difference = float(share_b - share_a)
    half = max(
        _combine_halves(pairs),
        _measure_half(hit_2Q[1] - hit_2Q[0], cluster_Q.astype(str), weight_Q),
    )
    return Comparison(
        task=f"mean over {len(pairs)} tasks",
        model_a=name_a,
        model_b=name_b,
        metric=SHARE_OF_HITS,
        rows=hit_2Q.shape[1],
        a=float(share_a),
        b=float(share_b),
        difference=difference,
        interval=(max(-1.0, difference - half), min(1.0, difference + half)),
    )


def _combine_halves(pairs: Sequence[PairedValues]) -> float:
    """Return half the width of the interval of the mean over independent tasks."""
    halves: list[float] = []
    for pair in pairs:
        a_Q, b_Q = pair.hits.astype(np.float64)
        mean = float((b_Q - a_Q).mean())
        low, high = compute_difference_interval(b_Q - a_Q, pair.cluster_Q)
        # The interval of a task may end at -1 or 1.
        halves.append(max(mean - low, high - mean))
    return float(np.linalg.norm(halves)) / len(pairs)


def _measure_half(difference_Q: np.ndarray, cluster_Q: np.ndarray, weight_Q: np.ndarray) -> float:
    """Return half the width of the interval of a weighted mean, from the variance between clusters."""
    member_Q = statistics.number_clusters(cluster_Q)
    residual_C = np.bincount(
        member_Q, weights=weight_Q * (difference_Q - float(weight_Q @ difference_Q))
    )
    clusters = len(residual_C)
    return QUANTILE * float((residual_C**2).sum() * clusters / (clusters - 1 or 1)) ** 0.5


def correct_p_values(lines: list[Comparison]) -> list[Comparison]:
    """Add Holm-corrected p-values. Each test is corrected over all comparisons."""
    mcnemar = statistics.correct_by_holm(
        [line.mcnemar for line in lines if line.mcnemar is not None]
    )
    wilcoxon = statistics.correct_by_holm(
        [line.wilcoxon for line in lines if line.wilcoxon is not None]
    )
    return [
        line._replace(mcnemar_holm=p, wilcoxon_holm=q)
        for line, p, q in zip(lines, mcnemar, wilcoxon, strict=True)
    ]


class Effect(NamedTuple):
    """Difference of two models (b minus a) in one category of the rows.

    ``g`` is Cohen's g of McNemar's test: the share of b among the rows that one model solves, minus 1/2.
    """

    task: str
    model_a: str
    model_b: str
    by: str
    category: str
    rows: int
    a: float
    b: float
    interval: Interval
    g: float | None
    p: float


def compare_categories(a: Path, b: Path) -> list[Effect]:
    """Compare two models within the categories of the rows of all common tasks, largest difference first.

    p-values are Holm-corrected over all categories. Raises ValueError if no common task has categories.
    """
    effects = [effect for task in read_common_tasks([a, b]) for effect in _compare_categories(task)]
    if not effects:
        raise ValueError(
            f"{a} and {b} have no common task whose rows have categories, such as relations."
        )
    corrected = statistics.correct_by_holm([effect.p for effect in effects])
    effects = [effect._replace(p=p) for effect, p in zip(effects, corrected, strict=True)]
    return sorted(effects, key=lambda effect: (effect.task, effect.by, -abs(effect.b - effect.a)))


def _compare_categories(common: CommonTask) -> Iterator[Effect]:
    column = next((name for name in ("rank", "hit") if name in common.tables[0].column_names), None)
    if column is None:
        return
    value_2N, cluster_N = stack_values(common.tables, column)
    hit_a_N, hit_b_N = value_2N == 1
    name_a, name_b = (result["model"]["name"] for result in common.results)
    for by, category_N in read_categories(common.tables[0]).items():
        for category in np.unique(category_N):
            member_N = category_N == category
            hit_a_M = hit_a_N[member_N]
            hit_b_M = hit_b_N[member_N]
            difference_M = hit_b_M.astype(np.float64) - hit_a_M
            disagreeing = int((difference_M != 0).sum())
            yield Effect(
                *(common.results[0]["task"], name_a, name_b, by, str(category), len(hit_a_M)),
                *(float(hit_a_M.mean()), float(hit_b_M.mean())),
                interval=compute_difference_interval(difference_M, cluster_N[member_N]),
                g=float((difference_M > 0).sum() / disagreeing - 0.5) if disagreeing else None,
                p=statistics.mcnemar_p(hit_a_M, hit_b_M),
            )


class Ranked(NamedTuple):
    """A model on one task. ``rank`` is 1 + the number of models that are significantly better (Holm over all pairs)."""

    task: str
    metric: str
    rows: int
    model: str
    share: float
    interval: Interval
    rank: int
    p: dict[str, float]
    """Other model -> Holm-corrected p-value of the difference."""
    chance: float


def rank_models(folders: Sequence[Path]) -> list[Ranked]:
    """Rank the models of several result folders on every common task, best first.

    Raises ValueError if there is no common task, if results are of different data, or if two models have one name.
    """
    lines: list[Ranked] = []
    for paired in read_paired_values(folders):
        names = paired.models
        hit_MQ = paired.hits
        if len(set(names)) < len(names):
            raise ValueError(
                f"Two models are named {max(names, key=names.count)}. Choose names with `compeval run --name`."
            )
        ranks = ranking.rank(hit_MQ, paired.cluster_Q)
        of_task = [
            Ranked(
                *(paired.task, paired.metric, hit_MQ.shape[1], name, float(ranks.share_M[model])),
                compute_share_interval(hit_MQ[model], paired.cluster_Q),
                int(ranks.rank_M[model]),
                {
                    other: float(p)
                    for other, p in zip(names, ranks.p_MM[model], strict=True)
                    if other != name
                },
                paired.chance,
            )
            for model, name in enumerate(names)
        ]
        lines += sorted(of_task, key=lambda line: (line.rank, -line.share, line.model))
    return lines


class Sensitivity(NamedTuple):
    """The differences between two models that a task can detect."""

    task: str
    metric: str
    rows: int
    disagreement: float
    """Share of rows on which one model is right and the other wrong."""
    design_effect: float
    detectable: float | None
    """Smallest difference that the rows of the task show; None if they show none."""
    needed: float | None
    """Number of rows that show the given difference; None if it is larger than the disagreement."""


def measure_sensitivity(
    a: Path, b: Path, difference: float, wanted_power: float
) -> list[Sensitivity]:
    """Measure the sensitivity of all common tasks of two models (``compeval power A B``).

    Raises ValueError if there is no common task.
    """
    lines = []
    for pair in read_paired_values([a, b]):
        difference_Q = pair.hits[1].astype(np.float64) - pair.hits[0]
        rows = len(difference_Q)
        disagreement = float((difference_Q != 0).mean())
        design_effect = rows / count_effective_rows(difference_Q, pair.cluster_Q)
        options = {"power": wanted_power, "design_effect": design_effect}
        detectable = power.find_difference(rows, disagreement, **options)
        needed = (
            power.count_rows(difference, disagreement, **options)
            if difference <= disagreement
            else None
        )
        lines.append(
            Sensitivity(
                pair.task, pair.metric, rows, disagreement, design_effect, detectable, needed
            )
        )
    return lines
