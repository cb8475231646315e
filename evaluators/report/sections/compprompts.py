"""CompPrompts: texts that probes recover from their encoding, and their models on ControlledImCaps.

Source: Kamath et al. 2023 (arXiv:2305.14897), Tables 1 to 4.
"""

from __future__ import annotations

import pandas as pd

from evaluators.probes.analysis import Recovered, scores_by_type
from evaluators.report import probe_tables
from evaluators.report.results import Result, Results
from evaluators.report.section import Section, by_task
from loaders.papers.prompt_types import PROMPT_TYPES


def section(results: Results) -> Section | None:
    """None without results on CompPrompts or on ControlledImCaps, which belongs to it."""
    prompts, pairs = results.of("compprompts"), results.of("controlledimcaps")
    if not prompts:
        return Section("compprompts", variant="_missing") if pairs else None
    by_probe: dict[str, list[Result]] = {}
    for result in prompts:
        by_probe.setdefault(result.data["model"]["spec"], []).append(result)
    probes = {spec: Recovered(own[0].model, pd.concat([one.examples for one in own])) for spec, own in by_probe.items()}
    tables = [
        probe_tables.overall(list(probes.values())),
        *probe_tables.by_prompt_type(list(probes.values())),
    ]
    for spec, probe in probes.items():
        whole_model = by_probe[spec][0].data["model"]["text_encoder"]
        scores = scores_by_type(pair.data for pair in pairs if pair.data["model"]["spec"] == whole_model)
        if scores:
            tables.append(probe_tables.next_to_images(probe, scores))
    if custom := [result for result in prompts if result.data["config"] not in PROMPT_TYPES]:
        tables.append(by_task("compprompts_own", custom, {"exact_match": "Exact match"}, "Type", _type))
    complete = [probe for probe in probes.values() if len(probe.of_tables_1_and_2)]
    shares = ", ".join(f"{probe.name} {probe.cell_mean():.1%}" for probe in complete)
    line = f"Prompts recovered exactly from the text vector, mean over types (chance 0.0%): {shares}."
    return Section("compprompts", tables, headline=[line] if complete else [])


def _type(result: Result) -> str:
    return result.data["config"].replace("_", " ")
