"""Cues: text-only baselines that read one property of a text and learn nothing.

``compeval audit`` prints them, and they judge balanced sets (judges.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from compeval.base.texts import words

NEGATIONS = frozenset(
    {
        "no",
        "not",
        "never",
        "none",
        "nothing",
        "nobody",
        "nowhere",
        "neither",
        "nor",
        "without",
        "cannot",
    }
)
NEGATED_VERB = re.compile(r"n['’]t\b", re.IGNORECASE)


def has_negation(text: str) -> bool:
    """Return True if the text contains a negation word."""
    return not NEGATIONS.isdisjoint(words(text)) or NEGATED_VERB.search(text) is not None


def has_final_stop(text: str) -> bool:
    """Return True if the text ends with a full stop, apart from spaces."""
    return text.rstrip().endswith(".")


CUES: Mapping[str, Callable[[str], int]] = {
    "no negation word": has_negation,
    "fewest words": lambda text: len(words(text)),
    "most words": lambda text: -len(words(text)),
    "no final stop, or outer spaces": lambda text: has_final_stop(text) - (text != text.strip()),
}
"""Value that each cue computes for a text. The cue selects the text with the smallest value, ties at random."""
