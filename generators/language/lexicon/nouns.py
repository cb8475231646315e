"""Which nouns may name the same thing, beyond WordNet's kinship, and which fit only some slots of a caption."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from generators.language.lexicon import read
from generators.language.wordnet import are_parts, are_related, is_part


@cache
def _lists(name: str) -> Mapping[str, frozenset[int]]:
    """Every word of a list of lists -> the lists that it is in."""
    found: dict[str, set[int]] = {}
    for at, words in enumerate(read("nouns")[name]):
        for word in words:
            found.setdefault(word, set()).add(at)
    return {word: frozenset(lists) for word, lists in found.items()}


def is_mass(noun: str) -> bool:
    """Whether a noun has neither plural nor "a"."""
    return noun in read("nouns")["mass"]


def is_plural_only(noun: str) -> bool:
    """Whether a noun is plural in form ("pants")."""
    return noun in read("nouns")["plural only"]


@lru_cache(maxsize=1 << 18)
def may_name_the_same(one: str, other: str) -> bool:
    """Whether one thing may be called both: kin in WordNet, two words for a person, or for a stretch of a picture."""
    if are_related(one, other):
        return True
    if are_related(one, "person") and are_related(other, "person"):
        persons = _lists("persons")
        return not (persons.get(one) and persons.get(other) and persons[one] != persons[other])
    overlapping = _lists("overlapping")
    return bool(overlapping.get(one, frozenset()) & overlapping.get(other, frozenset()))


@lru_cache(maxsize=1 << 18)
def includes(present: str, noun: str) -> bool:
    """Whether a picture with one thing shows the noun too: the same thing, or a part of it."""
    return may_name_the_same(present, noun) or is_part(noun, present)


@lru_cache(maxsize=1 << 18)
def implies_presence(present: str, noun: str) -> bool:
    """Whether a picture with one thing probably shows the noun too: the same thing, or a part or the whole of it."""
    return may_name_the_same(present, noun) or are_parts(present, noun)
