"""Show which texts of CompPrompts probes recover, compared with the probed models on ControlledImCaps.

Source: Kamath et al. 2023 (arXiv:2305.14897), Tables 1 to 4.
"""

from __future__ import annotations

import pandas as pd

from evaluators.probes.analysis import PAIR_DATASETS, Recovered, collect_scores
from evaluators.report import probe_tables
from evaluators.report.results import Result, Results
from evaluators.report.section import Section, make_task_table
from loaders.papers.prompt_types import PROMPT_TYPES


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on CompPrompts."""
    prompts = results.select("compprompts")
    if not prompts:
        return None
    by_probe: dict[str, list[Result]] = {}
    for result in prompts:
        by_probe.setdefault(result.data["model"]["spec"], []).append(result)
    probes = {
        spec: Recovered(probe_results[0].model, pd.concat([result.examples for result in probe_results]))
        for spec, probe_results in by_probe.items()
    }
    tables = [
        probe_tables.make_overall_table(list(probes.values())),
        *probe_tables.make_prompt_type_tables(list(probes.values())),
        probe_tables.make_aggregates_table(list(probes.values())),
    ]
    for spec, probe in probes.items():
        probed_model = by_probe[spec][0].data["model"]["text_encoder"]
        for dataset in PAIR_DATASETS:
            of_model = [pair.data for pair in results.select(dataset) if pair.data["model"]["spec"] == probed_model]
            if of_model:
                tables.append(probe_tables.make_image_score_table(probe, collect_scores(of_model), dataset))
    if custom := [result for result in prompts if result.data["config"] not in PROMPT_TYPES]:
        tables.append(make_task_table("compprompts_own", custom, {"exact_match": "Exact match"}, "Type", _format_type))
    probes_with_mean = [probe for probe in probes.values() if len(probe.table_2_rows)]
    shares = ", ".join(f"{probe.name} {probe.cell_mean():.1%}" for probe in probes_with_mean)
    line = f"Prompts recovered exactly from the text features, mean over types (chance 0.0%): {shares}."
    return Section(
        "compprompts", tables, headline=[line] if probes_with_mean else [], shown={result.key for result in prompts}
    )


def _format_type(result: Result) -> str:
    return result.data["config"].replace("_", " ")
