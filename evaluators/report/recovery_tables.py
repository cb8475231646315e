"""The tables of Kamath et al. 2023 (arXiv:2305.14897) in their shape, from what probes recovered. Percent.

Tables 1 (exact match over all), 2 and 3 (by prompt type), 4 and 7 to 9 (beside ControlledImCaps), 5 (BLEU-4), 6 (word
order).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from evaluators.probes.analysis import Condition, Correlation, Recovered, Scores, cell_of
from evaluators.report.tables import Table
from evaluators.results.compare import Comparison
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
"""End of a cell's name -> its column's head in Table 2; Table 3 has the first five."""
TABLE_2 = {"obj1": "1 unique object", "obj2": "2 unique objects"}
TABLE_3 = {
    "multiples_obj1": "1 unique object + multiples",
    "multiples_obj2": "2 unique objects + multiples",
    "negation_obj1": "1 unique object + negation",
    "negation_obj2": "2 unique objects + negation",
}
"""Beginning of a cell's name -> its block of rows."""


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def overall(probes: Sequence[Recovered]) -> Table:
    """Tables 1, 5 and 6: exact match and BLEU-4, as mean over cells and over prompts, and Shuffled %."""
    body = [
        [
            probe.name,
            percent(probe.cell_mean()),
            percent(probe.prompt_mean()),
            percent(probe.cell_mean("bleu4")),
            percent(probe.prompt_mean("bleu4")),
            percent(probe.shuffled()),
        ]
        for probe in probes
    ]
    header = ["T(x)", "EM, cell mean", "EM, prompt mean", "BLEU-4, cell mean", "BLEU-4, prompt mean", "Shuffled %"]
    caption = (
        "Exact match and BLEU-4 on CompPrompts without multiples and negations; of the prompts whose words are right, "
        "how many have them in a wrong order (Tables 1, 5, 6)."
    )
    return Table("compprompts_overall", caption, _cells(header, body))


def by_prompt_type(probes: Sequence[Recovered]) -> list[Table]:
    """Tables 2 and 3: exact match of each cell, a block of rows for each number of objects."""
    return [
        _blocks("compprompts_types", "Exact match by prompt type (Table 2).", TABLE_2, list(COLUMNS), probes),
        _blocks(
            "compprompts_multiples_negations",
            "Exact match on prompts with multiples or negations (Table 3).",
            TABLE_3,
            list(COLUMNS)[:5],
            probes,
        ),
    ]


def _blocks(
    name: str, caption: str, blocks: Mapping[str, str], columns: Sequence[str], probes: Sequence[Recovered]
) -> Table:
    examples = {cell_of(config): kind.example for config, kind in reversed(PROMPT_TYPES.items())}
    found = [(probe.name, probe.by_cell().to_dict()) for probe in probes]
    body = []
    for start, title in blocks.items():
        cells = ["_".join(part for part in (start, end) if part) for end in columns]
        body.append([title, *(examples.get(cell, "-") for cell in cells)])
        body += [[model, *(percent(match.get(cell, math.nan)) for cell in cells)] for model, match in found]
    return Table(name, caption, _cells(["T(x)", *(COLUMNS[end] for end in columns)], body))


def _cells(header: Sequence[str], body: Sequence[Sequence[str]]) -> pd.DataFrame:
    return pd.DataFrame(body, columns=pd.Index(list(header)))


def beside_images(probe: Recovered, scores: Mapping[str, Scores]) -> Table:
    """Table 4, and Tables 7 to 9: by type, exact match on comparable prompts, image score and text score."""
    body = [
        [
            TYPES[kind],
            percent(probe.of_type(kind)),
            _with_interval(scores[kind].image, scores[kind].image_interval),
            _with_interval(scores[kind].text, scores[kind].text_interval),
        ]
        for kind in TYPES
        if kind in scores
    ]
    header = ["Prompt type", "EM on CompPrompts", "CIC image score", "CIC text score"]
    caption = f"{probe.name}: text encoder and whole model on the same types (Table 4). Chance of both scores: 25."
    return Table(f"controlledimcaps_{probe.name}", caption, _cells(header, body))


TYPES = {
    "spatial_1": "Spatial 1-obj L/R",
    "spatial_2": "Spatial 2-obj L/R",
    "temporal": "Temporal",
    "verb_1": "Verb 1-obj",
    "verb_2": "Verb 2-obj",
    "adjective": "Adjectives",
}
"""Config of ControlledImCaps -> its row in Table 4."""


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{percent(share)} [{percent(interval[0])}, {percent(interval[1])}]"


def necessity(found: Mapping[str, Mapping[bool, Condition]]) -> Table:
    """Sections 4.4 and 4.5, by model."""
    body = [
        [
            model,
            "both recovered" if both else "one or both not recovered",
            str(condition.pairs),
            percent(condition.image_zero),
            percent(condition.text_zero),
        ]
        for model, conditions in found.items()
        for both, condition in conditions.items()
    ]
    header = ["T(x)", "Captions of a pair", "Pairs", "image score is zero", "text score is zero"]
    caption = "Is recovery necessary for matching images, is it sufficient (sections 4.4, 4.5)?"
    return Table("controlledimcaps_necessity", caption, _cells(header, body))


def correlations(found: Mapping[str, Correlation]) -> Table:
    """Table 4's columns against each other, over types and models."""
    body = [
        [
            f"exact match and {score} score",
            str(line.points),
            f"{line.pearson:+.2f}",
            f"{line.pearson_p:.2g}",
            f"{line.spearman:+.2f}",
            f"{line.spearman_p:.2g}",
        ]
        for score, line in found.items()
    ]
    header = ["Of", "Types x models", "Pearson r", "p", "Spearman rho", "p of rho"]
    caption = "Does exact match on CompPrompts go with scores on ControlledImCaps?"
    return Table("controlledimcaps_correlation", caption, _cells(header, body))


def comparisons(found: Mapping[str, Sequence[Comparison]]) -> Table:
    """Section 4.3: pairs of models, by type and score; Wilcoxon's test, Holm-corrected over the lines of a pair."""
    body = [
        [
            models,
            line.task.partition("/")[2],
            line.metric.removesuffix("_score"),
            percent(line.a),
            percent(line.b),
            f"{100 * line.difference:+.1f} [{100 * line.interval[0]:+.1f}, {100 * line.interval[1]:+.1f}]",
            f"{line.wilcoxon:.2g}",
            f"{line.wilcoxon_holm:.2g}",
        ]
        for models, lines in found.items()
        for line in lines
        if line.metric != "group_score"
    ]
    header = ["A and B", "Type", "Score", "A", "B", "B - A", "Wilcoxon p", "Holm-corrected"]
    caption = "Models against each other on ControlledImCaps (section 4.3)."
    return Table("controlledimcaps_models", caption, _cells(header, body))
