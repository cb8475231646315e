"""CompPrompts: texts that probes recover from their encoding, and their models on ControlledImCaps.

Source: Kamath et al. 2023 (arXiv:2305.14897), Tables 1 to 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluators.probes.analysis import Recovered, scores_by_type
from evaluators.report import recovery_tables
from evaluators.report.read import Result
from evaluators.report.sections import Section, by_task
from evaluators.report.tables import Table
from loaders.cards.compprompts import PROMPT_TYPES

ID, TITLE = "compprompts", "What a text vector keeps"
TEXT = "A probe writes the prompt back from the text vector alone; what it cannot write is hard to read off. Chance: 0."
MISSING = (
    "No recovery probe was measured: compeval probe run local:FOLDER measures those that compeval train probe made, "
    "and a report over its results and these has Tables 1 to 4 of the paper here."
)


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of CompPrompts, nor of ControlledImCaps, which belongs to it."""
    found = [result for result in results if result.data["dataset"] == "compprompts"]
    pairs = [result for result in results if result.data["dataset"] == "controlledimcaps"]
    if not found:
        return Section(ID, TITLE, MISSING) if pairs else None
    by_probe: dict[str, list[Result]] = {}
    for result in found:
        by_probe.setdefault(result.data["model"]["spec"], []).append(result)
    probes = {spec: _recovered(own) for spec, own in by_probe.items()}
    tables = [
        recovery_tables.overall(list(probes.values())),
        *recovery_tables.by_prompt_type(list(probes.values())),
        *(table for spec, probe in probes.items() if (table := _beside_images(probe, by_probe[spec][0], pairs))),
    ]
    if own_cells := [result for result in found if result.data["config"] not in PROMPT_TYPES]:
        caption = "Prompt types beyond the paper's (percent)."
        tables.append(by_task("compprompts_own", caption, own_cells, {"exact_match": "Exact match"}, "Type", _type))
    return Section(ID, TITLE, TEXT, tables, headline=_headline(list(probes.values())))


def _recovered(results: Sequence[Result]) -> Recovered:
    """What one probe made of all cells that it was run on."""
    return Recovered(results[0].data["model"]["name"], pd.concat([result.examples for result in results]))


def _beside_images(probe: Recovered, result: Result, pairs: Sequence[Result]) -> Table | None:
    """Table 4; None where the model whose vectors the probe reads was not run on pictures."""
    spec = result.data["model"]["text_encoder"]
    scores = scores_by_type(pair.data for pair in pairs if pair.data["model"]["spec"] == spec)
    return recovery_tables.beside_images(probe, scores) if scores else None


def _headline(probes: Sequence[Recovered]) -> list[str]:
    whole = [probe for probe in probes if len(probe.of_tables_1_and_2)]
    shares = ", ".join(f"{probe.name} {probe.cell_mean():.1%}" for probe in whole)
    return [f"Prompts given back from the text vector alone, mean over types (chance 0.0%): {shares}."] if whole else []


def _type(result: Result) -> str:
    return result.data["config"].replace("_", " ")
