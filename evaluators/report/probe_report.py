"""Make the tables of several probes that ``compeval probe run`` prints and writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from evaluators.probes.analysis import PAIR_DATASETS, Correlation, compute_correlation
from evaluators.probes.evaluate import PairResult, ProbeResult
from evaluators.report import probe_tables
from evaluators.report.tables import Table, make_table, to_markdown
from evaluators.results.compare import Comparison, compare
from generators.files.atomic import write_json


def make_necessity_table(pairs: Mapping[str, PairResult], dataset: str) -> Table:
    """Make the table of sections 4.4 and 4.5: zero scores by recovery of the captions, per model.

    ``pairs``: name of a probe -> results of its model on ``dataset``.
    """
    rows = [
        [
            name,
            "both recovered" if both else "one or both not recovered",
            *(condition.pairs, condition.image_zero, condition.text_zero),
        ]
        for name, result in pairs.items()
        for both, condition in result.conditions.items()
    ]
    header = ["T(x)", "Captions of a pair", "Pairs", "image score is zero", "text score is zero"]
    return _make_pair_table("controlledimcaps_necessity", dataset, header, rows)


def _make_pair_table(name: str, dataset: str, header: list[str], rows: list[list[object]]) -> Table:
    suffix = probe_tables.get_pair_suffix(dataset)
    return make_table(name, header, rows, suffix=suffix, dataset=PAIR_DATASETS[dataset])


def correlate(probes: Sequence[ProbeResult], dataset: str) -> dict[str, Correlation]:
    """Correlate exact match with the image and the text score (columns of Table 4), over types and models."""
    matches, scores = {}, {"image": {}, "text": {}}
    for probe in probes:
        for kind, score in probe.pairs[dataset].scores.items():
            key = f"{probe.recovered.name} {kind}"
            matches[key] = probe.recovered.exact_match_for(kind)
            scores["image"][key], scores["text"][key] = score.image, score.text
    lines = {name: compute_correlation(matches, values) for name, values in scores.items()}
    return {name: line for name, line in lines.items() if line}


def make_correlation_table(lines: Mapping[str, Correlation], dataset: str) -> Table:
    """Make the table of the correlations."""
    rows = [
        [
            *(f"exact match and {score} score", line.points),
            *(f"{line.pearson:+.2f}", f"{line.pearson_p:.2g}", f"{line.spearman:+.2f}", f"{line.spearman_p:.2g}"),
        ]
        for score, line in lines.items()
    ]
    header = ["Of", "Types x models", "Pearson r", "p", "Spearman rho", "p of rho"]
    return _make_pair_table("controlledimcaps_correlation", dataset, header, rows)


def compare_models(pairs: Mapping[str, PairResult]) -> dict[str, list[Comparison]]:
    """Compare every two models (B minus A) per type of image pairs."""
    folders = {name: result.results_folder for name, result in pairs.items()}
    return {f"{a}, {b}": compare(folders[a], folders[b]) for a, b in combinations(folders, 2)}


def make_comparison_table(by_pair: Mapping[str, Sequence[Comparison]], dataset: str) -> Table:
    """Make the table of section 4.3: pairs of models per type and score.

    p-values are from Wilcoxon's test and Holm-corrected over the lines of a pair.
    """
    rows = []
    for models, lines in by_pair.items():
        for line in lines:
            if line.metric != "group_score":
                low, high = line.interval
                difference = f"{100 * line.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
                tests = (f"{line.wilcoxon:.2g}", f"{line.wilcoxon_holm:.2g}")
                score = line.metric.removesuffix("_score")
                rows.append([models, line.task.partition("/")[2], score, line.a, line.b, difference, *tests])
    header = ["A and B", "Type", "Score", "A", "B", "B - A", "Wilcoxon p", "Holm-corrected"]
    return _make_pair_table("controlledimcaps_models", dataset, header, rows)


def make_tables(probes: Sequence[ProbeResult]) -> list[Table]:
    """Make all tables for which there are results."""
    recovered = [probe.recovered for probe in probes]
    result = [
        probe_tables.make_overall_table(recovered),
        *probe_tables.make_prompt_type_tables(recovered),
        probe_tables.make_aggregates_table(recovered),
    ]
    for dataset in PAIR_DATASETS:
        evaluated = [probe for probe in probes if dataset in probe.pairs]
        pairs = {probe.recovered.name: probe.pairs[dataset] for probe in evaluated}
        result += [
            probe_tables.make_image_score_table(probe.recovered, probe.pairs[dataset].scores, dataset)
            for probe in evaluated
        ]
        if pairs:
            result.append(make_necessity_table(pairs, dataset))
        if lines := correlate(evaluated, dataset):
            result.append(make_correlation_table(lines, dataset))
        if by_pair := compare_models(pairs):
            result.append(make_comparison_table(by_pair, dataset))
    return result


def collect_numbers(probes: Sequence[ProbeResult]) -> dict[str, Any]:
    """Return the numbers of the tables per probe, for a JSON file. Shares are fractions of 1."""
    return {
        probe.recovered.name: {
            "exact_match_cell_mean": probe.recovered.cell_mean(),
            "exact_match_prompt_mean": probe.recovered.prompt_mean(),
            "bleu4_cell_mean": probe.recovered.cell_mean("bleu4"),
            "bleu4_prompt_mean": probe.recovered.prompt_mean("bleu4"),
            "shuffled": None if math.isnan(share := probe.recovered.shuffled_share()) else share,
            "exact_match": probe.recovered.mean_by_cell().to_dict(),
        }
        | {dataset: _collect_pair_numbers(result) for dataset, result in probe.pairs.items()}
        for probe in probes
    }


def _collect_pair_numbers(result: PairResult) -> dict[str, Any]:
    """Return the scores by config, and how often they are zero by recovery."""
    return {
        "scores": {kind: score._asdict() for kind, score in result.scores.items()},
        "by_recovery": {
            "recovered" if both else "not recovered": condition._asdict()
            for both, condition in result.conditions.items()
            if condition.pairs
        },
    }


def write(folder: Path, probes: Sequence[ProbeResult]) -> None:
    """Write the tables to ``README.md`` and their numbers to ``figures.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(map(to_markdown, make_tables(probes))))
    write_json(folder / "figures.json", collect_numbers(probes))
