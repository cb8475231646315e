"""The sections of the report, in the order of the page.

Each is a function that returns None if there are no results for the section. The module ``tasks`` makes the last
section, of all results that no other section shows.
"""

from __future__ import annotations

from compeval.evaluators.report.sections import (
    aro,
    atom_counts,
    captioners,
    classification,
    compun,
    crepe,
    gap,
    own,
    probes,
    published,
    sizes,
    text_only,
    validity,
)

SECTIONS = (
    own.make_section,
    *(
        crepe.make_systematicity,
        gap.make_section,
        atom_counts.make_section,
        crepe.make_productivity,
    ),
    sizes.make_section,
    *(captioners.make_section, validity.make_section, aro.make_section, aro.make_retrieval),
    *(
        probes.make_compprompts,
        probes.make_controlledimcaps,
        compun.make_section,
        classification.make_section,
    ),
    *(published.make_section, text_only.make_section),
)
