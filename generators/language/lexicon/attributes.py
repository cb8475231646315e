"""Which attributes exclude each other, and which words may stand in for one without being true of the same thing.

Source: CREPE (arXiv:2212.07796), section 4.1: antonyms and words of the same grand-hypernym. WordNet gives antonyms
and, through their nouns, colours; attributes.yaml (written for this project) the kinds that WordNet has no word for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from generators.language import wordnet
from generators.language.lexicon import read
from generators.language.wordnet import antonyms, are_related, are_shades


@cache
def _places() -> Mapping[str, frozenset[tuple[str, int]]]:
    """Every listed word -> the (kind, item) pairs that it belongs to."""
    places: dict[str, set[tuple[str, int]]] = {}
    for kind, items in read("attributes")["exclusive"].items():
        for at, words in enumerate(items):
            for word in words:
                places.setdefault(word, set()).add((kind, at))
    return {word: frozenset(found) for word, found in places.items()}


@cache
def _found(attribute: str) -> frozenset[tuple[str, int]]:
    """The word's places, or those of the colour that it shades ("dark green")."""
    listed, head = _places(), attribute.replace("-", " ").rsplit(" ", 1)[-1]
    if attribute in listed or not wordnet.is_color(attribute):
        return listed.get(attribute, frozenset())
    return listed.get(head, frozenset())


@cache
def is_color(attribute: str) -> bool:
    """Whether an attribute names one colour."""
    return wordnet.is_color(attribute) or any(kind == "color" for kind, _ in _found(attribute))


@lru_cache(maxsize=1 << 18)
def may_mean_the_same(one: str, other: str) -> bool:
    """Whether both can be true of a thing because one word is a shade, a synonym or a neighbour of the other."""
    if one == other or _found(one) & _found(other):
        return True
    return are_shades(one, other) if is_color(one) and is_color(other) else are_related(one, other, "a")


@lru_cache(maxsize=1 << 18)
def exclude(one: str, other: str) -> bool:
    """Whether no thing has both: two items of one kind, two colours, or antonyms, and not words for the same."""
    if may_mean_the_same(one, other):
        return False
    if is_color(one) or is_color(other):
        many = read("attributes")["many-coloured"]
        return is_color(one) and is_color(other) and one not in many and other not in many
    kinds = {kind for kind, _ in _found(one)} & {kind for kind, _ in _found(other)}
    return bool(kinds) or other in antonyms(one, "a") or one in antonyms(other, "a")


@cache
def foils(attribute: str) -> tuple[tuple[str, ...], ...]:
    """What excludes the attribute, in groups of words for the same: other values of its kinds, then antonyms."""
    kinds = {kind for kind, _ in _found(attribute)}
    values = [words for kind, items in read("attributes")["exclusive"].items() if kind in kinds for words in items]
    listed = [tuple(word for word in words if exclude(attribute, word)) for words in values]
    opposites = () if is_color(attribute) else antonyms(attribute, "a")
    known = {word for words in listed for word in words}
    return (
        *(words for words in listed if words),
        *((word,) for word in opposites if word not in known and exclude(attribute, word)),
    )
