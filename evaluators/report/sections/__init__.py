"""The report's sections, one module each, in the order of the page.

Each module has a pure function ``section(results)``: a Section, or None if no result belongs to it.
"""

from __future__ import annotations

from evaluators.report.results import Results
from evaluators.report.section import Section
from evaluators.report.sections import (
    aro,
    classification,
    compprompts,
    compun,
    controlledimcaps,
    gap,
    productivity,
    published,
    retrieval,
    systematicity,
    validity,
)

MODULES = (
    *(systematicity, gap, productivity, validity),
    *(aro, retrieval, compprompts, controlledimcaps, compun, classification, published),
)


def sections(results: Results) -> list[Section]:
    """Every section that has results."""
    return [section for module in MODULES if (section := module.section(results))]
