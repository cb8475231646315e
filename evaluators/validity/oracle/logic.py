"""What a reading claims, and whether a scene makes it true.

A claim is a box of discourse representation theory (Kamp and Reyle 1993, chapter 1): things that must exist and
conditions on them, a negated box among the conditions. A box is true of a scene if its things can be found there,
all of them distinct, so that every condition holds. A negated box may find the things of the outer box again: "There
is no ball" speaks of every ball.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evaluators.validity.oracle.lexicon import Look, Noun
from evaluators.validity.oracle.relation_words import Relations


@dataclass(frozen=True, slots=True)
class Kind:
    ref: int
    noun: Noun


@dataclass(frozen=True, slots=True)
class Has:
    """A thing and its look."""

    ref: int
    look: Look


@dataclass(frozen=True, slots=True)
class Lies:
    """In the left or the right half of the picture."""

    ref: int
    side: str


@dataclass(frozen=True, slots=True)
class Related:
    """Each of ``subjects`` stands in one of ``relations`` to one of ``objects``, and each object takes part."""

    subjects: tuple[int, ...]
    phrase: str
    relations: Relations
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """Not one of ``others``: what "another" adds inside a negated box."""

    ref: int
    others: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    refs: tuple[int, ...]
    conditions: tuple[Condition, ...]

    @cached_property
    def free(self) -> frozenset[int]:
        """The things of outer boxes that this one speaks of."""
        inner = [_refs(condition) for condition in self.conditions]
        return frozenset().union(*inner) - frozenset(self.refs)

    @cached_property
    def steps(self) -> tuple[tuple[int, tuple[Condition, ...], tuple[Condition, ...]], ...]:
        """Per thing: itself, the conditions on it alone, and the others that can be judged once it is found."""
        waiting = [condition for condition in self.conditions if _refs(condition) & frozenset(self.refs)]
        steps, found = [], set(self.free)
        for ref in self.refs:
            found.add(ref)
            ready = [condition for condition in waiting if _refs(condition) <= found]
            waiting = [condition for condition in waiting if condition not in ready]
            alone = tuple(condition for condition in ready if isinstance(condition, Kind | Has | Lies))
            steps.append((ref, alone, tuple(condition for condition in ready if condition not in alone)))
        return tuple(steps)

    @cached_property
    def outer(self) -> tuple[Condition, ...]:
        """The conditions on outer things only."""
        return tuple(condition for condition in self.conditions if not _refs(condition) & frozenset(self.refs))


@dataclass(frozen=True, slots=True)
class No:
    """A negated box."""

    box: Box


Condition = Kind | Has | Lies | Related | Apart | No


def _refs(condition: Condition) -> frozenset[int]:
    match condition:
        case No(box):
            return box.free
        case Related(subjects, _, _, objects):
            return frozenset(subjects + objects)
        case Apart(ref, others):
            return frozenset((ref, *others))
        case _:
            return frozenset((condition.ref,))


class World:
    """The scene's facts: its things by position, and the complete set of related pairs."""

    def __init__(self, scene: Mapping[str, Any]) -> None:
        self.things = scene["things"]
        self.middle = scene["width"] / 2
        self.relations = {tuple(relation) for relation in scene["relations"]}
        beside = [(one, other) for one, relation, other in self.relations if relation in ("left of", "right of")]
        self.relations |= {
            (one, "far from", other) for one, other in beside if (one, "next to", other) not in self.relations
        }

    def holds(self, box: Box, found: Mapping[int, int] | None = None) -> bool:
        """Whether ``box`` is true, given what the things of the outer boxes are (positions in ``things``)."""
        found = dict(found or {})
        return all(self._satisfied(condition, found) for condition in box.outer) and self._extends(box, 0, found)

    def _extends(self, box: Box, step: int, found: dict[int, int]) -> bool:
        if step == len(box.steps):
            return True
        ref, alone, joint = box.steps[step]
        taken = {found[earlier] for earlier in box.refs[:step]}
        for thing in range(len(self.things)):
            found[ref] = thing
            if (
                thing not in taken
                and all(self._satisfied(condition, found) for condition in alone)
                and all(self._satisfied(condition, found) for condition in joint)
                and self._extends(box, step + 1, found)
            ):
                return True
        found.pop(ref, None)
        return False

    def _satisfied(self, condition: Condition, found: dict[int, int]) -> bool:
        match condition:
            case Kind(ref, noun):
                return self.things[found[ref]]["noun"] in noun.kinds
            case Has(ref, look):
                return bool(look.values) and self.things[found[ref]][look.slot] in look.values
            case Lies(ref, side):
                x, _, width, _ = self.things[found[ref]]["box"]
                return (x + width / 2 < self.middle) == (side == "left")
            case Related(subjects, _, relations, objects):
                return self._related([found[ref] for ref in subjects], relations, [found[ref] for ref in objects])
            case Apart(ref, others):
                return found[ref] not in {found[other] for other in others}
            case No(box):
                return not self.holds(box, found)

    def _related(self, subjects: list[int], relations: Relations, objects: list[int]) -> bool:
        pairs = {
            (subject, target)
            for subject in subjects
            for target in objects
            if any(
                (self.things[subject]["id"], relation, self.things[target]["id"]) in self.relations
                for relation in relations
            )
        }
        return {subject for subject, _ in pairs} == set(subjects) and {target for _, target in pairs} == set(objects)


def undrawable(box: Box) -> Iterator[str]:
    """The nouns, adjectives and relation phrases of ``box`` that no thing of any scene can satisfy."""
    for condition in box.conditions:
        match condition:
            case Kind(_, noun) if not noun.kinds:
                yield noun.lemma
            case Has(_, look) if not look.values:
                yield look.word
            case Related(_, phrase, relations, _) if not relations:
                yield phrase
            case No(inner):
                yield from undrawable(inner)
            case _:
                pass
