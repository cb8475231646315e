"""Verification of a DRS in a scene: is there an embedding that satisfies all its conditions?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluators.validity.oracle.drs import DRS, Condition, Distinct, Negation, Property, Relation
from evaluators.validity.oracle.lexicon import Values

Embedding = dict[int, int]
"""Referent -> position of an object in the scene."""


class SceneModel:
    """A scene as a model: its objects by position, and the complete set of related pairs."""

    def __init__(self, scene: Mapping[str, Any]) -> None:
        self.objects = [{**thing, "side": _side(thing["box"], scene["width"])} for thing in scene["things"]]
        self.relations = {tuple(relation) for relation in scene["relations"]}
        lateral = [(one, other) for one, relation, other in self.relations if relation in ("left of", "right of")]
        self.relations |= {
            (one, "far from", other) for one, other in lateral if (one, "next to", other) not in self.relations
        }

    def satisfies(self, drs: DRS, embedding: Embedding | None = None) -> bool:
        """True if some extension of ``embedding``, which covers outer referents, satisfies ``drs``."""
        return self._extends(drs, 0, embedding or {})

    def _extends(self, drs: DRS, known: int, embedding: Embedding) -> bool:
        if not all(self._holds(condition, embedding) for condition in drs.checks[known]):
            return False
        if known == len(drs.referents):
            return True
        taken = {embedding[referent] for referent in drs.referents[:known]}
        return any(
            self._extends(drs, known + 1, embedding | {drs.referents[known]: position})
            for position in range(len(self.objects))
            if position not in taken
        )

    def _holds(self, condition: Condition, embedding: Embedding) -> bool:
        match condition:
            case Property(referent, _, slot, values):
                return bool(values) and self.objects[embedding[referent]][slot] in values
            case Relation(subjects, _, relations, objects):
                return self._related(
                    [embedding[ref] for ref in subjects], relations, [embedding[ref] for ref in objects]
                )
            case Distinct(referent, others):
                return embedding[referent] not in {embedding[other] for other in others}
            case Negation(drs):
                return not self.satisfies(drs, embedding)

    def _related(self, subjects: Sequence[int], relations: Values, objects: Sequence[int]) -> bool:
        ids = [thing["id"] for thing in self.objects]
        pairs = {
            (one, other)
            for one in subjects
            for other in objects
            if any((ids[one], relation, ids[other]) in self.relations for relation in relations)
        }
        return {one for one, _ in pairs} == {*subjects} and {other for _, other in pairs} == {*objects}


def _side(box: Sequence[float], image_width: float) -> str:
    x, _, width, _ = box
    return "left" if x + width / 2 < image_width / 2 else "right"
