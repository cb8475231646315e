"""Discourse representation structures (DRS): the meaning of a text.

Source: discourse representation theory, Kamp and Reyle 1993, chapter 1. A DRS has referents and conditions on them; a
negated DRS is one of the conditions. Differs from it in: distinct referents are distinct objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from evaluators.validity.oracle.lexicon import Values


@dataclass(frozen=True, slots=True)
class Property:
    """The referent's ``slot`` (noun, side or that of an attribute) has one of ``values``; none if undrawable."""

    referent: int
    word: str
    slot: str
    values: Values


@dataclass(frozen=True, slots=True)
class Relation:
    """Each of ``subjects`` has one of ``relations`` to one of ``objects``, and each object takes part."""

    subjects: tuple[int, ...]
    phrase: str
    relations: Values
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """The referent is none of ``others``: the meaning of "another" inside a negated DRS."""

    referent: int
    others: tuple[int, ...]


@dataclass(frozen=True)
class DRS:
    """The referents are distinct objects, and all conditions hold."""

    referents: tuple[int, ...]
    conditions: tuple[Condition, ...]

    @cached_property
    def free(self) -> frozenset[int]:
        """The referents of outer structures in the conditions."""
        return frozenset().union(*map(_referents, self.conditions)) - frozenset(self.referents)

    @cached_property
    def checks(self) -> tuple[tuple[Condition, ...], ...]:
        """The conditions that can be decided once 0, 1, 2 ... of the referents are known, the cheapest first."""
        known, checks, pending = set(self.free), [], list(self.conditions)
        for number in range(len(self.referents) + 1):
            known.update(self.referents[:number])
            ready = [condition for condition in pending if _referents(condition) <= known]
            pending = [condition for condition in pending if condition not in ready]
            checks.append(tuple(sorted(ready, key=lambda condition: not isinstance(condition, Property))))
        return tuple(checks)

    def undrawable(self) -> Iterator[str]:
        """The nouns, adjectives and relation phrases that no object of any scene satisfies."""
        for condition in self.conditions:
            match condition:
                case Property(_, word, _, values) if not values:
                    yield word
                case Relation(_, phrase, relations, _) if not relations:
                    yield phrase
                case Negation(drs):
                    yield from drs.undrawable()
                case _:
                    pass


@dataclass(frozen=True, slots=True)
class Negation:
    drs: DRS


Condition = Property | Relation | Distinct | Negation


def _referents(condition: Condition) -> frozenset[int]:
    match condition:
        case Negation(drs):
            return drs.free
        case Relation(subjects, _, _, objects):
            return frozenset(subjects + objects)
        case Distinct(referent, others):
            return frozenset((referent, *others))
        case Property(referent):
            return frozenset((referent,))


@dataclass(eq=False)
class DRSBuilder:
    """A DRS under construction; a builder among the conditions becomes a negation.

    ``negates_predicate``: it negates a predicate, so definite noun phrases refer to the structure around it.
    """

    outer: DRSBuilder | None = None
    negates_predicate: bool = False
    referents: list[int] = field(default_factory=list)
    conditions: list[Condition | DRSBuilder] = field(default_factory=list)

    def accessible(self) -> Iterator[DRSBuilder]:
        """The structures whose referents are accessible from here: this one and those around it."""
        builder: DRSBuilder | None = self
        while builder is not None:
            yield builder
            builder = builder.outer

    def outside_predicates(self) -> DRSBuilder:
        return next(builder for builder in self.accessible() if not builder.negates_predicate)

    def describe(self, referents: Iterable[int], word: str, slot: str, values: Values) -> None:
        """Add a property of each referent."""
        self.conditions.extend(Property(referent, word, slot, values) for referent in referents)

    def build(self) -> DRS:
        conditions = [Negation(item.build()) if isinstance(item, DRSBuilder) else item for item in self.conditions]
        return DRS(tuple(self.referents), tuple(dict.fromkeys(conditions)))
