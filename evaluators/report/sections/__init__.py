"""The report's sections, one module each, in the order of the page.

Each module has a pure function ``section(results)``: a Section, or None if no result belongs to it.
"""

from __future__ import annotations

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
