"""Claims under construction: boxes that still grow, and who was mentioned in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evaluators.validity.oracle.lexicon import Look, Noun
from evaluators.validity.oracle.logic import Box, Condition, No

Refs = tuple[int, ...]


@dataclass(eq=False)
class Draft:
    """A box under construction. ``predicate``: it negates a predicate, so "the" looks past it."""

    outer: Draft | None = None
    predicate: bool = False
    refs: list[int] = field(default_factory=list)
    conditions: list[Condition | Draft] = field(default_factory=list)

    def chain(self) -> Iterator[Draft]:
        """This box and those around it."""
        draft: Draft | None = self
        while draft is not None:
            yield draft
            draft = draft.outer

    def past_predicates(self) -> Draft:
        return next(draft for draft in self.chain() if not draft.predicate)

    def finished(self) -> Box:
        conditions = [No(item.finished()) if isinstance(item, Draft) else item for item in self.conditions]
        return Box(tuple(self.refs), tuple(dict.fromkeys(conditions)))


@dataclass(eq=False)
class Mention:
    """The things that a noun phrase introduced, with all that was said of them there (``own_...``)."""

    noun: Noun
    looks: frozenset[Look]
    refs: Refs
    draft: Draft
    sentence: int
    clause: int
    own_refs: list[int] = field(default_factory=list)
    own_conditions: list[Condition | Draft] = field(default_factory=list)
