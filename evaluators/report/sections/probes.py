"""Make the tables of recovery probes and of ControlledImCaps (Kamath et al. 2023, arXiv:2305.14897), in percent.

A probe recovers prompts of CompPrompts from text features: Tables 1 (exact match over all prompts), 2 and 3 (by prompt
type), 4 and 7 to 9 (compared with ControlledImCaps), 5 (BLEU-4), 6 (word order). ControlledImCaps (sections 2.2 and
4.1) has pairs of images whose captions differ in one word or its position. In headings, T(x) is the text encoder and EM
is exact match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from compeval.evaluators.probes.aggregates import GROUPS, average_over_groups, average_published
from compeval.evaluators.probes.analysis import (
    PAIR_DATASETS,
    Recovered,
    Scores,
    collect_scores,
    get_cell,
)
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.tables import TEXTS, Table, make_pivot, make_table
from compeval.loaders.papers.figures import figures
from compeval.loaders.papers.prompt_types import PROMPT_TYPES

LABELS = TEXTS["labels"]
COLUMNS: dict[str, str] = LABELS["prompt_attributes"]
"""Suffix of a cell's name -> its heading in Table 2. Table 3 has the first five headings."""


def make_compprompts(results: Results) -> Section | None:
    """Make the section on CompPrompts. Returns None if there are no results."""
    by_probe: dict[str, list[Result]] = {}
    for result in results.select("compprompts"):
        by_probe.setdefault(result.data["model"]["spec"], []).append(result)
    if not by_probe:
        return None
    probes = {
        spec: Recovered(members[0].model, pd.concat([result.examples for result in members]))
        for spec, members in by_probe.items()
    }
    tables = make_recovery_tables(list(probes.values()))
    for spec, probe in probes.items():
        probed_model = by_probe[spec][0].data["model"]["text_encoder"]
        for dataset in PAIR_DATASETS:
            of_model = [
                pair.data
                for pair in results.select(dataset)
                if pair.data["model"]["spec"] == probed_model
            ]
            if of_model:
                tables.append(make_image_score_table(probe, collect_scores(of_model), dataset))
    values = results.values[results.values["family"] == "compprompts"]
    custom = values[~values["config"].isin(list(PROMPT_TYPES))]
    if len(custom):
        tables.append(make_pivot("compprompts_own", custom))
    with_mean = [probe for probe in probes.values() if len(probe.table_2_rows)]
    shares = ", ".join(f"{probe.name} {probe.cell_mean():.1%}" for probe in with_mean)
    line = f"Prompts recovered exactly from the text features, mean over types (chance 0.0%): {shares}."
    return Section(
        "compprompts", tables, headline=[line] if with_mean else [], shown=get_keys(values)
    )


def make_controlledimcaps(results: Results) -> Section | None:
    """Make the section on ControlledImCaps. Returns None if there are no results."""
    values = results.values[results.values["family"].isin(list(PAIR_DATASETS))]
    tables = [
        make_pivot("controlledimcaps", rows, **get_pair_texts(str(dataset)))
        for dataset, rows in values.groupby("family")
    ]
    return Section("controlledimcaps", tables, shown=get_keys(values)) if tables else None


def make_recovery_tables(probes: Sequence[Recovered]) -> list[Table]:
    """Make Tables 1, 5 and 6 (one table), 2 and 3, and the means of sections 3.2 and 3.3.

    The means of the probes and of the paper are over the same cells.
    """
    means = {probe.name: average_over_groups(probe.mean_by_cell()) for probe in probes}
    means |= {f"Paper: {name}": values for name, values in average_published().items()}
    aggregates = (
        {"Prompts": group} | {name: column[group] for name, column in means.items()}
        for group in GROUPS
    )
    overall = [collect_means(probe) | {"name": probe.name} for probe in probes]
    return [
        make_table("compprompts_overall", [*overall, *read_published_means()]),
        make_prompt_type_table("compprompts_types", LABELS["table_2"], list(COLUMNS), probes),
        make_prompt_type_table(
            "compprompts_multiples_negations", LABELS["table_3"], list(COLUMNS)[:5], probes
        ),
        make_table("compprompts_aggregates", aggregates),
    ]


def collect_means(probe: Recovered) -> dict[str, float]:
    """Return the means over all prompt types (Tables 1, 5 and 6) as shares. NaN if there is no such prompt."""
    return {
        "exact_match_cell_mean": probe.cell_mean(),
        "exact_match_prompt_mean": probe.prompt_mean(),
        "bleu4_cell_mean": probe.cell_mean("bleu4"),
        "bleu4_prompt_mean": probe.prompt_mean("bleu4"),
        "shuffled": probe.shuffled_share(),
    }


def read_published_means() -> list[dict[str, Any]]:
    """Return the paper's means (Tables 1, 5 and 6) in the form of ``collect_means``, with the text encoder's name."""
    records: list[dict[str, Any]] = []
    for name, percents in figures("compprompts")["text_encoders"].items():
        exact_match, bleu4, shuffled = (
            None if percent is None else percent / 100 for percent in percents
        )
        records.append(
            {
                "name": f"Paper: {name}",
                "exact_match_cell_mean": exact_match,
                "bleu4_cell_mean": bleu4,
                "shuffled": shuffled,
            }
        )
    return records


def make_prompt_type_table(
    name: str, blocks: Mapping[str, str], suffixes: Sequence[str], probes: Sequence[Recovered]
) -> Table:
    """Make a table of exact match per cell: a block of rows per number of objects, which begins with examples.

    ``blocks``: prefix of the cells' names -> title. ``suffixes``: end of the cells' names in each column.
    """
    examples = {get_cell(config): kind.example for config, kind in reversed(PROMPT_TYPES.items())}
    matches = {probe.name: probe.mean_by_cell().to_dict() for probe in probes}
    records = []
    for prefix, title in blocks.items():
        cells = {COLUMNS[suffix]: f"{prefix}_{suffix}".rstrip("_") for suffix in suffixes}
        if any(cell in match for match in matches.values() for cell in cells.values()):
            for name_of_row, values in {title: examples, **matches}.items():
                records.append(
                    {"T(x)": name_of_row}
                    | {heading: values.get(cell) for heading, cell in cells.items()}
                )
    return make_table(name, records)


def make_image_score_table(probe: Recovered, scores: Mapping[str, Scores], dataset: str) -> Table:
    """Make Table 4 and Tables 7 to 9: exact match on comparable prompts, image score and text score, per type.

    ``scores``: the scores of the probed model on ``dataset``, a key of PAIR_DATASETS.
    """
    records = (
        scores[kind] | {"type": title, "exact_match": probe.exact_match_for(kind)}
        for kind, title in LABELS["controlledimcaps"].items()
        if kind in scores
    )
    texts = get_pair_texts(dataset)
    texts["suffix"] += f"_{probe.name}"
    return make_table("controlledimcaps_probe", records, model=probe.name, **texts)


def get_pair_texts(dataset: str) -> dict[str, str]:
    """Return the suffix of the names of a dataset's tables ("" or "_photographs"), and its title for their captions."""
    return {"suffix": dataset.removeprefix("controlledimcaps"), "dataset": PAIR_DATASETS[dataset]}
