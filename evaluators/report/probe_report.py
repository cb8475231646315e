"""Make the tables of several probes that ``compeval probe run`` prints and writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from evaluators.probes.analysis import Correlation, compute_correlation
from evaluators.probes.evaluate import ProbeResult
from evaluators.report import probe_tables
from evaluators.report.tables import Table, make_table, to_markdown
from evaluators.results.compare import Comparison, compare
from generators.storage.atomic import write_json


def make_necessity_table(probes: Sequence[ProbeResult]) -> Table:
    """Make the table of sections 4.4 and 4.5: zero scores by recovery of the captions, per model."""
    rows = [
        [
            probe.recovered.name,
            "both recovered" if both else "one or both not recovered",
            *(condition.pairs, condition.image_zero, condition.text_zero),
        ]
        for probe in probes
        for both, condition in (probe.conditions or {}).items()
    ]
    header = ["T(x)", "Captions of a pair", "Pairs", "image score is zero", "text score is zero"]
    return make_table("controlledimcaps_necessity", header, rows, decimals=1)


def correlate(probes: Sequence[ProbeResult]) -> dict[str, Correlation]:
    """Correlate exact match with the image and the text score (columns of Table 4), over types and models."""
    matches, scores = {}, {"image": {}, "text": {}}
    for probe in probes:
        for kind, score in probe.scores.items():
            key = f"{probe.recovered.name} {kind}"
            matches[key] = probe.recovered.exact_match_for(kind)
            scores["image"][key], scores["text"][key] = score.image, score.text
    lines = {name: compute_correlation(matches, values) for name, values in scores.items()}
    return {name: line for name, line in lines.items() if line}


def make_correlation_table(lines: Mapping[str, Correlation]) -> Table:
    """Make the table of the correlations."""
    rows = [
        [
            *(f"exact match and {score} score", line.points),
            *(f"{line.pearson:+.2f}", f"{line.pearson_p:.2g}", f"{line.spearman:+.2f}", f"{line.spearman_p:.2g}"),
        ]
        for score, line in lines.items()
    ]
    header = ["Of", "Types x models", "Pearson r", "p", "Spearman rho", "p of rho"]
    return make_table("controlledimcaps_correlation", header, rows)


def compare_models(probes: Sequence[ProbeResult]) -> dict[str, list[Comparison]]:
    """Compare every pair of models that encode images (B minus A) per type of ControlledImCaps."""
    folders = {probe.recovered.name: probe.results_folder for probe in probes if probe.results_folder}
    return {f"{a}, {b}": compare(folders[a], folders[b]) for a, b in combinations(folders, 2)}


def make_comparison_table(by_pair: Mapping[str, Sequence[Comparison]]) -> Table:
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
    return make_table("controlledimcaps_models", header, rows, decimals=1)


def make_tables(probes: Sequence[ProbeResult]) -> list[Table]:
    """Make all tables for which there are results."""
    recovered = [probe.recovered for probe in probes]
    result = [probe_tables.make_overall_table(recovered), *probe_tables.make_prompt_type_tables(recovered)]
    result += [probe_tables.make_image_score_table(probe.recovered, probe.scores) for probe in probes if probe.scores]
    if any(probe.conditions for probe in probes):
        result.append(make_necessity_table(probes))
    if lines := correlate(probes):
        result.append(make_correlation_table(lines))
    if by_pair := compare_models(probes):
        result.append(make_comparison_table(by_pair))
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
            "controlledimcaps": {kind: score._asdict() for kind, score in probe.scores.items()},
            "by_recovery": {
                "recovered" if both else "not recovered": condition._asdict()
                for both, condition in (probe.conditions or {}).items()
                if condition.pairs
            },
        }
        for probe in probes
    }


def write(folder: Path, probes: Sequence[ProbeResult]) -> None:
    """Write the tables to ``README.md`` and their numbers to ``figures.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(map(to_markdown, make_tables(probes))))
    write_json(folder / "figures.json", collect_numbers(probes))
