"""Attributes that exclude each other, and attributes that may replace each other in a hard negative.

Source: CREPE (arXiv:2212.07796), section 4.1: foils are antonyms or words with the same grand-hypernym. WordNet
provides antonyms and colours; attributes.yaml (written for this project) adds kinds of attributes that WordNet does not
group.
"""

from __future__ import annotations

from functools import lru_cache

from compeval.generators.language import CACHED_PAIRS, CACHED_WORDS, wordnet
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.wordnet import antonyms, are_related, name_same_color


@lru_cache(CACHED_WORDS)
def _find_listed(attribute: str) -> frozenset[tuple[str, int]]:
    """Return the (kind, index) pairs of all entries in attributes.yaml that contain the word."""
    kinds = load_lexicon("attributes")["exclusive"]
    return frozenset(
        (kind, index)
        for kind, items in kinds.items()
        for index, words in enumerate(items)
        if attribute in words
    )


@lru_cache(CACHED_WORDS)
def _find_values(attribute: str) -> frozenset[tuple[str, int]]:
    """Return the entries of the word, or of the colour that its last part names ("dark green")."""
    last_part = attribute.replace("-", " ").rsplit(" ", 1)[-1]
    return _find_listed(attribute) or (
        _find_listed(last_part) if wordnet.is_color(attribute) else frozenset()
    )


@lru_cache(CACHED_WORDS)
def is_color(attribute: str) -> bool:
    """Return True if an attribute names a single colour."""
    return wordnet.is_color(attribute) or any(
        kind == "color" for kind, _ in _find_values(attribute)
    )


@lru_cache(CACHED_WORDS)
def fits_any_object(attribute: str) -> bool:
    """Return True if any object may have the attribute ("red", not "open")."""
    kinds = {kind for kind, _ in _find_values(attribute)} | (
        {"color"} if is_color(attribute) else set()
    )
    return not kinds.isdisjoint(load_lexicon("attributes")["any object"])


@lru_cache(CACHED_PAIRS)
def may_hold_together(first: str, second: str) -> bool:
    """Return True if an object may have both attributes, because they have the same or a similar meaning."""
    if first == second or _find_values(first) & _find_values(second):
        return True
    return (
        name_same_color(first, second)
        if is_color(first) and is_color(second)
        else are_related(first, second, "a")
    )


@lru_cache(CACHED_PAIRS)
def exclude(first: str, second: str) -> bool:
    """Return True if no object has both attributes: they are two values of one kind, two colours, or antonyms."""
    if may_hold_together(first, second):
        return False
    if is_color(first) or is_color(second):
        multicolored = load_lexicon("attributes")["several colours"]
        return (
            is_color(first)
            and is_color(second)
            and first not in multicolored
            and second not in multicolored
        )
    kinds = {kind for kind, _ in _find_values(first)} & {kind for kind, _ in _find_values(second)}
    return bool(kinds) or second in antonyms(first, "a") or first in antonyms(second, "a")


@lru_cache(CACHED_WORDS)
def exclusive_attributes(attribute: str) -> tuple[tuple[str, ...], ...]:
    """Return attributes that exclude the given one, in groups of words with the same meaning.

    Other values of the same kinds come first, then antonyms.
    """
    kinds = {kind for kind, _ in _find_values(attribute)}
    listed = load_lexicon("attributes")["exclusive"].items()
    values = [words for kind, items in listed if kind in kinds for words in items]
    groups = [tuple(word for word in words if exclude(attribute, word)) for words in values]
    antonym_words = () if is_color(attribute) else antonyms(attribute, "a")
    listed_words = {word for words in groups for word in words}
    antonym_groups = (
        (word,) for word in antonym_words if word not in listed_words and exclude(attribute, word)
    )
    return (*filter(None, groups), *antonym_groups)
