"""The texts of a row with hard negatives, which are judged without its image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Texts(NamedTuple):
    """Caption and hard negatives of a row."""

    caption: str
    hard_negatives: Sequence[str]
    swaps: Sequence[bool]
    """For each negative, True if it is meant to contain the caption's words in another order."""
    unordered: bool = False
    """True if the published file stores the negatives as a set, which has no defined order."""
