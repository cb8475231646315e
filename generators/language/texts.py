"""Comparisons of texts by their words. A word is a run of letters, digits and underscores; case does not count."""

from __future__ import annotations

import re
from collections import Counter

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words in order, in lower case."""
    return WORD.findall(text.lower())


def same_words(one: str, other: str) -> bool:
    """Whether two texts have the same words equally often, in any order."""
    return Counter(words(one)) == Counter(words(other))


def fold_case_and_space(text: str) -> str:
    """The text without differences of case and white space."""
    return " ".join(text.casefold().split())
