"""Phrasal prepositions: which runs of words are one preposition, and how it is written.

The written form has no article and one preposition per place, as in FACTUAL's graphs. The two sides of the viewer are
written as in Visual Genome, GQA and ARO: ``to the left of``, ``to the right of``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from generators.parser.lexicon import LEXICON, words

PLACES: dict[str, str] = LEXICON["phrasal_places"]
PAIRS: dict[str, str] = LEXICON["phrasal_pairs"]
_ALL_PAIRS = PAIRS | LEXICON["stranded_pairs"]
SPELLINGS: dict[str, str] = LEXICON["preposition_spellings"]
_QUALIFIERS = words("place_qualifiers")
_PREPOSITIONS = frozenset({"in", "on", "at", "to"})
_ARTICLES = frozenset({"the", "a", "an"})


class Phrase(NamedTuple):
    """``tokens[start:end]`` is the preposition ``text``."""

    start: int
    end: int
    text: str


def phrasal_prepositions(tokens: Sequence[str]) -> list[Phrase]:
    """The phrasal prepositions among lower-case words, from left to right, without overlaps."""
    phrases: list[Phrase] = []
    index = 0
    while index < len(tokens):
        phrase = _place(tokens, index) or _pair(tokens, index)
        if phrase:
            phrases.append(phrase)
        index = phrase.end if phrase else index + 1
    return phrases


def _place(tokens: Sequence[str], start: int) -> Phrase | None:
    """The phrase at ``start`` of the form "on the (left) side of"."""
    if tokens[start] not in _PREPOSITIONS:
        return None
    window = [*tokens[start + 1 : start + 5], "", "", "", ""]
    place = 1 if window[0] in _ARTICLES else 0
    qualifier = ""
    if window[place] in _QUALIFIERS and window[place + 1] in PLACES:
        qualifier = window[place]
        place += 1
    noun, preposition = window[place : place + 2]
    if noun not in PLACES or not (preposition == "of" or (preposition == "to" and noun in {"left", "right"})):
        return None
    if noun == "side" and qualifier in {"left", "right"}:
        noun = qualifier
    elif noun == "side" and qualifier in {"each", "both", "either"}:
        noun = "sides"
    return Phrase(start, start + place + 3, PLACES[noun])


def _pair(tokens: Sequence[str], start: int) -> Phrase | None:
    """The phrase at ``start`` of two words; "the left of" is a place, not a preposition."""
    text = _ALL_PAIRS.get(" ".join(tokens[start : start + 2]))
    if text is None or (tokens[start] in {"left", "right"} and start and tokens[start - 1] in _ARTICLES):
        return None
    return Phrase(start, start + 2, text)
