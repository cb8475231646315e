"""Tables and figures of several probes, as ``compeval probe run`` prints and writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from evaluators.probes.analysis import Correlation, correlation
from evaluators.probes.evaluate import ProbeResult
from evaluators.report import probe_tables
from evaluators.report.tables import Table, table, to_markdown
from evaluators.results.compare import Comparison, compare
from generators.storage.atomic import write_json


def necessity(probes: Sequence[ProbeResult]) -> Table:
    """Sections 4.4 and 4.5, by model."""
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
    return table("controlledimcaps_necessity", header, rows, decimals=1)


def correlate(probes: Sequence[ProbeResult]) -> dict[str, Correlation]:
    """Table 4's correlation of exact match with the image and the text score, over types and models."""
    matches, scores = {}, {"image": {}, "text": {}}
    for probe in probes:
        for kind, score in probe.scores.items():
            key = f"{probe.recovered.name} {kind}"
            matches[key] = probe.recovered.of_type(kind)
            scores["image"][key], scores["text"][key] = score.image, score.text
    lines = {name: correlation(matches, values) for name, values in scores.items()}
    return {name: line for name, line in lines.items() if line}


def correlations(lines: Mapping[str, Correlation]) -> Table:
    """Table 4's columns against each other, over types and models."""
    rows = [
        [
            *(f"exact match and {score} score", line.points),
            *(f"{line.pearson:+.2f}", f"{line.pearson_p:.2g}", f"{line.spearman:+.2f}", f"{line.spearman_p:.2g}"),
        ]
        for score, line in lines.items()
    ]
    header = ["Of", "Types x models", "Pearson r", "p", "Spearman rho", "p of rho"]
    return table("controlledimcaps_correlation", header, rows)


def compare_models(probes: Sequence[ProbeResult]) -> dict[str, list[Comparison]]:
    """Comparisons of every two models that encode images, B minus A, by type of ControlledImCaps."""
    folders = {probe.recovered.name: probe.results for probe in probes if probe.results}
    return {f"{a}, {b}": compare(folders[a], folders[b]) for a, b in combinations(folders, 2)}


def comparisons(by_pair: Mapping[str, Sequence[Comparison]]) -> Table:
    """Section 4.3: pairs of models, by type and score; Wilcoxon's test, Holm-corrected over the lines of a pair."""
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
    return table("controlledimcaps_models", header, rows, decimals=1)


def tables(probes: Sequence[ProbeResult]) -> list[Table]:
    """All tables that the results suffice for."""
    recovered = [probe.recovered for probe in probes]
    result = [probe_tables.overall(recovered), *probe_tables.by_prompt_type(recovered)]
    result += [probe_tables.next_to_images(probe.recovered, probe.scores) for probe in probes if probe.scores]
    if any(probe.conditions for probe in probes):
        result.append(necessity(probes))
    if lines := correlate(probes):
        result.append(correlations(lines))
    if by_pair := compare_models(probes):
        result.append(comparisons(by_pair))
    return result


def figures(probes: Sequence[ProbeResult]) -> dict[str, Any]:
    """The numbers of the tables by probe, for a JSON file; shares are fractions of 1."""
    return {
        probe.recovered.name: {
            "exact_match_cell_mean": probe.recovered.cell_mean(),
            "exact_match_prompt_mean": probe.recovered.prompt_mean(),
            "bleu4_cell_mean": probe.recovered.cell_mean("bleu4"),
            "bleu4_prompt_mean": probe.recovered.prompt_mean("bleu4"),
            "shuffled": None if math.isnan(share := probe.recovered.shuffled()) else share,
            "exact_match": probe.recovered.by_cell().to_dict(),
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
    """Write ``README.md`` with the tables and ``figures.json`` with their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(map(to_markdown, tables(probes))))
    write_json(folder / "figures.json", figures(probes))
