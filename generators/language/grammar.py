"""Grammar of the words of scene graphs: names of visible objects, forms of predicates in clauses, adjective order.

``grammar.yaml`` lists the words whose grammar neither WordNet nor the inflection library has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from generators.language.inflection import noun_lemma
from generators.language.lexicon.nouns import is_plural_only
from generators.language.wordnet import base_form, is_entry, is_visible

PredicateKind = Literal["preposition", "participle", "verb"]


@cache
def grammar() -> Mapping[str, Any]:
    """The content of grammar.yaml."""
    return yaml.safe_load(Path(__file__).with_name("grammar.yaml").read_text("utf-8"))


@cache
def is_plural(noun: str) -> bool:
    """Whether a noun, by its last word, is a plural form."""
    return is_plural_only(noun.split()[-1]) or noun_lemma(noun) != noun


@cache
def predicate_kind(predicate: str) -> PredicateKind | None:
    """The kind of a predicate in a clause; None for one that cannot relate two objects.

    ``preposition``: "is on"; ``participle``: "is wearing", "is worn by"; ``verb``: "wears", "have".
    """
    first, *rest = predicate.split()
    if first.endswith("ly") and rest:  # "partly hidden by"
        return predicate_kind(" ".join(rest))
    rules = grammar()
    if predicate in rules["prepositions"] or (rest and predicate.startswith(tuple(rules["phrases"]))):
        return "preposition"
    lemma = base_form(first, "v")
    if lemma is None or lemma in rules["empty verbs"]:
        return None
    if rest and rest[-1] not in (*rules["prepositions"], *rules["closing"]):
        return None
    if first.endswith("ing"):
        return "participle"
    if first == lemma or first.endswith("s"):
        return "verb"
    return "participle" if rest else None


class ActiveVerb(NamedTuple):
    """An active verb: "partly covering" has the adverb "partly", the lemma "cover" and an empty rest."""

    adverb: str
    lemma: str
    rest: str


@cache
def active_verb(predicate: str) -> ActiveVerb | None:
    """The predicate as an active verb, in any form; None for prepositions and passives."""
    words = predicate.split()
    adverbs = words[:1] if words[0].endswith("ly") else []
    first, *rest = words[len(adverbs) :] or [""]
    kind = predicate_kind(predicate)
    if kind == "verb" or (kind == "participle" and first.endswith("ing")):
        return ActiveVerb(" ".join(adverbs), base_form(first, "v") or first, " ".join(rest))
    return None


def is_possession(predicate: str) -> bool:
    """Whether a predicate is "with" or "has"."""
    active = active_verb(predicate)
    return predicate == "with" or (active is not None and active.lemma == "have" and not active.rest)


def is_finite(predicate: str) -> bool:
    """Whether a clause has the predicate as its own verb ("has", "contains"), not with "is" ("is partly hiding")."""
    active = active_verb(predicate)
    stative = active is not None and not active.adverb and active.lemma in grammar()["stative verbs"]
    return is_possession(predicate) or stative


def is_same_verb(one: str, other: str) -> bool:
    """Whether two predicates are one active verb, "with" included, in any form: "wears" and "wearing"."""
    active = active_verb(one)
    return active == active_verb(other) if active else one == other == "with"


def same_kind(one: str, other: str) -> bool:
    """Whether both are sizes, ages, shapes, colours, patterns or materials."""
    return any(one in group and other in group for group in grammar()["kinds"].values())


def in_adjective_order(texts: Iterable[str]) -> list[str]:
    """Adjectives in English order: size, age, shape, colour, pattern, material."""
    kinds = grammar()["kinds"]
    ranks = {text: rank for rank, group in enumerate(kinds.values()) for text in group}
    return sorted(texts, key=lambda text: ranks.get(text, list(kinds).index("other")))


@cache
def is_descriptive(text: str) -> bool:
    """Whether an attribute can describe an object: "red", "parked", "made of bricks", not "tennis" or "phone"."""
    last = text.split()[-1]
    if last in grammar()["not visible"]:
        return False
    if any(text in group for group in grammar()["kinds"].values()) or follows_noun(text):
        return True
    participle = last.endswith(("ing", "ed", "en")) and base_form(last, "v") is not None
    return participle or base_form(last, "a") is not None


@cache
def is_visible_object(name: str) -> bool:
    """Whether a name is of something visible, by its last word: not "pluged", "color" or "area"."""
    head = noun_lemma(name).split()[-1]
    return head not in grammar()["not visible"] and is_entry(head) and is_visible(head)


@cache
def follows_noun(text: str) -> bool:
    """Whether an attribute can only follow its noun: "made of bricks", "turned off"."""
    first, *rest = text.split()
    return bool(rest) and (first in grammar()["prepositions"] or base_form(first, "v") is not None)
