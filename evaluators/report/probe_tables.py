"""Tables of recovery probes, as in Kamath et al. 2023 (arXiv:2305.14897), and their numbers. Percent.

Tables 1 (exact match over all prompts), 2 and 3 (by prompt type), 4 and 7 to 9 (next to ControlledImCaps), 5 (BLEU-4),
6 (word order). ``compeval probe run`` prints and writes them; the report has those that results suffice for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from evaluators.probes.analysis import Correlation, Recovered, Scores, cell_of, correlation
from evaluators.probes.evaluate import ProbeResult
from evaluators.report.tables import Table, table, to_markdown, with_interval
from evaluators.results.compare import Comparison, compare
from generators.storage import stage
from loaders.cards.compprompts import PROMPT_TYPES

COLUMNS = {
    "": "0 attributes",
    "adj": "1 adj.",
    "spatial": "1 spatial",
    "verb1": "1 1-obj verb",
    "verb2": "1 2-obj verb",
    "adj_adj": "2 adj.",
    "adj_spatial": "1 adj. + 1 spatial",
    "adj_verb1": "1 adj. + 1 1-obj verb",
    "adj_verb2": "1 adj. + 1 2-obj verb",
    "spatial_verb1": "1 spatial + 1 1-obj verb",
    "spatial_verb2": "1 spatial + 1 2-obj verb",
    "spatial_spatial": "2 spatial",
    "temporal_verb1": "1 temp. + 1 1-obj verb",
    "temporal_verb2": "1 temp. + 1 2-obj verb",
    "verb_verb": "2 verbs",
}
"""End of a cell's name -> its heading in Table 2; Table 3 has the first five."""
TABLE_2 = {"obj1": "1 unique object", "obj2": "2 unique objects"}
TABLE_3 = {
    "multiples_obj1": "1 unique object + multiples",
    "multiples_obj2": "2 unique objects + multiples",
    "negation_obj1": "1 unique object + negation",
    "negation_obj2": "2 unique objects + negation",
}
"""Start of a cell's name -> its block of rows."""
TYPES = {
    "spatial_1": "Spatial 1-obj L/R",
    "spatial_2": "Spatial 2-obj L/R",
    "temporal": "Temporal",
    "verb_1": "Verb 1-obj",
    "verb_2": "Verb 2-obj",
    "adjective": "Adjectives",
}
"""Config of ControlledImCaps -> its row in Table 4."""


def overall(probes: Sequence[Recovered]) -> Table:
    """Tables 1, 5 and 6: exact match and BLEU-4, as mean over cells and over prompts, and Shuffled %."""
    rows = [
        [
            *(probe.name, probe.cell_mean(), probe.prompt_mean()),
            *(probe.cell_mean("bleu4"), probe.prompt_mean("bleu4"), probe.shuffled()),
        ]
        for probe in probes
    ]
    header = ["T(x)", "EM, cell mean", "EM, prompt mean", "BLEU-4, cell mean", "BLEU-4, prompt mean", "Shuffled %"]
    return table("compprompts_overall", header, rows, decimals=1)


def by_prompt_type(probes: Sequence[Recovered]) -> list[Table]:
    """Tables 2 and 3: exact match of each cell, a block of rows per number of objects."""
    return [
        _blocks("compprompts_types", TABLE_2, list(COLUMNS), probes),
        _blocks("compprompts_multiples_negations", TABLE_3, list(COLUMNS)[:5], probes),
    ]


def _blocks(name: str, blocks: Mapping[str, str], columns: Sequence[str], probes: Sequence[Recovered]) -> Table:
    examples = {cell_of(config): kind.example for config, kind in reversed(PROMPT_TYPES.items())}
    matches = {probe.name: probe.by_cell().to_dict() for probe in probes}
    rows = []
    for start, title in blocks.items():
        cells = ["_".join(part for part in (start, end) if part) for end in columns]
        rows.append([title, *(examples.get(cell, "-") for cell in cells)])
        rows += [[probe, *(match.get(cell) for cell in cells)] for probe, match in matches.items()]
    return table(name, ["T(x)", *(COLUMNS[end] for end in columns)], rows, decimals=1)


def next_to_images(probe: Recovered, scores: Mapping[str, Scores]) -> Table:
    """Table 4, and Tables 7 to 9: by type, exact match on comparable prompts, image score and text score."""
    rows = [
        [
            *(title, probe.of_type(kind)),
            with_interval(scores[kind].image, scores[kind].image_interval, 1),
            with_interval(scores[kind].text, scores[kind].text_interval, 1),
        ]
        for kind, title in TYPES.items()
        if kind in scores
    ]
    header = ["Prompt type", "EM on CompPrompts", "CIC image score", "CIC text score"]
    return table("controlledimcaps_probe", header, rows, suffix=f"_{probe.name}", decimals=1, model=probe.name)


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
    made = [overall(recovered), *by_prompt_type(recovered)]
    made += [next_to_images(probe.recovered, probe.scores) for probe in probes if probe.scores]
    if any(probe.conditions for probe in probes):
        made.append(necessity(probes))
    if lines := correlate(probes):
        made.append(correlations(lines))
    if by_pair := compare_models(probes):
        made.append(comparisons(by_pair))
    return made


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
    stage.write_json(folder / "figures.json", figures(probes))
