"""Nouns that may name the same thing, beyond WordNet's relations, and nouns that fit only some slots of a caption."""

from __future__ import annotations

from functools import cache, lru_cache

from generators.language.lexicon import read
from generators.language.wordnet import are_related, is_part


@cache
def _lists_with(noun: str, name: str) -> frozenset[int]:
    """The numbers of the lists under ``name`` that have the noun."""
    return frozenset(number for number, words in enumerate(read("nouns")[name]) if noun in words)


def is_mass(noun: str) -> bool:
    """Whether a noun has neither a plural nor "a"."""
    return noun in read("nouns")["mass"]


def is_plural_only(noun: str) -> bool:
    """Whether a noun is plural in form ("pants")."""
    return noun in read("nouns")["plural only"]


@lru_cache(maxsize=1 << 18)
def may_name_the_same(one: str, other: str) -> bool:
    """Whether one thing may have both names: related in WordNet, two words for a person or for a part of a picture."""
    if are_related(one, other):
        return True
    if are_related(one, "person") and are_related(other, "person"):
        mine, theirs = _lists_with(one, "persons"), _lists_with(other, "persons")
        return not (mine and theirs and mine != theirs)
    return not _lists_with(one, "overlapping").isdisjoint(_lists_with(other, "overlapping"))


@lru_cache(maxsize=1 << 18)
def includes(present: str, noun: str) -> bool:
    """Whether a picture with one thing shows the noun too: the same thing, or a part of it."""
    return may_name_the_same(present, noun) or is_part(noun, present)


@lru_cache(maxsize=1 << 18)
def implies_presence(present: str, noun: str) -> bool:
    """Whether a picture with one thing probably shows the noun too: the same thing, or a part or the whole of it."""
    return includes(present, noun) or is_part(present, noun)
