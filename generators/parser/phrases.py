"""Phrasal prepositions: which runs of words are one preposition, and how it is written.

The written form has no article and one preposition a place, as in FACTUAL's graphs: "on the top of", "at the top of"
and "on top of" are all ``on top of``. The two sides of the viewer are written as Visual Genome, GQA and ARO
write them: ``to the left of``, ``to the right of``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from generators.parser.lexicon import words

_PLACES = {
    "top": "on top of",
    "front": "in front of",
    "back": "on back of",
    "side": "on side of",
    "sides": "on both sides of",
    "middle": "on middle of",
    "center": "in center of",
    "centre": "in center of",
    "corner": "in corner of",
    "end": "in end of",
    "edge": "on edge of",
    "base": "at base of",
    "bottom": "on bottom of",
    "left": "to the left of",
    "right": "to the right of",
}
_PREPOSITIONS = frozenset({"in", "on", "at", "to"})
_ARTICLES = frozenset({"the", "a", "an"})
_QUALIFIERS = words("other each both left right far very opposite front back upper lower either one outer inner")
_FIXED = {
    ("next", "to"): "next to",
    ("close", "to"): "close to",
    ("near", "to"): "near",
    ("adjacent", "to"): "adjacent to",
    ("out", "of"): "out of",
    ("off", "of"): "off",
    ("inside", "of"): "inside",
    ("outside", "of"): "outside",
    ("alongside", "of"): "alongside",
    ("in", "between"): "between",
    ("on", "to"): "onto",
    ("in", "to"): "into",
    ("along", "with"): "with",
    ("together", "with"): "with",
    ("across", "from"): "across from",
    ("away", "from"): "away from",
    ("up", "to"): "up to",
    ("down", "to"): "down to",
    ("up", "on"): "up on",
    ("down", "on"): "down on",
    ("up", "against"): "up against",
    ("out", "from"): "out from",
    ("left", "of"): "to the left of",
    ("right", "of"): "to the right of",
}
ONE_FORM = {"below": "under", "beneath": "under", "underneath": "under"}
"""Prepositions of one word that FACTUAL's graphs write as another."""

_ALONE = {("on", "top"): "on top of", ("in", "front"): "in front of"}


class Phrase(NamedTuple):
    """``tokens[start:end]`` is the preposition ``text``."""

    start: int
    end: int
    text: str


def phrasal_prepositions(tokens: Sequence[str]) -> list[Phrase]:
    """The phrasal prepositions among lower-case words, from left to right, none overlapping another."""
    found: list[Phrase] = []
    index = 0
    while index < len(tokens):
        phrase = _place(tokens, index) or _fixed(tokens, index)
        if phrase:
            found.append(phrase)
        index = phrase.end if phrase else index + 1
    return found


def _place(tokens: Sequence[str], start: int) -> Phrase | None:
    """ "on the (left) side of" and its like."""
    if tokens[start] not in _PREPOSITIONS:
        return None
    place = start + 1
    if _at(tokens, place) in _ARTICLES:
        place += 1
    qualifier = ""
    if _at(tokens, place) in _QUALIFIERS and _at(tokens, place + 1) in _PLACES:
        qualifier = tokens[place]
        place += 1
    if _at(tokens, place) not in _PLACES or _at(tokens, place + 1) not in {"of", "to"}:
        return None
    if tokens[place + 1] == "to" and tokens[place] not in {"left", "right"}:
        return None
    if tokens[place] == "side" and qualifier in {"left", "right"}:
        return Phrase(start, place + 2, _PLACES[qualifier])
    if tokens[place] == "side" and qualifier in {"each", "both", "either"}:
        return Phrase(start, place + 2, _PLACES["sides"])
    return Phrase(start, place + 2, _PLACES[tokens[place]])


def _fixed(tokens: Sequence[str], start: int) -> Phrase | None:
    pair = (tokens[start], _at(tokens, start + 1))
    if pair in _FIXED and not (pair[0] in {"left", "right"} and start and tokens[start - 1] in _ARTICLES):
        return Phrase(start, start + 2, _FIXED[pair])
    if pair in _ALONE:
        return Phrase(start, start + 2, _ALONE[pair])
    return None


def _at(tokens: Sequence[str], index: int) -> str:
    return tokens[index] if index < len(tokens) else ""
