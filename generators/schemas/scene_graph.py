"""Scene graphs, their atoms and their compounds: the language that every benchmark here is written in.

Source: CREPE (arXiv:2212.07796), section 3.1. An atom is one node of a scene graph: an object, an attribute or a
relation. A compound joins atoms: an attribute with its object (``ao``), or two objects by a relation (``oro``).
Complexity is the number of atom nodes (section 3.3). All texts are lower-case lemmas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

AtomKind = Literal["object", "attribute", "relation"]
CompoundKind = Literal["ao", "oro"]


class Box(NamedTuple):
    """A rectangle in pixels of the source image, origin at the top left."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        return self.width * self.height

    def union(self, other: Box) -> Box:
        """The smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        right = max(self.x + self.width, other.x + other.width)
        bottom = max(self.y + self.height, other.y + other.height)
        return Box(x, y, right - x, bottom - y)

    def intersection_over_union(self, other: Box) -> float:
        """Shared area over joint area, 0 to 1; 0 when both are empty."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        shared = max(width, 0.0) * max(height, 0.0)
        joint = self.area + other.area - shared
        return shared / joint if joint else 0.0


class Atom(NamedTuple):
    kind: AtomKind
    text: str


class Compound(NamedTuple):
    """``ao``: subject is the noun, object its attribute, relation None. ``oro``: subject, relation and object."""

    kind: CompoundKind
    subject: str
    relation: str | None
    object: str


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object node; ``id`` is unique in its graph, ``box`` is None for graphs that were read from text."""

    id: str
    name: str
    attributes: tuple[str, ...] = ()
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed edge between two object ids."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True)
class SceneGraph:
    objects: tuple[SceneObject, ...] = ()
    relations: tuple[Relation, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, SceneObject]:
        return {item.id: item for item in self.objects}

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Every atom node, repeats included: objects with their attributes in order, then the relations."""
        nodes = [
            atom
            for item in self.objects
            for atom in (Atom("object", item.name), *(Atom("attribute", text) for text in item.attributes))
        ]
        return (*nodes, *(Atom("relation", edge.predicate) for edge in self.relations))

    @cached_property
    def compounds(self) -> tuple[Compound, ...]:
        """Every compound, repeats included: (object, attribute) pairs, then (subject, relation, object) triples."""
        pairs = [Compound("ao", item.name, None, text) for item in self.objects for text in item.attributes]
        triples = [
            Compound("oro", self.by_id[edge.subject].name, edge.predicate, self.by_id[edge.object].name)
            for edge in self.relations
        ]
        return (*pairs, *triples)

    @property
    def complexity(self) -> int:
        """The number of atom nodes, the paper's n."""
        return len(self.atoms)

    @cached_property
    def signature(self) -> tuple[tuple[Atom, ...], tuple[Compound, ...]]:
        """Equal for two graphs that assert the same atoms and compounds, whatever their ids and order."""
        return tuple(sorted(self.atoms)), tuple(sorted(self.compounds, key=lambda item: tuple(map(str, item))))

    def to_row(self) -> dict[str, Any]:
        """The ``scene_graph`` struct of a dataset row (generators/storage/dataset.py)."""
        return {
            "objects": [
                {
                    "id": item.id,
                    "name": item.name,
                    "attributes": list(item.attributes),
                    "box": item.box and item.box._asdict(),
                }
                for item in self.objects
            ],
            "relations": [
                {"subject": edge.subject, "predicate": edge.predicate, "object": edge.object} for edge in self.relations
            ],
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> SceneGraph:
        """The inverse of :meth:`to_row`."""
        return cls(
            tuple(
                SceneObject(
                    item["id"], item["name"], tuple(item["attributes"]), Box(**item["box"]) if item["box"] else None
                )
                for item in row["objects"]
            ),
            tuple(Relation(edge["subject"], edge["predicate"], edge["object"]) for edge in row["relations"]),
        )


@dataclass(frozen=True, slots=True)
class Mention:
    """Where one atom node stands in a caption.

    ``caption[start:end]`` is its surface form ("boxes", "sitting on", "on top of"), ``text`` its lemma form, ``tag``
    the Penn tag of the head word. ``object`` is the id of the object node that it is, modifies, or (relation) starts
    from; ``target`` the id that a relation ends at, else None.
    """

    kind: AtomKind
    text: str
    start: int
    end: int
    tag: str
    object: str
    target: str | None = None


@dataclass(frozen=True)
class Parse:
    """A caption, its scene graph, and one mention per atom node."""

    caption: str
    graph: SceneGraph
    mentions: tuple[Mention, ...] = ()
