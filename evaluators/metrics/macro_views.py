"""Select the categories over which the ARO paper computes its macro means.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936). The macro accuracy of VG-Relation is the unweighted mean over the 45
relations of Table 2, which are not symmetric and have at least ten rows (21,917 of 23,937 rows; 0.591 for CLIP). The
macro accuracy of VG-Attribution is the mean over ordered attribute pairs with at least 25 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loaders.papers.figures import figures

RELATIONS: dict[str, int] = figures("aro")["relations"]
"""Relation -> number of rows in Table 2."""

MIN_ROWS_PER_PAIR = 25


def select_table_2_relations(rows: Mapping[str, int]) -> list[str]:
    """Return the 45 relations. Returns [] if a relation has no row, since the mean would be a different metric."""
    return list(RELATIONS) if rows.keys() >= RELATIONS.keys() else []


def select_frequent_pairs(rows: Mapping[str, int]) -> list[str]:
    """Return the ordered attribute pairs with at least MIN_ROWS_PER_PAIR rows."""
    return [pair for pair, count in rows.items() if count >= MIN_ROWS_PER_PAIR]


VIEWS: dict[tuple[str, str], Callable[[Mapping[str, int]], list[str]]] = {
    ("relation", "table_2"): select_table_2_relations,
    ("attribute pair", f"from_{MIN_ROWS_PER_PAIR}_rows"): select_frequent_pairs,
}
"""(``by``, name of the view) -> function that selects categories, given category -> number of rows."""
