"""The sections of the report, in the order of the page.

Each module has a function ``make_section(results)``, which returns None if there are no results for the section. The
module ``tasks`` makes the last section, of all results that no other section shows.
"""

from __future__ import annotations

from evaluators.report.sections import (
    aro,
    atom_counts,
    captioners,
    classification,
    compprompts,
    compun,
    controlledimcaps,
    gap,
    productivity,
    published,
    retrieval,
    shortcuts,
    systematicity,
    validity,
)

MODULES = (
    *(systematicity, gap, atom_counts, productivity, captioners, validity),
    *(aro, retrieval, compprompts, controlledimcaps, compun, classification, published, shortcuts),
)
