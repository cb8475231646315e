"""Show the results on ControlledImCaps, pairs of images whose captions differ in one word or its position.

Source: Kamath et al. 2023 (arXiv:2305.14897), sections 2.2 and 4.1.
"""

from __future__ import annotations

from evaluators.probes.analysis import PAIR_DATASETS
from evaluators.report.probe_tables import get_pair_suffix
from evaluators.report.results import Results
from evaluators.report.section import Section, make_task_table

SCORES = {"text_score": "Text", "image_score": "Image", "group_score": "Group"}


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on ControlledImCaps."""
    pairs = {dataset: members for dataset in PAIR_DATASETS if (members := results.select(dataset))}
    tables = [
        make_task_table(
            "controlledimcaps", members, SCORES, suffix=get_pair_suffix(dataset), dataset=PAIR_DATASETS[dataset]
        )
        for dataset, members in pairs.items()
    ]
    shown = {result.key for members in pairs.values() for result in members}
    return Section("controlledimcaps", tables, shown=shown) if tables else None
