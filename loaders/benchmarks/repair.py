"""Repair published rows: remove cues of spacing and case, and rows without a single correct caption."""

from __future__ import annotations

import re
from collections import Counter

from generators.language.texts import fold_case_and_space
from loaders.benchmarks.rows import Row, Unusable

SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?]+(?:\s|$)|['’](?:s|re|ll|ve|d|m)\b|n['’]t\b)")
REPEATED_STOPS = re.compile(r"\.(?:\s+\.)+(?!\.)")


def normalize_spacing(text: str) -> str:
    """Text with single spaces, none at the ends or before punctuation, and one full stop for stops apart by spaces."""
    return SPACE_BEFORE_MARK.sub("", REPEATED_STOPS.sub(".", " ".join(text.split())))


def repair(row: Row, counts: Counter[str]) -> Row | Unusable:
    """The row without cues of spacing and case; adds the number of changed texts to ``counts``, by kind.

    Negatives are lower-cased if the caption is, and otherwise start in its case. Rows in which a negative equals the
    caption or another negative are Unusable.
    """
    caption = normalize_spacing(row.caption)
    spaced = [normalize_spacing(negative) for negative in row.hard_negatives]
    negatives = [match_case(negative, caption) for negative in spaced]
    counts["spacing"] += (caption != row.caption) + sum(map(str.__ne__, spaced, row.hard_negatives))
    counts["case"] += sum(map(str.__ne__, negatives, spaced))
    if any(fold_case_and_space(negative) == fold_case_and_space(caption) for negative in negatives):
        return Unusable("a negative is the caption")
    if len(set(map(fold_case_and_space, negatives))) < len(negatives):
        return Unusable("two negatives are the same")
    return row._replace(caption=caption, hard_negatives=tuple(negatives))


def match_case(negative: str, caption: str) -> str:
    """The negative in lower case if the caption is, else with its first letter in the case of the caption's."""
    if caption == caption.lower():
        return negative.lower()
    first = str.upper if caption[:1].isupper() else str.lower
    return first(negative[:1]) + negative[1:]
