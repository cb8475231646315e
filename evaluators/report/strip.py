"""The strip at the top of the report: tests x models, a dot with its interval, chance and text-only baselines as marks.

A test is a config of a dataset, over all its splits and seeds: the mean over their rows, with an interval over images.
CREPE's systematicity tests are those of each model's own training corpus. Tests of recognition (retrieval,
classification), perturbed sets and the sets of other captioners are in the sections only.

A dot is green only if it is above chance and above the best text-only baseline of its sets. Of several sets, the
baseline is the mean of the best ones, weighted by rows. Candidates that are images, and pairs of images with the same
captions, have no text-only baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from compeval.base.schemas.corpus_names import get_kind, parse_systematicity
from compeval.base.text_only.judges import name_judge
from compeval.evaluators.report.headlines import (
    MIN_ROWS,
    STANDINGS,
    compute_interval,
    find_standing,
)
from compeval.evaluators.report.results import SEED, Result, Results
from compeval.evaluators.report.tables import TEXTS, format_percent
from compeval.evaluators.report.text_only import find_best_baseline
from compeval.evaluators.results import task_names

TITLES: dict[str, str] = TEXTS["labels"]["strip"]
"""Kind of CREPE's tests -> its title; others of CREPE are not in the strip."""
MAX_MODELS = 8
NOT_COMPOSITION = ("recall", "classification", "recovery")


class Dot(NamedTuple):
    """A model on a test. Shares are in percent."""

    model: str
    share: float
    low: float
    high: float
    chance: float
    rows: int
    baseline: float | None = None
    """The best text-only baseline; None if it was not measured."""
    baseline_name: str = ""
    has_text_cues: bool = True
    """True if a text-only baseline can be above chance."""

    @property
    def relation(self) -> str:
        """A key of STANDINGS, which is the class of the dot in the page."""
        baseline = self.baseline if self.has_text_cues else self.chance
        return find_standing((self.low, self.high), self.chance, baseline, self.rows)

    @property
    def text(self) -> str:
        chance = format_percent(self.chance / 100)
        relation = STANDINGS[self.relation]
        interval = f"{self.low:.1f} to {self.high:.1f}"
        baseline = (
            f"; best text-only baseline {self.baseline:.1f} %, {self.baseline_name}"
            if self.baseline is not None
            else ""
        )
        return f"{self.share:.1f} % ({interval}), {relation}; chance {chance} %{baseline}; {self.rows:,} rows"


class Test(NamedTuple):
    """A test with the dots of its models."""

    title: str
    dots: Sequence[Dot]

    @property
    def rows(self) -> int:
        """Rows of the test; of models with fewer, the highest number."""
        return max(dot.rows for dot in self.dots)


def make_strip(results: Results) -> list[Test]:
    """Return the tests with the dots of the models, those on a few rows last, or [] for too many models."""
    groups: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        if title := get_title(result):
            groups.setdefault(title, {}).setdefault(result.label, []).append(result)
    if len({model for by_model in groups.values() for model in by_model}) > MAX_MODELS:
        return []
    order = {title: number for number, title in enumerate(TITLES.values())}
    tests = [Test(title, list(_make_dots(by_model, results))) for title, by_model in groups.items()]
    tests = [test for test in tests if test.dots]
    return sorted(
        tests,
        key=lambda test: (test.rows < MIN_ROWS, order.get(test.title, len(order)), test.title),
    )


def get_title(result: Result) -> str | None:
    """Return the title of the test that a result belongs to, or None if it is not in the strip."""
    data = result.data
    is_perturbed = bool(data["variant"]) and SEED.sub("", f"-{data['variant']}") != ""
    if result.is_limited or is_perturbed or data["protocol"] in NOT_COMPOSITION:
        return None
    if task_names.is_own(data):
        return f"{data['dataset']}: {task_names.describe_set(data['config'])}"
    if result.family != "crepe":
        return (
            data["dataset"] if data["config"] == "main" else f"{data['dataset']}/{data['config']}"
        )
    systematicity = parse_systematicity(data["config"])
    if systematicity and systematicity.corpus != data["model"]["corpus"]:
        return None
    split = f"{systematicity.split}_" if systematicity else ""
    kind = get_kind(data["config"])
    is_own = systematicity is None and not kind.startswith("prod_")
    return f"{data['dataset']}/{data['config']}" if is_own else TITLES.get(f"{split}{kind}")


def _make_dots(by_model: dict[str, list[Result]], results: Results) -> Iterator[Dot]:
    for model, members in sorted(by_model.items()):
        main = members[0].data["main"][0]
        bounds = members[0].data["intervals"].get(main)
        share = members[0].metrics[main]
        if len(members) > 1:
            hits = pd.concat([result.hits for result in members])
            share = hits["hit"].mean()
            bounds = compute_interval(hits)
        if bounds:
            weights = [result.data["data"]["rows"] for result in members]
            chance = _average([result.data["chance"][main] for result in members], weights)
            share, low, high, chance = (100 * value for value in (share, *bounds, chance))
            baseline, name = _join_baselines(members, weights, results)
            has_text_cues = members[0].data["protocol"] == "choice"
            yield Dot(model, share, low, high, chance, sum(weights), baseline, name, has_text_cues)


def _join_baselines(
    members: Sequence[Result], weights: Sequence[int], results: Results
) -> tuple[float | None, str]:
    """Return the best text-only baseline of the sets in percent, and its name; None if one was not measured."""
    baselines = [find_best_baseline(results, result) for result in members]
    measured = [baseline for baseline in baselines if baseline]
    if len(measured) < len(baselines):
        return None, ""
    names = {name_judge(baseline.key) for baseline in measured}
    name = names.pop() if len(names) == 1 else "another one for each set"
    return 100 * _average([baseline.recall for baseline in measured], weights), name


def _average(values: Sequence[float], weights: Sequence[int]) -> float:
    return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
