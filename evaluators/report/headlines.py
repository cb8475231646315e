"""Findings for the top of the page. A sentence claims a difference only if a test supports it.

Models are compared only on the tasks that all of them were evaluated on, and results on a limited number of rows take
no part. Intervals are 95 % intervals over images.

Results below chance are explained by the form of the sets, with the balanced sets as control. In CREPE's sets, every
negative is an edit of the true caption. The true caption lies between its negatives, so a baseline that knows nothing
rarely ranks it above all of them: random word weights (stage ``text_only``) select it less often than 1/K. The captions
of a balanced set differ from each other in the same way, and random word weights are at chance. A model that is below
chance on the first and not on the second is misled by the form of the sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

import pandas as pd

from compeval.base.text_only.judges import name_judge
from compeval.evaluators.metrics.intervals import Interval, compute_share_interval
from compeval.evaluators.metrics.trend import Slope, regress
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.tables import TEXTS, format_p
from compeval.evaluators.report.text_only import (
    Baseline,
    find_best_baseline,
    find_measured,
)

MAX_MODELS = 6
"""With more models, there are no sentences about single models."""
MIN_ROWS = 10
"""Rows of a task from which its score is compared with chance."""
STANDINGS: dict[str, str] = TEXTS["labels"]["standings"]
"""Relation of a score to chance and to the best text-only baseline -> its description, from best to worst."""
CONTROL = "_balanced"
"""Suffix of the kinds of hard negatives that are the control of another kind."""


def read_hits(results: Results, values: pd.DataFrame, column: str = "task") -> pd.DataFrame:
    """Return one row per example of the results of some values: hit, image_id, model, and ``column`` of the values."""
    pairs = zip(results.find(values), values[column], strict=True)
    parts = [result.hits.assign(model=result.model, **{column: value}) for result, value in pairs]
    return pd.concat(parts, ignore_index=True)


def compute_interval(hits: pd.DataFrame) -> Interval:
    """Return the 95 % interval over images of the share of hits."""
    return compute_share_interval(hits["hit"].to_numpy(dtype=float), hits["image_id"].tolist())


def relate(interval: Sequence[float], chance: float, same: str = "not different from") -> str:
    """Return "above" or "below" if the interval is above or below chance, otherwise ``same``."""
    low, high = interval
    return "above" if low > chance else "below" if high < chance else same


def test_trend(name: str, results: Results, recall: pd.DataFrame, column: str) -> list[str]:
    """Return a sentence on whether the hits of HN-Atom depend on a column of ``recall``, or [] if it cannot be tested.

    Only the models that have all values of the column count. ``name``: key of the sentences in texts.yaml.
    """
    rows = recall[(recall["kind"] == "hnatom") & recall[column].notna()]
    if rows[column].nunique() < 2:
        return []
    hits = read_hits(results, rows, column)
    is_complete = hits.groupby("model")[column].nunique() == hits[column].nunique()
    hits = hits[hits["model"].map(is_complete)]
    slope = (
        regress(*(hits[key].to_numpy() for key in ("hit", column, "model", "image_id")))
        if len(hits)
        else None
    )
    if slope is None:
        return []
    means = hits.groupby([column, "model"])["hit"].mean().groupby(column).mean()
    values = {
        "first": means.index[0],
        "last": means.index[-1],
        "at_first": means.iloc[0],
        "at_last": means.iloc[-1],
    }
    values |= {"rows": len(hits), "models": count_models(hits), "chance": rows["chance"].iloc[0]}
    return [describe_slope(name, slope, **values)]


def describe_slope(name: str, slope: Slope, **values: object) -> str:
    """Return the sentence of texts.yaml on a slope: not significant, positive or negative."""
    sign = -1 if slope.is_significant and slope.slope < 0 else 1
    kind = {1: "positive", -1: "negative"}[sign] if slope.is_significant else "not_significant"
    low, high = sorted((100 * sign * slope.low, 100 * sign * slope.high))
    p = format_p(slope.p)
    interval = f"95 % interval {low:z.1f} to {high:z.1f}, p {p if p.startswith('<') else f'= {p}'}"
    points = 100 * sign * slope.slope
    return TEXTS["headlines"][name][kind].format(points=points, interval=interval, **values)


def count_models(rows: pd.DataFrame) -> str:
    number = rows["model"].nunique()
    return "1 model" if number == 1 else f"{number} models"


def compare_value(results: Sequence[Result], metric: str) -> str:
    """Compare a metric with chance: "above chance, 50.0%" if the intervals of all training seeds are above it."""
    chance = results[0].data["chance"][metric]
    intervals = [result.data["intervals"].get(metric) for result in results]
    if not all(intervals):
        return f"chance {chance:.1%}"
    widest = min(low for low, _ in intervals), max(high for _, high in intervals)
    return f"{relate(widest, chance)} chance, {chance:.1%}"


def find_standing(
    interval: Sequence[float], chance: float, baseline: float | None, rows: int
) -> str:
    """Return how a score with hard negatives stands to chance and to the best text-only baseline: a key of STANDINGS.

    ``interval``, ``chance`` and ``baseline`` have the same unit. ``baseline`` is None if it was not measured. A score
    that a text-only baseline reaches may come from the texts alone, so it is no evidence of composition. Neither is a
    score on a few rows: of five captions, the interval of one right answer is above chance.
    """
    if rows < MIN_ROWS:
        return "few"
    relation = relate(interval, chance, "same")
    if relation != "above":
        return relation
    if baseline is None:
        return "unmeasured"
    return "above" if interval[0] > baseline else "solved"


def compare_with_chance(results: Results) -> list[str]:
    """Return one sentence per model: how its results with hard negatives stand to chance and to text-only baselines."""
    models: dict[str, list[Result]] = {}
    for result in results:
        if result.data["protocol"] == "choice" and result.data["intervals"].get("recall@1"):
            models.setdefault(result.label, []).append(result)
    if len(models) > MAX_MODELS:
        return []
    return [_describe_standings(name, members, results) for name, members in sorted(models.items())]


def _describe_standings(label: str, members: Sequence[Result], results: Results) -> str:
    standings: list[str] = []
    solved: list[tuple[Baseline, str]] = []
    for result in members:
        data = result.data
        best = find_best_baseline(results, result)
        interval = data["intervals"]["recall@1"]
        chance = data["chance"]["recall@1"]
        rows = data["data"]["rows"]
        standings.append(find_standing(interval, chance, best.recall if best else None, rows))
        if best and best.recall > chance and interval[0] <= best.recall:
            solved.append((best, data["task"]))
    tasks = "1 task" if len(members) == 1 else f"{len(members)} tasks"
    described = ", ".join(
        f"{count} {text}" for key, text in STANDINGS.items() if (count := standings.count(key))
    )
    line = f"{label}, {tasks} with hard negatives: {described} (95 % intervals)."
    if solved:
        # By the bound of the interval, since a baseline may solve all of a few rows.
        best, task = max(
            solved,
            key=lambda pair: (pair[0].interval[0], pair[1]),
        )
        name = name_judge(best.key)
        line += (
            f' Without the image, the text-only baseline "{name}" selects {best.recall:.1%} of the true captions of '
            f"{task}."
        )
    counts = [result.data["data"]["rows"] for result in members]
    ties = sum(
        count * result.metrics.get("tie_rate", 0)
        for count, result in zip(counts, members, strict=True)
    )
    share = ties / sum(counts)
    tied = f" In {share:.0%} of the rows, the true caption ties with a wrong one, which counts as an error."
    return f"{line}{tied if share > 0.01 else ''}"


def explain_below_chance(
    results: Results, values: pd.DataFrame, titles: Mapping[str, str]
) -> list[str]:
    """Return a line for each kind on which the models together and random word weights are below chance.

    ``values``: Recall@1 of the results to consider. ``titles``: kind of hard negatives -> its title.
    """
    lines = []
    for kind, title in titles.items():
        rows = values[values["kind"] == kind]
        control = values[values["kind"] == kind + CONTROL]
        if rows.empty or kind.endswith(CONTROL):
            continue
        (relation, text), random = _compare(results, rows), _average_random_recall(results, rows)
        if relation != "below" or random is None or random >= rows["chance"].iloc[0]:
            continue
        line = f"{title} Recall@1 is below chance, {text}. "
        line += f"Random word weights, which know nothing of the image, reach {random:.1%}."
        if not control.empty:
            relation, text = _compare(results, control)
            random = _average_random_recall(results, control)
            line += f" On the balanced sets it is {relation} chance, {text}"
            line += "." if random is None else f", and random word weights reach {random:.1%}."
        lines.append(line)
    return lines


def _compare(results: Results, values: pd.DataFrame) -> tuple[str, str]:
    """Return how the results together compare with chance, and Recall@1 with its interval."""
    hits = read_hits(results, values)
    chance = values["chance"].iloc[0]
    low, high = interval = compute_interval(hits)
    return relate(interval, chance), (
        f"{hits['hit'].mean():.1%} (95 % interval {100 * low:.1f} to {100 * high:.1f}; {len(hits):,} rows, "
        f"{count_models(hits)}; chance {chance:.1%})"
    )


def _average_random_recall(results: Results, values: pd.DataFrame) -> float | None:
    """Return Recall@1 of random word weights on the sets of the results, or None if it was not measured."""
    measured = (find_measured(results, result) for result in results.find(values))
    shares = [group["random_scorers"] for group in measured if group and "random_scorers" in group]
    return mean(shares) if shares else None
