"""What the grammar makes of a sentence, before it is settled which words speak of the same thing.

Every clause comes down to noun phrases and predicates: "a ball is on a table", "a ball that is on a table", "there is
a ball on a table" and "on a table is a ball" are one tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from evaluators.validity.oracle.lexicon import Look, Noun
from evaluators.validity.oracle.relation_words import Relations


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


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """``count`` things of one noun (None: as many as its number says); ``ordinal`` is 1 in "the second ball".

    Pronouns have no noun, and count 1 (it) or 2 (they).
    """

    determiner: Determiner
    noun: Noun | None = None
    count: int | None = None
    ordinal: int | None = None
    predicates: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Coordinated noun phrases with what is said of all of them: "a ball and a cup on a table"."""

    members: tuple[NounPhrase, ...]
    predicates: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Looks:
    look: Look


@dataclass(frozen=True, slots=True)
class Side:
    """In the left or right half of the picture."""

    side: str


@dataclass(frozen=True, slots=True)
class Link:
    """One of these relations, as ``phrase`` says it."""

    phrase: str
    relations: Relations
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Stands:
    """In all ``links`` to the objects: "above and to the left of a table".

    ``vague`` (with, have): where the objects say themselves how they stand to the subject, nothing more is claimed
    ("a table with a lamp on it").
    """

    links: tuple[Link, ...]
    objects: Group
    vague: bool = False


@dataclass(frozen=True, slots=True)
class IsA:
    """A predicate noun: "something that is a table"."""

    phrase: NounPhrase


@dataclass(frozen=True, slots=True)
class Not:
    predicates: tuple[Predicate, ...]


Predicate = Looks | Side | Stands | IsA | Not


@dataclass(frozen=True, slots=True)
class Exists:
    """The caption says that these things are there."""

    group: Group


@dataclass(frozen=True, slots=True)
class Denied:
    """None of the ways that make all statements true is there."""

    statements: tuple[Statement, ...]


Statement = Exists | Denied
