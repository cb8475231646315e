"""Scenes: objects with their appearance and position, and every relation that holds between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from generators.schemas.scene_graph import Box

Triple = tuple[str, str, str]
"""(subject, relation, object). Subject and object are object ids in a scene, and nouns in the rules of a corpus."""


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """One drawn object. ``box`` bounds its drawing, in scene pixels; ``depth`` 0 is nearest to the viewer."""

    id: str
    noun: str
    color: str
    pattern: str
    size: str
    box: Box
    depth: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A complete scene: ``relations`` contains every true (subject id, relation, object id), including converses."""

    image_id: int
    width: int
    height: int
    background: str
    objects: tuple[DrawnObject, ...]
    relations: tuple[Triple, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a line of ``truth.jsonl``, which the oracle reads."""
        return {
            "image_id": self.image_id,
            "width": self.width,
            "height": self.height,
            "background": self.background,
            "things": [asdict(item) | {"box": list(item.box)} for item in self.objects],
            "relations": self.relations,
        }
