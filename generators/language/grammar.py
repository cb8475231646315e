"""Grammar of the words of scene graphs: which names are things, how predicates behave in clauses, adjective order.

``grammar.yaml`` lists the words whose grammar neither WordNet nor the inflection library knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

import yaml

from generators.language.inflection import noun_lemma
from generators.language.lexicon.nouns import is_plural_only
from generators.language.wordnet import is_entry, is_visible, wordnet

PredicateKind = Literal["preposition", "participle", "verb"]


@cache
def grammar() -> Mapping[str, Any]:
    return yaml.safe_load(resources.files("generators.language").joinpath("grammar.yaml").read_text("utf-8"))


@cache
def is_plural(noun: str) -> bool:
    """Whether a noun, by its last word, is a plural form."""
    return is_plural_only(noun.split()[-1]) or noun_lemma(noun) != noun


@cache
def predicate_kind(predicate: str) -> PredicateKind | None:
    """How a predicate behaves in a clause, or None for one that cannot be said of two objects.

    ``preposition``: "is on"; ``participle``: "is wearing", "is worn by"; ``verb``: "wears", "have".
    """
    first, *rest = predicate.split()
    if first.endswith("ly") and rest:  # "partly hidden by"
        return predicate_kind(" ".join(rest))
    rules = grammar()
    if predicate in rules["prepositions"] or (rest and predicate.startswith(tuple(rules["phrases"]))):
        return "preposition"
    lemma = verb_lemma(first)
    if lemma is None or lemma in rules["empty verbs"]:
        return None
    if rest and rest[-1] not in (*rules["prepositions"], *rules["closing"]):
        return None
    if first.endswith("ing"):
        return "participle"
    if first == lemma or first.endswith("s"):
        return "verb"
    return "participle" if rest else None


def verb_lemma(word: str) -> str | None:
    """The lemma of a verb form, None for what is no verb's."""
    return wordnet().morphy(word, "v")


class ActiveVerb(NamedTuple):
    """An active verb: "partly covering" is the adverb "partly", the lemma "cover" and nothing after."""

    adverb: str
    lemma: str
    rest: str


@cache
def active_verb(predicate: str) -> ActiveVerb | None:
    """The predicate as an active verb, whatever its form; None for prepositions and passives."""
    *adverbs, first = predicate.split()[:2] if predicate.split()[0].endswith("ly") else predicate.split()[:1]
    rest = " ".join(predicate.split()[len(adverbs) + 1 :])
    kind = predicate_kind(predicate)
    if kind == "verb" or (kind == "participle" and first.endswith("ing")):
        return ActiveVerb(" ".join(adverbs), verb_lemma(first) or first, rest)
    return None


def is_possession(predicate: str) -> bool:
    """Whether a predicate is "with" or "has"."""
    active = active_verb(predicate)
    return predicate == "with" or (active is not None and active.lemma == "have" and not active.rest)


def is_active(predicate: str) -> bool:
    """Whether a predicate is an active verb, "with" included."""
    return predicate == "with" or active_verb(predicate) is not None


def is_finite(predicate: str) -> bool:
    """Whether a clause says a predicate by its own verb ("has", "contains"), not with "is" ("is partly hiding")."""
    active = active_verb(predicate)
    stative = active is not None and not active.adverb and active.lemma in grammar()["stative verbs"]
    return is_possession(predicate) or stative


def is_same_verb(one: str, other: str) -> bool:
    """Whether two predicates are one active verb, perhaps in two forms: "wears" and "wearing"."""
    return is_active(one) and (
        one == other or (active_verb(one) is not None and active_verb(one) == active_verb(other))
    )


def same_kind(one: str, other: str) -> bool:
    """Whether both are sizes, ages, shapes, colours, patterns or materials."""
    return any(one in group and other in group for group in grammar()["kinds"].values())


def ordered(texts: Iterable[str]) -> list[str]:
    """Adjectives in English order: size, age, shape, colour, pattern, material."""
    return sorted(texts, key=_rank)


def _rank(text: str) -> int:
    """The place of an adjective's kind among the kinds."""
    kinds = grammar()["kinds"]
    kind = next((kind for kind, group in kinds.items() if text in group), "other")
    return list(kinds).index(kind)


@cache
def is_descriptive(text: str) -> bool:
    """Whether an attribute can be said of a thing: "red", "parked", "made of bricks", not "tennis" or "phone"."""
    last = text.split()[-1]
    if last in grammar()["no things"]:
        return False
    if any(text in group for group in grammar()["kinds"].values()) or follows_noun(text):
        return True
    participle = last.endswith(("ing", "ed", "en")) and verb_lemma(last) is not None
    return participle or wordnet().morphy(last, "a") is not None


@cache
def is_visible_object(name: str) -> bool:
    """Whether a name is that of something to be seen, by its last word: not "pluged", "color" or "area"."""
    head = noun_lemma(name).split()[-1]
    return head not in grammar()["no things"] and is_entry(head) and is_visible(head)


@cache
def follows_noun(text: str) -> bool:
    """Whether an attribute can only stand after its noun: "made of bricks", "turned off"."""
    first, *rest = text.split()
    return bool(rest) and (first in grammar()["prepositions"] or verb_lemma(first) is not None)
