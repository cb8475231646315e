"""Visual Genome's annotations as one schema, whatever their version.

Source: Krishna et al. 2017; the files of v1.0, v1.2 and v1.4. v1.0 calls ids ``id`` and ``image`` and gives an object
another id wherever it is mentioned; so records with one box and a common name are one object. v1.4 has
scene_graphs.json; for older versions the graph is assembled from objects.json, attributes.json and relationships.json.
Names, attributes and predicates come out stripped and in lower case, and each fact once.

Flaws: a box of size zero, a box that leaves the image, an id that occurs twice, a reference to an unknown object, a
missing record, an empty name or predicate. The full Visual Genome has some thousands of them, the first five images
none. ``read`` raises the first one unless the caller takes them (``on_flaw``); then a crossing box is clipped to the
image, an object without a usable box keeps its facts and loses its box, and any other flawed record is left out.
Broken JSON and missing keys always raise.

Memory: an index of each file and one image at a time (generators/readers/json_records.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.readers.json_records import Ids, JsonRecords
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

Record = Mapping[str, Any]


class FlawError(ValueError):
    """One flawed record; the message names file, image and record, ``kind`` is the name to count it under."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


OnFlaw = Callable[[FlawError], None]


def raise_flaw(flaw: FlawError) -> None:
    raise flaw


@dataclass(frozen=True, slots=True)
class Region:
    region_id: str
    phrase: str
    box: Box


@dataclass(frozen=True)
class Image:
    """``graph`` has each object's first name; ``other_names`` the further ones by object id ("couch": "futon")."""

    image_id: str
    width: int
    height: int
    graph: SceneGraph
    regions: tuple[Region, ...] = ()
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The image file; FileNotFoundError where it lies in none of the source's image folders."""
        for file in self.files:
            if file.exists():
                return file
        places = ", ".join(str(file.parent) for file in self.files)
        raise FileNotFoundError(f"image {self.image_id}: {self.files[0].name} not found in {places}.")

    def facts(self) -> SceneGraph:
        """The graph with one more node for each further name of an object: everything that the annotators said."""
        ids = {
            item.id: (item.id, *(f"{item.id}~{n}" for n in range(len(self.other_names.get(item.id, ())))))
            for item in self.graph.objects
        }
        objects = [
            SceneObject(node, name, item.attributes, item.box)
            for item in self.graph.objects
            for node, name in zip(ids[item.id], (item.name, *self.other_names.get(item.id, ())), strict=True)
        ]
        relations = [
            Relation(subject, edge.predicate, object_)
            for edge in self.graph.relations
            for subject, object_ in itertools.product(ids[edge.subject], ids[edge.object])
        ]
        return SceneGraph(tuple(objects), tuple(relations))


def read(folder: Path, on_flaw: OnFlaw = raise_flaw) -> Iterator[Image]:
    """Every image of image_data.json in the order of the ids, with its scene graph and its regions.

    FileNotFoundError for a missing annotation file, ValueError for broken JSON or a missing key.
    """
    images, regions = _open(folder, "image_data"), _open(folder, "region_descriptions")
    assembled = not (folder / "scene_graphs.json").exists()
    names = ("objects", "attributes", "relationships") if assembled else ("scene_graphs",)
    graphs = [_open(folder, name) for name in names]
    region_ids = Ids()
    for image_id in sorted(images, key=id_order):
        where = f"image {image_id}"
        data = images[image_id]
        size = tuple(_pixels(data, f"{images.path}, {where}", side) for side in ("width", "height"))
        reader = _ImageReader(where, size, on_flaw)
        if assembled:
            reader.add_objects(graphs[0].path, reader.items(graphs[0], image_id, "objects"))
            reader.add_attributes(graphs[1].path, reader.items(graphs[1], image_id, "attributes"))
            reader.add_relationships(graphs[2].path, reader.items(graphs[2], image_id, "relationships"))
        else:
            reader.add_objects(graphs[0].path, reader.items(graphs[0], image_id, "objects"))
            reader.add_relationships(graphs[0].path, reader.items(graphs[0], image_id, "relationships"))
        yield Image(
            image_id,
            *size,
            graph=reader.graph(),
            regions=tuple(reader.regions(regions.path, reader.items(regions, image_id, "regions"), region_ids)),
            other_names={node.id: tuple(node.names[1:]) for node in reader.nodes if node.names[1:]},
            files=tuple(folder / place / f"{image_id}.jpg" for place in ("VG_100K", "VG_100K_2")),
        )


