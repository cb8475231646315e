"""Cues: text-only baselines that read one property of a text and learn nothing.

``compeval audit`` prints them, and they judge balanced sets (judges.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compeval.base.text_only.baselines import RetrievalSets
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
    return _has_negation(text, words(text))


def _has_negation(text: str, words_of_text: Sequence[str]) -> bool:
    return not NEGATIONS.isdisjoint(words_of_text) or NEGATED_VERB.search(text) is not None


def has_final_stop(text: str) -> bool:
    """Return True if the text ends with a full stop, apart from spaces."""
    return text.rstrip().endswith(".")


Cue = Callable[[str, Sequence[str]], int]
"""Returns the value of a text, given the text and its words (base/texts.py)."""

NEGATION = "no negation word"
CUES: Mapping[str, Cue] = {
    NEGATION: _has_negation,
    "fewest words": lambda text, words_of_text: len(words_of_text),
    "most words": lambda text, words_of_text: -len(words_of_text),
    "no final stop, or outer spaces": lambda text, words_of_text: (
        has_final_stop(text) - (text != text.strip())
    ),
}
"""The cue selects the text with the smallest value, ties at random."""


def score_cue(sets: RetrievalSets, cue: Cue) -> np.ndarray:
    """Return the scores (N, K) of a cue, which selects the text with the smallest value."""
    values = list(map(cue, sets.texts, sets.words))
    return -np.array(values, dtype=np.float64).reshape(len(sets), sets.size)
