"""Scene graphs, their atoms and their compounds, which all generators use.

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
AtomKey = tuple[str, str, str, str | None]
"""The kind, the text, the object and the target of an atom; see :class:`Mention`."""
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
        """Return the smallest box around both boxes."""
        x = min(self.x, other.x)
        y = min(self.y, other.y)
        right = max(self.x + self.width, other.x + other.width)
        bottom = max(self.y + self.height, other.y + other.height)
        return Box(x, y, right - x, bottom - y)

    def intersection_over_union(self, other: Box) -> float:
        """Return the intersection over union, 0 to 1; 0 if both boxes are empty."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        shared = max(width, 0.0) * max(height, 0.0)
        joint = self.area + other.area - shared
        return shared / joint if joint else 0.0


class Atom(NamedTuple):
    kind: AtomKind
    text: str


class Compound(NamedTuple):
    """An attribute with its object (``ao``), or two objects joined by a relation (``oro``).

    For ``ao``, ``subject`` is the noun, ``object`` is the attribute, and ``relation`` is None.
    """

    kind: CompoundKind
    subject: str
    relation: str | None
    object: str


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object node. ``id`` is unique in its graph; ``box`` is None if the graph was parsed from text."""

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
        """All atoms, including repeated ones: each object followed by its attributes, then the relations."""
        atoms: list[Atom] = []
        for item in self.objects:
            atoms += [
                Atom("object", item.name),
                *(Atom("attribute", text) for text in item.attributes),
            ]
        return (*atoms, *(Atom("relation", edge.predicate) for edge in self.relations))

    @cached_property
    def compounds(self) -> tuple[Compound, ...]:
        """All compounds, including repeated ones: attributes with their objects, then objects joined by relations."""
        pairs = [
            Compound("ao", item.name, None, text)
            for item in self.objects
            for text in item.attributes
        ]
        names = {item.id: item.name for item in self.objects}
        edges = self.relations
        return (
            *pairs,
            *(Compound("oro", names[e.subject], e.predicate, names[e.object]) for e in edges),
        )

    @property
    def complexity(self) -> int:
        """The number of atoms, n in the paper."""
        return len(self.atoms)

    @cached_property
    def signature(self) -> tuple[tuple[Atom, ...], tuple[Compound, ...]]:
        """A key that is equal for graphs with the same atoms and compounds; object ids and order do not matter."""
        return tuple(sorted(self.atoms)), tuple(
            sorted(self.compounds, key=lambda item: tuple(map(str, item)))
        )

    def to_row(self) -> dict[str, Any]:
        """Return the value of the column ``scene_graph`` in a dataset row (schemas/rows.py)."""
        objects = [
            _read_slots(item)
            | {"attributes": list(item.attributes), "box": item.box and item.box._asdict()}
            for item in self.objects
        ]
        return {"objects": objects, "relations": [_read_slots(edge) for edge in self.relations]}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> SceneGraph:
        """Return the graph of a value that :meth:`to_row` returned."""
        objects = (
            SceneObject(
                item["id"],
                item["name"],
                tuple(item["attributes"]),
                item["box"] and Box(**item["box"]),
            )
            for item in row["objects"]
        )
        return cls(tuple(objects), tuple(Relation(**edge) for edge in row["relations"]))


@dataclass(frozen=True, slots=True)
class Mention:
    """The position of one atom in a caption.

    ``caption[start:end]`` is the surface form ("boxes", "sitting on", "on top of"), ``text`` the lemma, and ``tag`` the
    Penn Treebank tag of the syntactic head. ``object`` is an object id: the object itself, the object of an attribute,
    or the subject of a relation. ``target`` is the id of a relation's object, and None for other atoms.
    """

    kind: AtomKind
    text: str
    start: int
    end: int
    tag: str
    object: str
    target: str | None = None

    @property
    def atom_key(self) -> AtomKey:
        """Equal for all mentions of one atom."""
        return self.kind, self.text, self.object, self.target

    def to_row(self) -> dict[str, Any]:
        """Return the value of the mention in a parquet row."""
        return _read_slots(self)


@dataclass(frozen=True)
class Parse:
    """A caption, its scene graph, and one mention per atom."""

    caption: str
    graph: SceneGraph
    mentions: tuple[Mention, ...] = ()


def _read_slots(item: SceneObject | Relation | Mention) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__slots__}