def id_order(image_id: str) -> tuple[int, str]:
    """Sorts ids of digits by their number."""
    return len(image_id), image_id


def get(record: Record, where: str, *keys: str) -> Any:
    """The value of the first of ``keys`` that the record has; versions differ in what they call a thing."""
    if not isinstance(record, Mapping):
        raise ValueError(f"{where}: got {record!r}, expected an object with {' or '.join(map(repr, keys))}.")
    for key in keys:
        if key in record:
            return record[key]
    raise ValueError(f"{where}: missing key {' or '.join(map(repr, keys))}; it has {', '.join(map(repr, record))}.")


def _pixels(record: Record, where: str, side: str) -> int:
    value = get(record, where, side)
    if not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{where}: {side} {value!r}, expected a positive number.")
    return int(value)


def text(value: str) -> str:
    """Lower case, one space between words."""
    return " ".join(value.lower().split())


def checked_box(record: Record, where: str, size: Sequence[int], on_flaw: OnFlaw) -> Box | None:
    """The record's box in pixels, clipped to the image of ``size`` (width, height); None where nothing is left."""
    x, y, width, height = _sides(record, where)
    if width <= 0 or height <= 0:
        on_flaw(FlawError("zero-size box", f"{where}: zero-size box, width {width:g} and height {height:g}."))
        return None
    left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + width, size[0]), min(y + height, size[1])
    if (left, top, right, bottom) == (x, y, x + width, y + height):
        return Box(x, y, width, height)
    on_flaw(
        FlawError(
            "box outside the image",
            f"{where}: box outside the image, corners {x:g},{y:g} to {x + width:g},{y + height:g}"
            f" in {size[0]}x{size[1]} pixels.",
        )
    )
    return Box(left, top, right - left, bottom - top) if left < right and top < bottom else None


def _sides(record: Record, where: str) -> Box:
    """The box as the record has it."""
    sides = [get(record, where, *keys) for keys in (("x",), ("y",), ("w", "width"), ("h", "height"))]
    if not all(isinstance(side, int | float) for side in sides):
        raise ValueError(f"{where}: box {sides}, expected four numbers.")
    return Box(*map(float, sides))


def _open(folder: Path, name: str) -> JsonRecords:
    return JsonRecords(folder / f"{name}.json", lambda record, where: str(get(record, where, "image_id", "id")))


@dataclass(eq=False)
class _Node:
    id: str
    names: list[str]
    box: Box | None
    attributes: list[str] = field(default_factory=list)


