"""Show the results on ControlledImCaps, pairs of images whose captions differ in one word or its position.

Source: Kamath et al. 2023 (arXiv:2305.14897), sections 2.2 and 4.1.
"""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section, make_task_table

SCORES = {"text_score": "Text", "image_score": "Image", "group_score": "Group"}


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on ControlledImCaps."""
    pairs = results.select("controlledimcaps")
    return Section("controlledimcaps", [make_task_table("controlledimcaps", pairs, SCORES)]) if pairs else None
