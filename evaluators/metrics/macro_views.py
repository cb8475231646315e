"""Macro means as the ARO paper prints them: over selected categories.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936). Its macro accuracy of VG-Relation is the unweighted mean over the 45
relations of Table 2, those with at least ten rows that are not symmetric (21,917 of 23,937 rows; 0.591 for CLIP, as
printed); that of VG-Attribution is over ordered attribute pairs with at least 25 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loaders.papers.figures import figures

RELATIONS: dict[str, int] = figures("aro")["relations"]
"""Relation -> published rows, of Table 2."""

MIN_ROWS_PER_PAIR = 25


def relations_of_table_2(rows: Mapping[str, int]) -> list[str]:
    """The 45 relations; none if one of them has no row, since a mean over fewer is a different metric."""
    return list(RELATIONS) if rows.keys() >= RELATIONS.keys() else []


def frequent_pairs(rows: Mapping[str, int]) -> list[str]:
    """The ordered attribute pairs with enough rows."""
    return [pair for pair, count in rows.items() if count >= MIN_ROWS_PER_PAIR]


VIEWS: dict[tuple[str, str], Callable[[Mapping[str, int]], list[str]]] = {
    ("relation", "table_2"): relations_of_table_2,
    ("attribute pair", f"from_{MIN_ROWS_PER_PAIR}_rows"): frequent_pairs,
}
"""(Kind of category, name of the view) -> the categories that it selects by their row counts."""
