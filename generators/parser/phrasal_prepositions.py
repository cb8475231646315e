"""Phrasal prepositions: which sequences of words are one preposition, and how the parser writes it.

As in FACTUAL's graphs, the written form has no article, and synonyms have one form. "Left of" and "right of" are
written as in Visual Genome, GQA and ARO: ``to the left of``, ``to the right of``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compeval.generators.parser.lexicon import LEXICON, WORDS

NOUN_PHRASES: dict[str, str] = LEXICON["phrasal_nouns"]
PAIRS: dict[str, str] = LEXICON["phrasal_pairs"]
_ALL_PAIRS = PAIRS | LEXICON["stranded_pairs"]
SPELLINGS: dict[str, str] = LEXICON["preposition_spellings"]
_AFTER_SIDE = frozenset({"", "and", "while", "but", "is", "are"})
"""The words after "to its left". Other words can be part of a name ("to its left wing")."""


class Phrase(NamedTuple):
    """A phrasal preposition: ``tokens[start:end]`` is written ``text``."""

    start: int
    end: int
    text: str


def find_phrasal_prepositions(tokens: Sequence[str]) -> list[Phrase]:
    """Return the phrasal prepositions in a list of lower-case words, from left to right, without overlaps."""
    phrases: list[Phrase] = []
    index = 0
    while index < len(tokens):
        phrase = (
            _match_noun_phrase(tokens, index)
            or _match_side(tokens, index)
            or _match_pair(tokens, index)
        )
        if phrase:
            phrases.append(phrase)
        index = phrase.end if phrase else index + 1
    return phrases


def _match_noun_phrase(tokens: Sequence[str], start: int) -> Phrase | None:
    """Return the phrase of the form "on the (left) side of" that starts at ``start``, or None."""
    if tokens[start] not in WORDS["phrasal_prepositions"]:
        return None
    window = [*tokens[start + 1 : start + 5], "", "", "", ""]
    position = 1 if window[0] in WORDS["articles"] else 0
    qualifier = ""
    if window[position] in WORDS["phrasal_qualifiers"] and window[position + 1] in NOUN_PHRASES:
        qualifier = window[position]
        position += 1
    noun, preposition = window[position : position + 2]
    if noun not in NOUN_PHRASES or not (
        preposition == "of" or (preposition == "to" and noun in {"left", "right"})
    ):
        return None
    if noun == "side" and qualifier in {"left", "right"}:
        noun = qualifier
    elif noun == "side" and qualifier in {"each", "both", "either"}:
        noun = "sides"
    return Phrase(start, start + position + 3, NOUN_PHRASES[noun])


def _match_side(tokens: Sequence[str], start: int) -> Phrase | None:
    """Return the phrase of the form "to its left" that starts at ``start``, or None. It has no complement."""
    preposition, possessive, side, following = [*tokens[start : start + 4], "", "", ""][:4]
    if preposition not in WORDS["phrasal_prepositions"] or possessive not in WORDS["possessives"]:
        return None
    if side not in {"left", "right"} or (following not in _AFTER_SIDE and following.isalnum()):
        return None
    return Phrase(start, start + 3, NOUN_PHRASES[side])


def _match_pair(tokens: Sequence[str], start: int) -> Phrase | None:
    """Return the phrase of two words that starts at ``start``, or None.

    "the left of" is a noun phrase, not a preposition.
    """
    text = _ALL_PAIRS.get(" ".join(tokens[start : start + 2]))
    if text is None or (
        tokens[start] in {"left", "right"} and start and tokens[start - 1] in WORDS["articles"]
    ):
        return None
    return Phrase(start, start + 2, text)