class _ImageReader:
    """Collects one image's records; ``where`` names the image in messages, ``size`` is its width and height."""

    def __init__(self, where: str, size: Sequence[int], on_flaw: OnFlaw) -> None:
        self.where, self.size, self.on_flaw = where, size, on_flaw
        self.nodes: list[_Node] = []
        self.edges: dict[Relation, None] = {}
        self._by_id: dict[str, _Node] = {}
        self._by_look: dict[tuple[str, Box], _Node] = {}

    def items(self, records: JsonRecords, image_id: str, key: str) -> list[Record]:
        """The image's list ``key`` in a file; a file without the image is a flaw and an empty list."""
        if image_id not in records:
            self.on_flaw(FlawError("no record", f"{records.path}, {self.where}: no record of this image."))
            return []
        return get(records[image_id], f"{records.path}, {self.where}", key)

    def graph(self) -> SceneGraph:
        objects = (SceneObject(node.id, node.names[0], tuple(node.attributes), node.box) for node in self.nodes)
        return SceneGraph(tuple(objects), tuple(self.edges))

    def add_objects(self, path: Path, records: Sequence[Record]) -> None:
        for record in records:
            where, object_id = self._name(path, "object", record, "object_id", "id")
            if object_id in self._by_id:
                self.on_flaw(FlawError("duplicate id", f"{where}: duplicate id."))
            elif (node := self._node(record, where, object_id)) is not None:
                self._describe(node, record)
                for merged in record.get("merged_object_ids", ()):
                    self._by_id.setdefault(str(merged), node)

    def add_attributes(self, path: Path, records: Sequence[Record]) -> None:
        for record in records:
            where, _ = self._name(path, "object", record, "object_id", "id")
            if (node := self._same(record, where)) is not None:
                self._describe(node, record)

    def add_relationships(self, path: Path, records: Sequence[Record]) -> None:
        seen: set[str] = set()
        for record in records:
            where, edge_id = self._name(path, "relationship", record, "relationship_id", "id")
            predicate = text(get(record, where, "predicate"))
            subject, object_ = (self._end(record, where, end) for end in ("subject", "object"))
            if edge_id in seen:
                self.on_flaw(FlawError("duplicate id", f"{where}: duplicate id."))
            elif not predicate:
                self.on_flaw(FlawError("empty predicate", f"{where}: empty predicate."))
            elif subject and object_:
                self.edges[Relation(subject.id, predicate, object_.id)] = None
            seen.add(edge_id)

    def regions(self, path: Path, records: Sequence[Record], region_ids: Ids) -> Iterator[Region]:
        """The image's regions; their ids are no other image's either."""
        for record in records:
            where, region_id = self._name(path, "region", record, "region_id", "id")
            if not region_ids.add(region_id):
                self.on_flaw(FlawError("duplicate id", f"{where}: duplicate id."))
                continue
            phrase = get(record, where, "phrase")
            if not isinstance(phrase, str):
                raise ValueError(f"{where}: phrase {phrase!r}, expected a text.")
            if (box := checked_box(record, where, self.size, self.on_flaw)) is not None:
                yield Region(region_id, phrase, box)

    def _name(self, path: Path, kind: str, record: Record, *keys: str) -> tuple[str, str]:
        """How messages name a record, and the record's id."""
        where = f"{path}, {self.where}"
        record_id = str(get(record, f"{where}, {kind}", *keys))
        return f"{where}, {kind} {record_id}", record_id

    def _node(self, record: Record, where: str, object_id: str) -> _Node | None:
        """The node with one of the record's names and its box, else a new one; None where the record has no name."""
        names = list(dict.fromkeys(filter(None, map(text, _names(record, where)))))
        if not names:
            self.on_flaw(FlawError("empty name", f"{where}: empty name."))
            return None
        looks = [(name, _sides(record, where)) for name in names]
        same = dict.fromkeys(self._by_look[look] for look in looks if look in self._by_look)
        if not same:
            same = {_Node(object_id, [], checked_box(record, where, self.size, self.on_flaw)): None}
            self.nodes.extend(same)
        node, *others = same
        for other in others:
            self._absorb(node, other)
        _extend(node.names, names)
        self._by_id[object_id] = node
        self._by_look.update(dict.fromkeys(looks, node))
        return node

    def _absorb(self, node: _Node, other: _Node) -> None:
        """Make one node of two: a record has a name of each ("girl", "woman", then "woman, girl" on one box)."""
        _extend(node.names, other.names)
        _extend(node.attributes, other.attributes)
        self.nodes.remove(other)
        self._by_id = {key: node if value is other else value for key, value in self._by_id.items()}
        self._by_look = {key: node if value is other else value for key, value in self._by_look.items()}
        ids = {other.id: node.id}
        self.edges = dict.fromkeys(
            Relation(ids.get(e.subject, e.subject), e.predicate, ids.get(e.object, e.object)) for e in self.edges
        )

    def _same(self, record: Record, where: str) -> _Node | None:
        """The node that a record means: the one with its id, else the one with its name and box, else a new one."""
        object_id = str(get(record, where, "object_id", "id"))
        return self._by_id.get(object_id) or self._node(record, where, object_id)

    def _end(self, record: Record, where: str, end: str) -> _Node | None:
        """The node at one end of a relationship, given as a record (assembled) or as an id (scene_graphs.json)."""
        if end in record:
            return self._same(record[end], f"{where}, {end}")
        object_id = str(get(record, where, f"{end}_id", end))
        if object_id not in self._by_id:
            self.on_flaw(FlawError("unknown object", f"{where}: its {end} {object_id} is no object of the image."))
        return self._by_id.get(object_id)

    def _describe(self, node: _Node, record: Record) -> None:
        _extend(node.attributes, filter(None, map(text, record.get("attributes") or ())))


def _extend(known: list[str], new: Iterable[str]) -> None:
    known.extend(item for item in dict.fromkeys(new) if item not in known)


def _names(record: Record, where: str) -> list[str]:
    names = get(record, where, "names", "object_names", "name")
    return [names] if isinstance(names, str) else names
