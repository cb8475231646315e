"""Repair of published rows: cues of case and spacing go, and so do rows without a right answer."""

from __future__ import annotations

import re
from collections import Counter

from generators.language.texts import fold_case_and_space
from loaders.benchmarks.rows import Row, Unusable

SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?]+(?:\s|$)|['’](?:s|re|ll|ve|d|m)\b|n['’]t\b)")
STOPS_APART = re.compile(r"\.(?:\s+\.)+(?!\.)")


def tidy(text: str) -> str:
    """Single spaces, none at the ends or before a punctuation mark, one full stop where only removed words part two."""
    return SPACE_BEFORE_MARK.sub("", STOPS_APART.sub(".", " ".join(text.split())))


def repaired(row: Row, counted: Counter[str]) -> Row | Unusable:
    """The row without cues of spacing and case; ``counted`` gets the texts that changed, by kind.

    Negatives are put in lower case where the caption has no capital, and begin as it does. Unusable is a row with a
    negative that is the caption, or another negative.
    """
    caption = tidy(row.caption)
    spaced = [tidy(negative) for negative in row.hard_negatives]
    negatives = [in_case_of(caption, negative) for negative in spaced]
    counted["spacing"] += (caption != row.caption) + sum(map(str.__ne__, spaced, row.hard_negatives))
    counted["case"] += sum(map(str.__ne__, negatives, spaced))
    if any(fold_case_and_space(negative) == fold_case_and_space(caption) for negative in negatives):
        return Unusable("a negative is the caption")
    if len(set(map(fold_case_and_space, negatives))) < len(negatives):
        return Unusable("two negatives are the same")
    return row._replace(caption=caption, hard_negatives=tuple(negatives))


def in_case_of(caption: str, negative: str) -> str:
    """The negative in lower case if the caption is, else with a first letter of the caption's case."""
    if caption == caption.lower():
        return negative.lower()
    first = str.upper if caption[:1].isupper() else str.lower
    return first(negative[:1]) + negative[1:]
