"""Grammar of the words in scene graphs: visible nouns, predicates in clauses, and the order of adjectives.

``lexicon/grammar.yaml`` lists the words that WordNet and the inflection library do not cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Literal, NamedTuple

from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.lexicon.nouns import is_plural_only
from compeval.generators.language.wordnet import is_in_wordnet, is_visible, lemmatise

PredicateKind = Literal["preposition", "participle", "verb"]

load_grammar = partial(load_lexicon, "grammar")


@cache
def is_plural(noun: str) -> bool:
    """Return True if the last word of a noun is a plural form."""
    return is_plural_only(noun.split()[-1]) or lemmatise_noun(noun) != noun


@cache
def predicate_kind(predicate: str) -> PredicateKind | None:
    """Return how a clause uses a predicate, or None if the predicate cannot relate two objects ("are fully").

    - ``preposition``: after "is", without a verb of its own ("on")
    - ``participle``: after "is" ("wearing", "worn by")
    - ``verb``: without "is" ("wears", "have")
    """
    first, *rest = predicate.split()
    if first.endswith("ly") and rest:  # "partly hidden by"
        return predicate_kind(" ".join(rest))
    words = load_grammar()
    if predicate in words["prepositions"] or (
        rest and predicate.startswith(tuple(words["first prepositions"]))
    ):
        return "preposition"
    lemma = lemmatise(first, "v")
    if lemma is None or lemma in words["meaningless verbs"]:
        return None
    if rest and rest[-1] not in (*words["prepositions"], *words["last prepositions"]):
        return None
    if first.endswith("ing"):
        return "participle"
    if first == lemma or first.endswith("s"):
        return "verb"
    return "participle" if rest else None


class ActiveVerb(NamedTuple):
    """An active verb: "partly leaning on" has the adverb "partly", the lemma "lean" and the particles "on"."""

    adverb: str
    lemma: str
    particles: str


@cache
def parse_active_verb(predicate: str) -> ActiveVerb | None:
    """Return the parts of an active verb in any form, or None for prepositions and passives."""
    words = predicate.split()
    adverbs = words[:1] if words[0].endswith("ly") else []
    first, *rest = words[len(adverbs) :] or [""]
    kind = predicate_kind(predicate)
    if kind == "verb" or (kind == "participle" and first.endswith("ing")):
        return ActiveVerb(" ".join(adverbs), lemmatise(first, "v") or first, " ".join(rest))
    return None


def is_with_or_has(predicate: str) -> bool:
    """Return True if the predicate is "with" or a form of "have"."""
    active = parse_active_verb(predicate)
    return predicate == "with" or (
        active is not None and active.lemma == "have" and not active.particles
    )


def is_finite(predicate: str) -> bool:
    """Return True if a clause uses the predicate without "is" ("has", "contains", but not "partly hiding")."""
    active = parse_active_verb(predicate)
    is_stative = (
        active is not None and not active.adverb and active.lemma in load_grammar()["stative verbs"]
    )
    return is_with_or_has(predicate) or is_stative


def are_same_verb(first: str, second: str) -> bool:
    """Return True if two predicates are forms of one active verb ("wears" and "wearing"), or both are "with"."""
    active = parse_active_verb(first)
    return active == parse_active_verb(second) if active else first == second == "with"


@cache
def _adjective_kinds() -> Mapping[str, int]:
    """Return the rank of each listed adjective's kind: size, age, shape, colour, pattern, material."""
    kinds = load_grammar()["adjective kinds"].values()
    return {adjective: rank for rank, group in enumerate(kinds) for adjective in group}


def are_same_kind(first: str, second: str) -> bool:
    """Return True if both attributes are sizes, or both ages, shapes, colours, patterns or materials."""
    return any(
        first in group and second in group for group in load_grammar()["adjective kinds"].values()
    )


def sort_adjectives(attributes: Iterable[str]) -> list[str]:
    """Return the attributes in the English order: size, age, shape, colour, pattern, material."""
    ranks = _adjective_kinds()
    other = list(load_grammar()["adjective kinds"]).index("other")
    return sorted(attributes, key=lambda attribute: ranks.get(attribute, other))


@cache
def is_descriptive(attribute: str) -> bool:
    """Return True if an attribute can describe an object ("red", "parked", "made of bricks", but not "phone")."""
    last_word = attribute.split()[-1]
    if last_word in load_grammar()["invisible nouns"]:
        return False
    if any(
        attribute in group for group in load_grammar()["adjective kinds"].values()
    ) or follows_noun(attribute):
        return True
    is_participle = (
        last_word.endswith(("ing", "ed", "en")) and lemmatise(last_word, "v") is not None
    )
    return is_participle or lemmatise(last_word, "a") is not None


@cache
def is_visible_object(name: str) -> bool:
    """Return True if the last word of a name is a visible noun ("cup", but not "color" or "area")."""
    noun = lemmatise_noun(name).split()[-1]
    return (
        noun not in load_grammar()["invisible nouns"] and is_in_wordnet(noun) and is_visible(noun)
    )


@cache
def follows_noun(attribute: str) -> bool:
    """Return True if an attribute can only follow its noun ("made of bricks", "turned off")."""
    first, *rest = attribute.split()
    return bool(rest) and (
        first in load_grammar()["prepositions"] or lemmatise(first, "v") is not None
    )
