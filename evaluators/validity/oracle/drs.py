"""Discourse representation structures (DRS), which represent the meaning of a text.

Source: discourse representation theory, Kamp and Reyle 1993, chapter 1. A DRS has referents, which stand for objects,
and conditions on the referents; a negated DRS is one kind of condition. Difference from the source: distinct referents
stand for distinct objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from compeval.evaluators.validity.oracle.lexicon import Values


@dataclass(frozen=True, slots=True)
class Property:
    """The object's ``slot`` (noun, side, color, pattern, size or state) has one of ``values`` (none: undrawable)."""

    referent: int
    word: str
    slot: str
    values: Values


@dataclass(frozen=True, slots=True)
class Relation:
    """Each subject has one of ``relations`` to some object, and each object is related to some subject."""

    subjects: tuple[int, ...]
    phrase: str
    relations: Values
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """The referent differs from ``others``. "another" inside a negated DRS adds this condition."""

    referent: int
    others: tuple[int, ...]


@dataclass(frozen=True)
class DRS:
    """True if there are distinct objects, one per referent, of which all conditions hold."""

    referents: tuple[int, ...]
    conditions: tuple[Condition, ...]

    @cached_property
    def free(self) -> frozenset[int]:
        """The referents in the conditions that belong to an outer DRS."""
        return frozenset().union(*map(_referents, self.conditions)) - frozenset(self.referents)

    @cached_property
    def checks(self) -> tuple[tuple[Condition, ...], ...]:
        """``checks[n]`` holds the conditions that can be tested as soon as the first n referents have objects.

        Properties, which are cheap to test, come first.
        """
        bound = set(self.free)
        pending = list(self.conditions)
        checks: list[tuple[Condition, ...]] = []
        for num_bound in range(len(self.referents) + 1):
            bound.update(self.referents[:num_bound])
            ready = [condition for condition in pending if _referents(condition) <= bound]
            pending = [condition for condition in pending if condition not in ready]
            checks.append(
                tuple(sorted(ready, key=lambda condition: not isinstance(condition, Property)))
            )
        return tuple(checks)

    def undrawable(self) -> Iterator[str]:
        """Yield the nouns, adjectives and relation phrases that no object of any scene satisfies."""
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
    """A DRS under construction. A builder among the conditions becomes a negated DRS.

    ``negates_predicate``: True if the DRS negates a predicate ("not on the table"). The referent of a definite noun
    phrase ("the table") then belongs to the DRS around it.
    """

    outer: DRSBuilder | None = None
    negates_predicate: bool = False
    referents: list[int] = field(default_factory=list)
    conditions: list[Condition | DRSBuilder] = field(default_factory=list)

    def accessible(self) -> Iterator[DRSBuilder]:
        """Yield this DRS and all DRSs around it. Their referents can be referred to from this DRS."""
        builder: DRSBuilder | None = self
        while builder is not None:
            yield builder
            builder = builder.outer

    def outside_predicates(self) -> DRSBuilder:
        """Return the innermost DRS, starting from this one, that does not negate a predicate."""
        return next(builder for builder in self.accessible() if not builder.negates_predicate)

    def describe(self, referents: Iterable[int], word: str, slot: str, values: Values) -> None:
        """Add a property to each referent."""
        self.conditions.extend(Property(referent, word, slot, values) for referent in referents)

    def build(self) -> DRS:
        conditions = [
            Negation(item.build()) if isinstance(item, DRSBuilder) else item
            for item in self.conditions
        ]
        return DRS(tuple(self.referents), tuple(dict.fromkeys(conditions)))
