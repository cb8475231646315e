"""Syntax trees: the output of the grammar, before references are resolved.

Every clause is reduced to noun phrases and predicates: "a ball is on a table", "a ball that is on a table", "there is a
ball on a table" and "on a table is a ball" have the same tree.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from compeval.evaluators.validity.oracle.lexicon import Attribute, Noun, Values


class Determiner(Enum):
    INDEFINITE = "a"
    DEFINITE = "the"
    BARE = ""
    NO = "no"
    NO_OTHER = "no other"
    OTHER = "another"
    THE_OTHER = "the other"
    PRONOUN = "it"
    EACH_OTHER = "each other"


class NounPhrase(NamedTuple):
    """A noun phrase. ``number`` is None if only the noun's form (singular or plural) tells the number of objects.

    ``ordinal`` is a zero-based index: 1 for "the second ball". A pronoun has no noun; its number is 1 (it) or 2 (they).
    """

    determiner: Determiner
    noun: Noun | None = None
    number: int | None = None
    ordinal: int | None = None
    predicates: Predicates = ()


class Group(NamedTuple):
    """Coordinated noun phrases and the predicates that hold of all of them: "a ball and a cup on a table"."""

    members: tuple[NounPhrase, ...]
    predicates: Predicates = ()


class HasAttribute(NamedTuple):
    attribute: Attribute


class OnSide(NamedTuple):
    """The object is in the left or the right half of the image."""

    side: str


class Link(NamedTuple):
    """A preposition or verb, and its relations, of which at least one must hold."""

    phrase: str
    relations: Values
    negated: bool = False


class RelatedTo(NamedTuple):
    """The subject is related to the objects by every link: "above and to the left of a table".

    ``implicit``: True for "with" and "have". The links are then ignored if the object phrase states the relation to the
    subject itself ("a table with a lamp on it").
    """

    links: tuple[Link, ...]
    objects: Group
    implicit: bool = False


class IsA(NamedTuple):
    """The subject is an object of the phrase's noun: "something that is a table"."""

    phrase: NounPhrase


class Not(NamedTuple):
    predicates: Predicates


Predicate = HasAttribute | OnSide | RelatedTo | IsA | Not
Predicates = tuple[Predicate, ...]


class Assertion(NamedTuple):
    """The objects of the group exist."""

    group: Group


class Denial(NamedTuple):
    """At least one of the statements is false."""

    statements: tuple[Statement, ...]


Statement = Assertion | Denial
