"""Make the tables of several probes that ``compeval probe run`` prints and writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from compeval.base.files.atomic import write_json
from compeval.evaluators.probes.analysis import PAIR_DATASETS, Correlation, compute_correlation
from compeval.evaluators.probes.evaluate import PairResult, ProbeResult
from compeval.evaluators.report.sections.probes import (
    collect_means,
    get_pair_texts,
    make_image_score_table,
    make_recovery_tables,
)
from compeval.evaluators.report.tables import Table, make_table, to_markdown
from compeval.evaluators.results.compare import compare


def correlate(probes: Sequence[ProbeResult], dataset: str) -> dict[str, Correlation]:
    """Correlate exact match with the image and the text score (columns of Table 4), over types and models."""
    matches = {}
    scores = {"image": {}, "text": {}}
    for probe in probes:
        for kind, score in probe.pairs[dataset].scores.items():
            key = f"{probe.recovered.name} {kind}"
            matches[key] = probe.recovered.exact_match_for(kind)
            scores["image"][key], scores["text"][key] = score["image"], score["text"]
    lines = {name: compute_correlation(matches, values) for name, values in scores.items()}
    return {name: line for name, line in lines.items() if line}


def make_tables(probes: Sequence[ProbeResult]) -> list[Table]:
    """Make all tables for which there are results."""
    tables = make_recovery_tables([probe.recovered for probe in probes])
    for dataset in PAIR_DATASETS:
        evaluated = [probe for probe in probes if dataset in probe.pairs]
        tables += [
            make_image_score_table(probe.recovered, probe.pairs[dataset].scores, dataset)
            for probe in evaluated
        ]
        if evaluated:
            tables += make_pair_tables(evaluated, dataset)
    return tables


def make_pair_tables(probes: Sequence[ProbeResult], dataset: str) -> list[Table]:
    """Make the tables of sections 4.3 to 4.5 on a dataset of image pairs.

    Zero scores by recovery of the captions, correlations, and pairs of models (B minus A) per type and score, with
    p-values of Wilcoxon's test, Holm-corrected over the lines of a pair.
    """
    pairs = {probe.recovered.name: probe.pairs[dataset] for probe in probes}
    captions = {True: "both recovered", False: "one or both not recovered"}
    necessity = [
        condition._asdict() | {"name": name, "captions": captions[both]}
        for name, result in pairs.items()
        for both, condition in result.conditions.items()
    ]
    correlations = [
        line._asdict() | {"score": score} for score, line in correlate(probes, dataset).items()
    ]
    comparisons = [
        {
            **{
                "models": f"{a}, {b}",
                "type": line.task.partition("/")[2],
                "score": line.metric.removesuffix("_score"),
            },
            **line._asdict(),
            **dict(zip(("low", "high"), line.interval, strict=True)),
        }
        for (a, first), (b, second) in combinations(pairs.items(), 2)
        for line in compare(first.results_folder, second.results_folder)
        if line.metric != "group_score"
    ]
    tables = {"necessity": necessity, "correlation": correlations, "models": comparisons}
    texts = get_pair_texts(dataset)
    return [
        make_table(f"controlledimcaps_{name}", records, **texts)
        for name, records in tables.items()
        if records
    ]


def collect_numbers(probes: Sequence[ProbeResult]) -> dict[str, Any]:
    """Return the numbers of the tables per probe, for a JSON file. Shares are fractions of 1."""
    numbers = {}
    for probe in probes:
        means = {
            name: None if math.isnan(mean) else mean
            for name, mean in collect_means(probe.recovered).items()
        }
        by_dataset = {
            dataset: _collect_pair_numbers(result) for dataset, result in probe.pairs.items()
        }
        numbers[probe.recovered.name] = {
            **means,
            "exact_match": probe.recovered.mean_by_cell().to_dict(),
            **by_dataset,
        }
    return numbers


def _collect_pair_numbers(result: PairResult) -> dict[str, Any]:
    """Return the scores by config, and how often they are zero by recovery."""
    conditions = {
        "recovered" if both else "not recovered": condition
        for both, condition in result.conditions.items()
    }
    return {
        "scores": result.scores,
        "by_recovery": {
            name: condition._asdict() for name, condition in conditions.items() if condition.pairs
        },
    }


def write(folder: Path, probes: Sequence[ProbeResult]) -> None:
    """Write the tables to ``README.md`` and their numbers to ``figures.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(
        "\n".join(map(to_markdown, make_tables(probes))), encoding="utf-8"
    )
    write_json(folder / "figures.json", collect_numbers(probes))
