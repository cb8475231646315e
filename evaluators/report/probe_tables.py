"""Make the tables of recovery probes (Kamath et al. 2023, arXiv:2305.14897), in percent.

Tables 1 (exact match over all prompts), 2 and 3 (by prompt type), 4 and 7 to 9 (compared with ControlledImCaps), 5
(BLEU-4), 6 (word order). In headings, T(x) is the text encoder and EM is exact match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluators.probes.aggregates import GROUPS, average_over_groups, average_published
from evaluators.probes.analysis import PAIR_DATASETS, Recovered, Scores, get_cell
from evaluators.report.tables import TEXTS, Table, format_with_interval, make_table
from loaders.papers.prompt_types import PROMPT_TYPES

LABELS = TEXTS["labels"]
COLUMNS: dict[str, str] = LABELS["prompt_attributes"]
"""Suffix of a cell's name -> its heading in Table 2. Table 3 has the first five headings."""


def make_overall_table(probes: Sequence[Recovered]) -> Table:
    """Make Tables 1, 5 and 6: exact match and BLEU-4, as mean over cells and over prompts, and Shuffled %."""
    rows = [
        [
            *(probe.name, probe.cell_mean(), probe.prompt_mean()),
            *(probe.cell_mean("bleu4"), probe.prompt_mean("bleu4"), probe.shuffled_share()),
        ]
        for probe in probes
    ]
    header = ["T(x)", "EM, cell mean", "EM, prompt mean", "BLEU-4, cell mean", "BLEU-4, prompt mean", "Shuffled %"]
    return make_table("compprompts_overall", header, rows)


def make_prompt_type_tables(probes: Sequence[Recovered]) -> list[Table]:
    """Make Tables 2 and 3: exact match per cell. The table has a block of rows per number of objects."""
    return [
        _make_block_table("compprompts_types", LABELS["table_2"], list(COLUMNS), probes),
        _make_block_table("compprompts_multiples_negations", LABELS["table_3"], list(COLUMNS)[:5], probes),
    ]


def make_aggregates_table(probes: Sequence[Recovered]) -> Table:
    """Make the table of sections 3.2 and 3.3: mean exact match over groups of prompt types, with the paper's means."""
    means = {probe.name: average_over_groups(probe.mean_by_cell()) for probe in probes}
    published = {f"Paper: {name}": values for name, values in average_published().items()}
    columns = means | published
    rows = [[group, *(column[group] for column in columns.values())] for group in GROUPS]
    return make_table("compprompts_aggregates", ["Prompts", *columns], rows)


def _make_block_table(
    name: str, blocks: Mapping[str, str], columns: Sequence[str], probes: Sequence[Recovered]
) -> Table:
    examples = {get_cell(config): kind.example for config, kind in reversed(PROMPT_TYPES.items())}
    matches = {probe.name: probe.mean_by_cell().to_dict() for probe in probes}
    rows = []
    for prefix, title in blocks.items():
        cells = ["_".join(part for part in (prefix, suffix) if part) for suffix in columns]
        if not any(cell in match for match in matches.values() for cell in cells):
            continue
        rows.append([title, *(examples.get(cell, "-") for cell in cells)])
        rows += [[probe, *(match.get(cell) for cell in cells)] for probe, match in matches.items()]
    return make_table(name, ["T(x)", *(COLUMNS[suffix] for suffix in columns)], rows)


def make_image_score_table(probe: Recovered, scores: Mapping[str, Scores], dataset: str) -> Table:
    """Make Table 4 and Tables 7 to 9: exact match on comparable prompts, image score and text score, per type.

    ``scores``: the scores of the probed model on ``dataset``, a key of PAIR_DATASETS.
    """
    rows = [
        [
            *(title, probe.exact_match_for(kind)),
            format_with_interval(scores[kind].image, scores[kind].image_interval),
            format_with_interval(scores[kind].text, scores[kind].text_interval),
        ]
        for kind, title in LABELS["controlledimcaps"].items()
        if kind in scores
    ]
    header = ["Prompt type", "EM on CompPrompts", "CIC image score", "CIC text score"]
    suffix = f"{get_pair_suffix(dataset)}_{probe.name}"
    values = {"model": probe.name, "dataset": PAIR_DATASETS[dataset]}
    return make_table("controlledimcaps_probe", header, rows, suffix=suffix, **values)


def get_pair_suffix(dataset: str) -> str:
    """Return the suffix of the names of a dataset's tables: "" or "_photographs"."""
    return dataset.removeprefix("controlledimcaps")
