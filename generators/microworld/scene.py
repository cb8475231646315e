"""Scenes: objects with their appearance and position, and every relation that holds between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from compeval.base.schemas.scene_graph import Box

Triple = tuple[str, str, str]
"""(subject, relation, object). Subject and object are object ids in a scene, and nouns in the rules of a corpus."""


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """One drawn object. ``box`` bounds its drawing, in scene pixels; ``depth`` 0 is nearest to the viewer.

    ``state`` is "" for nouns without states. ``drawing`` is a key of ``rendering.drawing.DRAWINGS``; "" means the
    first drawing of the noun.
    """

    id: str
    noun: str
    color: str
    pattern: str
    size: str
    box: Box
    depth: float
    state: str = ""
    drawing: str = ""
    mirrored: bool = False
    unseen: bool = False
    """True if no training scene shows this rendering of the noun."""

    @property
    def picture(self) -> str:
        """The key of the drawing."""
        return self.drawing or self.noun


@dataclass(frozen=True, slots=True)
class Scene:
    """A complete scene: ``relations`` contains every true (subject id, relation, object id), including converses."""

    image_id: int
    width: int
    height: int
    background: str
    objects: tuple[DrawnObject, ...]
    relations: tuple[Triple, ...]
    light: str = "day"

    @property
    def comparable(self) -> frozenset[str]:
        """The ids of the objects whose size can be seen: there is one of the same noun with the opposite size."""
        present = {(item.noun, item.size) for item in self.objects}
        opposite = {"small": "large", "large": "small"}
        return frozenset(
            item.id for item in self.objects if (item.noun, opposite.get(item.size)) in present
        )

    def to_json(self) -> dict[str, Any]:
        """Return a line of ``truth.jsonl``, which the oracle reads."""
        return {
            "image_id": self.image_id,
            "width": self.width,
            "height": self.height,
            "background": self.background,
            "light": self.light,
            "things": [asdict(item) | {"box": list(item.box)} for item in self.objects],
            "relations": self.relations,
        }
