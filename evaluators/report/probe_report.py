"""Tables and figures of several probes, as ``compeval probe run`` prints and writes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.probes.analysis import Correlation, correlation
from evaluators.probes.evaluate import ProbeResult
from evaluators.report import recovery_tables
from evaluators.report.tables import Table, to_markdown
from evaluators.results.compare import Comparison, compare
from generators.storage import stage


def compare_models(probes: Sequence[ProbeResult]) -> dict[str, list[Comparison]]:
    """Comparisons of every two models that encode images, B minus A, by type of ControlledImCaps."""
    folders = {probe.recovered.name: probe.results for probe in probes if probe.results}
    return {f"{a}, {b}": compare(folders[a], folders[b]) for a, b in combinations(folders, 2)}


def correlate(probes: Sequence[ProbeResult]) -> dict[str, Correlation]:
    """Table 4's correlation of exact match with the image and the text score, over types and models."""
    matches, scores = {}, {"image": {}, "text": {}}
    for probe in probes:
        for kind, score in probe.scores.items():
            key = f"{probe.recovered.name} {kind}"
            matches[key] = probe.recovered.of_type(kind)
            scores["image"][key], scores["text"][key] = score.image, score.text
    found = {name: correlation(matches, values) for name, values in scores.items()}
    return {name: line for name, line in found.items() if line}


def tables(probes: Sequence[ProbeResult]) -> list[Table]:
    """All tables that the results suffice for."""
    recovered = [probe.recovered for probe in probes]
    found = [recovery_tables.overall(recovered), *recovery_tables.by_prompt_type(recovered)]
    found += [recovery_tables.beside_images(probe.recovered, probe.scores) for probe in probes if probe.scores]
    if by_model := {probe.recovered.name: probe.conditions for probe in probes if probe.conditions}:
        found.append(recovery_tables.necessity(by_model))
    if correlations := correlate(probes):
        found.append(recovery_tables.correlations(correlations))
    if comparisons := compare_models(probes):
        found.append(recovery_tables.comparisons(comparisons))
    return found


def figures(probes: Sequence[ProbeResult]) -> dict[str, Any]:
    """The numbers of the tables by probe, for a JSON file; shares are fractions of 1."""
    return {
        probe.recovered.name: {
            "exact_match_cell_mean": probe.recovered.cell_mean(),
            "exact_match_prompt_mean": probe.recovered.prompt_mean(),
            "bleu4_cell_mean": probe.recovered.cell_mean("bleu4"),
            "bleu4_prompt_mean": probe.recovered.prompt_mean("bleu4"),
            "shuffled": None if np.isnan(share := probe.recovered.shuffled()) else share,
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
    stage.write_json(folder / "figures.json", figures(probes))
