"""Comparison of texts by their words. A word is a run of letters, digits and underscores; case is ignored."""

from __future__ import annotations

import re
from collections import Counter

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words in order, in lower case."""
    return WORD.findall(text.lower())


def have_same_words(first: str, second: str) -> bool:
    """Return True if two texts have the same words with the same counts, in any order."""
    return Counter(words(first)) == Counter(words(second))


def fold_case_and_space(text: str) -> str:
    """Return the text in lower case with single spaces, for comparisons."""
    return " ".join(text.casefold().split())
