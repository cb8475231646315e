"""What two texts have in common: their words, and all but blanks.

A word is a run of letters, digits and underscores, without regard to case.
"""

from __future__ import annotations

import re
from collections import Counter

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words in order, in lower case."""
    return WORD.findall(text.lower())


def same_words(one: str, other: str) -> bool:
    """Whether two texts have the same words, each as often, in whatever order."""
    return Counter(words(one)) == Counter(words(other))


def blank(text: str) -> str:
    """The text without the differences of case and white space."""
    return " ".join(text.casefold().split())
