"""CompPrompts: texts that a probe recovers from their encoding, by type of prompt.

Source: Kamath et al. 2023 (arXiv:2305.14897), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.report.read import Result
from evaluators.report.sections import Section, by_task


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of CompPrompts."""
    found = [result for result in results if result.data["dataset"] == "compprompts"]
    if not found:
        return None
    caption = "CompPrompts: prompts recovered letter by letter from one text vector (percent)."
    return Section(
        "compprompts",
        "What a text vector keeps",
        "A probe writes the prompt back from the text vector alone; what it cannot write is hard to read off.",
        [by_task("compprompts", caption, found, {"exact_match": "Exact match"}, "Type", _type)],
    )


def _type(result: Result) -> str:
    return result.data["config"].replace("_", " ")
