"""Syntax trees: a sentence as the grammar reads it, before references are resolved.

Every clause is reduced to noun phrases and predicates: "a ball is on a table", "a ball that is on a table", "there is a
ball on a table" and "on a table is a ball" have the same tree.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from evaluators.validity.oracle.lexicon import Attribute, Noun, Values


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
    """``number`` objects of one noun (None: by its grammatical number); ``ordinal`` is 1 in "the second ball".

    Pronouns have no noun, and number 1 (it) or 2 (they).
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
    """In the left or right half of the image."""

    side: str


class Link(NamedTuple):
    """A preposition or verb, and the relations of which one must hold."""

    phrase: str
    relations: Values
    negated: bool = False


class RelatedTo(NamedTuple):
    """All ``links`` to the objects hold: "above and to the left of a table".

    ``implicit`` (with, have): the links are not asserted if the object phrase itself states the relation to the subject
    ("a table with a lamp on it").
    """

    links: tuple[Link, ...]
    objects: Group
    implicit: bool = False


class IsA(NamedTuple):
    """A predicate noun: "something that is a table"."""

    phrase: NounPhrase


class Not(NamedTuple):
    predicates: Predicates


Predicate = HasAttribute | OnSide | RelatedTo | IsA | Not
Predicates = tuple[Predicate, ...]


class Assertion(NamedTuple):
    """The objects of the group exist."""

    group: Group


class Denial(NamedTuple):
    """The statements are not all true together."""

    statements: tuple[Statement, ...]


Statement = Assertion | Denial
