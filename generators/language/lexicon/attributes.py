"""Attributes that exclude each other, and words that may replace one without being true of the same thing.

Source: CREPE (arXiv:2212.07796), section 4.1: antonyms and words of the same grand-hypernym. WordNet provides antonyms
and, through their nouns, colours; attributes.yaml (written for this project) adds the kinds for which it has no word.
"""

from __future__ import annotations

from functools import cache, lru_cache

from generators.language import wordnet
from generators.language.lexicon import read
from generators.language.wordnet import antonyms, are_related, are_shades


@cache
def _listed(attribute: str) -> frozenset[tuple[str, int]]:
    """The (kind, item) pairs of attributes.yaml that have the word."""
    kinds = read("attributes")["exclusive"]
    return frozenset(
        (kind, at) for kind, items in kinds.items() for at, words in enumerate(items) if attribute in words
    )


@cache
def _values(attribute: str) -> frozenset[tuple[str, int]]:
    """The word's (kind, item) pairs, or those of the colour that it is a shade of ("dark green")."""
    head = attribute.replace("-", " ").rsplit(" ", 1)[-1]
    return _listed(attribute) or (_listed(head) if wordnet.is_color(attribute) else frozenset())


@cache
def is_color(attribute: str) -> bool:
    """Whether an attribute names one colour."""
    return wordnet.is_color(attribute) or any(kind == "color" for kind, _ in _values(attribute))


@lru_cache(maxsize=1 << 18)
def may_mean_the_same(one: str, other: str) -> bool:
    """Whether one thing may have both, because one word is a shade, a synonym or a neighbour of the other."""
    if one == other or _values(one) & _values(other):
        return True
    return are_shades(one, other) if is_color(one) and is_color(other) else are_related(one, other, "a")


@lru_cache(maxsize=1 << 18)
def exclude(one: str, other: str) -> bool:
    """Whether no thing has both: two items of one kind, two colours, or antonyms, unless they may mean the same."""
    if may_mean_the_same(one, other):
        return False
    if is_color(one) or is_color(other):
        many = read("attributes")["many-coloured"]
        return is_color(one) and is_color(other) and one not in many and other not in many
    kinds = {kind for kind, _ in _values(one)} & {kind for kind, _ in _values(other)}
    return bool(kinds) or other in antonyms(one, "a") or one in antonyms(other, "a")


@cache
def foils(attribute: str) -> tuple[tuple[str, ...], ...]:
    """Attributes that exclude this one, in groups of words for the same: other values of its kinds, then antonyms."""
    kinds = {kind for kind, _ in _values(attribute)}
    values = [words for kind, items in read("attributes")["exclusive"].items() if kind in kinds for words in items]
    listed = [tuple(word for word in words if exclude(attribute, word)) for words in values]
    opposites = () if is_color(attribute) else antonyms(attribute, "a")
    known = {word for words in listed for word in words}
    others = ((word,) for word in opposites if word not in known and exclude(attribute, word))
    return (*filter(None, listed), *others)
