"""Repair published rows: remove differences in form, and drop rows with more than one correct caption.

The form is the spacing, the case, the final full stop, and the normal form of texts (base/texts.py).
"""

import re
from collections import Counter

from compeval.base.texts import fold_case_and_space, normalize_text
from compeval.loaders.published.rows import Row, Unusable

SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?]+(?:\s|$)|['’](?:s|re|ll|ve|d|m)\b|n['’]t\b)")
MARK_AT_END = re.compile(r"[.,;:!?…]['\"’”)]*$")
REPEATED_STOPS = re.compile(r"\.(?:\s+\.)+(?!\.)")


def normalize_spacing(text: str) -> str:
    """Remove superfluous spaces: repeated, at both ends, and before punctuation. Several full stops become one."""
    return SPACE_BEFORE_MARK.sub("", REPEATED_STOPS.sub(".", " ".join(text.split())))


def repair(row: Row, counts: Counter[str]) -> Row | Unusable:
    """Return the row with the same form of all texts. Adds the number of changed texts to ``counts``.

    Returns Unusable if a negative then equals a caption or another negative.
    """
    captions = tuple(map(normalize_text, row.captions))
    negatives = tuple(map(normalize_text, row.hard_negatives))
    num_changed = sum(
        map(str.__ne__, (*captions, *negatives), (*row.captions, *row.hard_negatives))
    )
    if num_changed:
        counts["form"] += num_changed
    row = row._replace(captions=captions, hard_negatives=negatives)
    captions = tuple(map(normalize_spacing, row.captions))
    spaced = [normalize_spacing(negative) for negative in row.hard_negatives]
    stopped = [match_stop(negative, captions[0]) for negative in spaced]
    negatives = [match_case(negative, captions[0]) for negative in stopped]
    counts["spacing"] += sum(
        map(str.__ne__, (*captions, *spaced), (*row.captions, *row.hard_negatives))
    )
    counts["stop"] += sum(map(str.__ne__, stopped, spaced))
    counts["case"] += sum(map(str.__ne__, negatives, stopped))
    folded = {fold_case_and_space(negative) for negative in negatives}
    if not folded.isdisjoint(map(fold_case_and_space, captions)):
        return Unusable("a negative is the caption")
    if len(folded) < len(negatives):
        return Unusable("two negatives are the same")
    return row._replace(captions=captions, hard_negatives=tuple(negatives))


def match_stop(negative: str, caption: str) -> str:
    """Return the negative with a final full stop if the caption has one, and without if the caption ends in a word."""
    if caption.endswith(".") and not MARK_AT_END.search(negative):
        return f"{negative}."
    if not MARK_AT_END.search(caption):
        return negative.rstrip(". ")
    return negative


def match_case(negative: str, caption: str) -> str:
    """Return the negative in lower case if the caption is; otherwise give both the same case of the first letter."""
    if caption == caption.lower():
        return negative.lower()
    change_case = str.upper if caption[:1].isupper() else str.lower
    return change_case(negative[:1]) + negative[1:]
