"""Check if a DRS is true in a scene: search for an assignment of objects to referents that satisfies all conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compeval.evaluators.validity.oracle.drs import (
    DRS,
    Condition,
    Distinct,
    Negation,
    Property,
    Relation,
)
from compeval.evaluators.validity.oracle.lexicon import Values

Assignment = dict[int, int]
"""Referent -> index of an object in the scene."""


class SceneModel:
    """The objects of a scene and the complete set of (subject id, relation, object id) triples that hold."""

    def __init__(self, scene: Mapping[str, Any]) -> None:
        self.objects = [
            {**item, "side": _side(item["box"], scene["width"])} for item in scene["things"]
        ]
        self.relations = {tuple(relation) for relation in scene["relations"]}
        self.relations |= {
            (subject, "far from", target)
            for subject, relation, target in self.relations
            if relation in ("left of", "right of")
            and (subject, "next to", target) not in self.relations
        }

    def satisfies(self, drs: DRS, assignment: Assignment | None = None) -> bool:
        """Return True if ``drs`` holds for some choice of its objects.

        ``assignment`` holds the objects of the referents that belong to outer DRSs.
        """
        return self._extends(drs, 0, assignment or {})

    def _extends(self, drs: DRS, num_known: int, assignment: Assignment) -> bool:
        if not all(self._holds(condition, assignment) for condition in drs.checks[num_known]):
            return False
        if num_known == len(drs.referents):
            return True
        used = {assignment[referent] for referent in drs.referents[:num_known]}
        return any(
            self._extends(drs, num_known + 1, assignment | {drs.referents[num_known]: index})
            for index in range(len(self.objects))
            if index not in used
        )

    def _holds(self, condition: Condition, assignment: Assignment) -> bool:
        match condition:
            case Property(referent, _, slot, values):
                return bool(values) and self.objects[assignment[referent]].get(slot) in values
            case Relation(subjects, _, relations, objects):
                return self._related(
                    [assignment[ref] for ref in subjects],
                    relations,
                    [assignment[ref] for ref in objects],
                )
            case Distinct(referent, others):
                return assignment[referent] not in {assignment[ref] for ref in others}
            case Negation(drs):
                return not self.satisfies(drs, assignment)

    def _related(self, subjects: Sequence[int], relations: Values, objects: Sequence[int]) -> bool:
        ids = [item["id"] for item in self.objects]
        pairs = {
            (subject, target)
            for subject in subjects
            for target in objects
            if any(
                (ids[subject], relation, ids[target]) in self.relations for relation in relations
            )
        }
        return {subject for subject, _ in pairs} == {*subjects} and {
            target for _, target in pairs
        } == {*objects}


def _side(box: Sequence[float], image_width: float) -> str:
    x, _, width, _ = box
    return "left" if x + width / 2 < image_width / 2 else "right"
