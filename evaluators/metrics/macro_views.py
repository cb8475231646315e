"""Select the categories over which the ARO paper computes its macro means.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936). A macro mean gives each category the same weight, so categories with
few rows are left out. VG-Relation: relations that are not symmetric and have at least ten rows; in the published set,
these are the 45 relations of Table 2 (21,917 of 23,937 rows; 0.591 for CLIP). VG-Attribution: ordered attribute pairs
with at least 25 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from compeval.loaders.papers.figures import figures

RELATIONS: dict[str, int] = figures("aro")["relations"]
"""Relation -> number of rows in Table 2."""

MIN_ROWS = {"relation": 10, "attribute pair": 25}
"""``by`` -> minimum number of rows of a category."""


def select_table_2_relations(rows: Mapping[str, int]) -> list[str]:
    """Return the 45 relations. Returns [] if a relation has no row, since the mean would be a different metric."""
    return list(RELATIONS) if rows.keys() >= RELATIONS.keys() else []


def select_frequent(by: str, rows: Mapping[str, int]) -> list[str]:
    """Return the categories with at least MIN_ROWS rows. Symmetric relations are left out."""
    from compeval.generators.language.lexicon.relations import is_asymmetric  # imports NLTK

    frequent = [name for name, count in rows.items() if count >= MIN_ROWS[by]]
    return [
        name for name in frequent if by != "relation" or name in RELATIONS or is_asymmetric(name)
    ]


def name_frequent(by: str) -> str:
    """Return the name of the view of the categories with at least MIN_ROWS rows."""
    return f"from_{MIN_ROWS[by]}_rows"


VIEWS: dict[tuple[str, str], Callable[[Mapping[str, int]], list[str]]] = {
    ("relation", "table_2"): select_table_2_relations,
    **{(by, name_frequent(by)): partial(select_frequent, by) for by in MIN_ROWS},
}
"""(``by``, name of the view) -> function that selects categories, given category -> number of rows."""


def select_categories(name: str, by: str, rows: Mapping[str, int]) -> list[str]:
    """Return the categories of a macro mean, given what follows ``_macro_`` in its name: ``by``, or ``by`` and a view.

    ``rows``: category of ``by`` -> number of rows. Returns [] if the mean is not over categories of ``by``.
    """
    prefix = by.replace(" ", "_")
    if name == prefix:
        return list(rows)
    select = VIEWS.get((by, name.removeprefix(f"{prefix}_")))
    return select(rows) if select and name.startswith(f"{prefix}_") else []
