"""ControlledImCaps: pairs of pictures whose captions differ in one word or in its place.

Source: Kamath et al. 2023 (arXiv:2305.14897), sections 2.2 and 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.report.read import Result
from evaluators.report.sections import Section, by_task

SCORES = {"text_score": "Text", "image_score": "Image", "group_score": "Group"}


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of ControlledImCaps."""
    found = [result for result in results if result.data["dataset"] == "controlledimcaps"]
    if not found:
        return None
    caption = "ControlledImCaps: text, image and group score (percent) and their 95 % intervals."
    return Section(
        "controlledimcaps",
        "Controlled images and captions",
        "Two pictures and two captions that belong crosswise. Text score: each picture prefers its own caption; image "
        "score: each caption prefers its own picture; group score: both. A tie is a loss.",
        [by_task("controlledimcaps", caption, found, SCORES)],
    )
