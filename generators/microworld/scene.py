"""A microworld scene: things with their looks and places, and every relation that holds between them.

The renderer, the sampler and the writers share these classes; the oracle reads their JSON form (``truth.jsonl``).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from generators.schemas.scene_graph import Box


@dataclass(frozen=True, slots=True)
class Thing:
    """One drawn object. ``box`` is the whole drawing in scene pixels; ``depth`` 0 is nearest to the viewer."""

    id: str
    noun: str
    color: str
    pattern: str
    size: str
    box: Box
    depth: float


@dataclass(frozen=True, slots=True)
class Scene:
    """``relations`` is complete: every (subject id, relation, object id) that is true of the picture, converses too."""

    image_id: int
    width: int
    height: int
    background: str
    things: tuple[Thing, ...]
    relations: tuple[tuple[str, str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"things": [asdict(thing) | {"box": list(thing.box)} for thing in self.things]}
