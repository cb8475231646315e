"""Nouns that may name the same object although WordNet does not relate them, and nouns with irregular grammar."""

from __future__ import annotations

from functools import lru_cache

from compeval.generators.language import CACHED_PAIRS, CACHED_WORDS
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.wordnet import are_related


@lru_cache(CACHED_WORDS)
def _list_indices(noun: str, name: str) -> frozenset[int]:
    """Return the indices of the lists under the key ``name`` of nouns.yaml that contain the noun."""
    return frozenset(
        number for number, words in enumerate(load_lexicon("nouns")[name]) if noun in words
    )


@lru_cache(CACHED_WORDS)
def is_mass(noun: str) -> bool:
    """Return True if a noun has no plural and does not follow "a" ("water")."""
    return noun in load_lexicon("nouns")["mass"]


@lru_cache(CACHED_WORDS)
def is_plural_only(noun: str) -> bool:
    """Return True if a noun is always plural in form ("pants")."""
    return noun in load_lexicon("nouns")["plural only"]


@lru_cache(CACHED_WORDS)
def is_person(noun: str) -> bool:
    """Return True if a noun names a person."""
    return are_related(noun, "person")


@lru_cache(CACHED_PAIRS)
def may_be_same_person(first: str, second: str) -> bool:
    """Return True if a person may have both names: they are not in different lists, such as those for men and women."""
    first_lists = _list_indices(first, "persons")
    second_lists = _list_indices(second, "persons")
    return not (first_lists and second_lists and first_lists != second_lists)


def list_overlapping(noun: str) -> frozenset[int]:
    """Return the numbers of the lists of nouns for the same area of an image that contain the noun."""
    return _list_indices(noun, "overlapping")


@lru_cache(CACHED_PAIRS)
def may_name_same_object(first: str, second: str) -> bool:
    """Return True if an object may have both names.

    This holds for words that WordNet relates, for two words for a person, and for two words for the same area of an
    image.
    """
    if are_related(first, second):
        return True
    if is_person(first) and is_person(second):
        return may_be_same_person(first, second)
    return not list_overlapping(first).isdisjoint(list_overlapping(second))
