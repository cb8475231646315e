"""Tables of recovery probes, as in Kamath et al. 2023 (arXiv:2305.14897). Percent.

Tables 1 (exact match over all prompts), 2 and 3 (by prompt type), 4 and 7 to 9 (next to ControlledImCaps), 5 (BLEU-4),
6 (word order).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluators.probes.analysis import Recovered, Scores, cell_of
from evaluators.report.tables import TEXTS, Table, table, with_interval
from loaders.papers.prompt_types import PROMPT_TYPES

LABELS = TEXTS["labels"]
COLUMNS: dict[str, str] = LABELS["prompt_attributes"]
"""End of a cell's name -> its heading in Table 2; Table 3 has the first five."""


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
        _blocks("compprompts_types", LABELS["table_2"], list(COLUMNS), probes),
        _blocks("compprompts_multiples_negations", LABELS["table_3"], list(COLUMNS)[:5], probes),
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
        for kind, title in LABELS["controlledimcaps"].items()
        if kind in scores
    ]
    header = ["Prompt type", "EM on CompPrompts", "CIC image score", "CIC text score"]
    return table("controlledimcaps_probe", header, rows, suffix=f"_{probe.name}", decimals=1, model=probe.name)
