"""ControlledImCaps: pairs of images whose captions differ in one word or its position.

Source: Kamath et al. 2023 (arXiv:2305.14897), sections 2.2 and 4.1.
"""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section, by_task

SCORES = {"text_score": "Text", "image_score": "Image", "group_score": "Group"}


def section(results: Results) -> Section | None:
    """None without results on ControlledImCaps."""
    pairs = results.of("controlledimcaps")
    return Section("controlledimcaps", [by_task("controlledimcaps", pairs, SCORES)]) if pairs else None
