"""Nouns that may replace each other in the user's own captions."""

from functools import lru_cache

from compeval.base.texts import words
from compeval.generators.hard_negatives.own.caption import is_named
from compeval.generators.hard_negatives.own.lists import load_lists, load_words
from compeval.generators.language import CACHED_PAIRS, CACHED_WORDS
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.wordnet import (
    hypernym_distance,
    is_in_wordnet,
    name_kind,
    senses,
    sum_tag_counts,
)

MIN_SIMILARITY = {3: 0.02, 5: 0.04, 99: 0.08}
"""Smallest similarity of slots (slots.py) of two nouns by their largest distance to a shared hypernym."""
FAR = 99


@lru_cache(CACHED_WORDS)
def is_foil_noun(noun: str) -> bool:
    """Return True if a noun names something visible that a caption would mention, and says enough of it."""
    if not (is_in_wordnet(noun) and is_named(noun)) or is_general(noun):
        return False
    others = max(sum_tag_counts(noun, "a"), sum_tag_counts(noun, "v"))
    is_noun = sum_tag_counts(noun, "n") >= others
    return is_noun and load_words("unmentioned").isdisjoint((noun, noun.split()[-1]))


def is_general(noun: str) -> bool:
    """Return True if a noun may be true of very many things, such as "product"."""
    return noun.split()[-1] in load_words("general")


@lru_cache(CACHED_PAIRS)
def are_alike(first: str, second: str, similarity: float) -> bool:
    """Return True if two nouns are of one kind (both animals, both artifacts) and captions use them alike."""
    if name_kind(first) != name_kind(second):
        return False
    distance = hypernym_distance(first, second)
    steps = FAR if distance is None else distance
    return similarity >= next(least for limit, least in MIN_SIMILARITY.items() if steps <= limit)


@lru_cache(CACHED_PAIRS)
def may_be_one(first: str, second: str) -> bool:
    """Return True if one thing may have both names: held_together.yaml lists them, or WordNet's definition says so."""
    if first == second or is_general(first) or is_general(second):
        return True
    names = [{noun, noun.split()[-1]} for noun in (first, second)]
    held = load_lists("held_together")
    return any(
        not names[1 - side].isdisjoint(held.get(name, ()))
        or not names[1 - side].isdisjoint(_define(name))
        for side in (0, 1)
        for name in names[side]
    )


@lru_cache(CACHED_WORDS)
def _define(noun: str) -> frozenset[str]:
    """Return the words of the definitions of a noun's usual senses."""
    definitions = (
        (str(sense.definition()) for sense in senses(noun, "n")) if is_in_wordnet(noun) else ()
    )
    return frozenset(lemmatise_noun(word) for text in definitions for word in words(text))
