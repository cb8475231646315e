"""Macro means as papers print them: over chosen categories alone.

ARO (Yuksekgonul et al. 2023, arXiv:2210.01936): its macro accuracy of VG-Relation is the unweighted mean over the 45
relations of Table 2, those with ten rows or more that are not symmetric (21,917 of 23,937 rows; it gives CLIP 0.591, as
printed); that of VG-Attribution is over ordered attribute pairs with at least 25 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loaders.cards.aro import RELATIONS

LEAST_ROWS = 25
"""Of an ordered attribute pair."""


@dataclass(frozen=True)
class View:
    """A macro mean over the categories that ``keep`` picks from their row counts; it may pick none: no such mean."""

    by: str
    name: str
    keep: Callable[[Mapping[str, int]], tuple[str, ...]]


def of_table_2(rows: Mapping[str, int]) -> tuple[str, ...]:
    """The 45 relations; none where one of them has no row, since a mean over fewer is another number."""
    return tuple(RELATIONS) if rows.keys() >= RELATIONS.keys() else ()


def frequent_pairs(rows: Mapping[str, int]) -> tuple[str, ...]:
    """The ordered attribute pairs with rows enough."""
    return tuple(pair for pair, count in rows.items() if count >= LEAST_ROWS)


VIEWS = (View("relation", "table_2", of_table_2), View("attribute pair", f"from_{LEAST_ROWS}_rows", frequent_pairs))
