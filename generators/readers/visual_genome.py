"""Visual Genome's annotations in one schema, whatever their version.

Source: Krishna et al. 2017; the files of v1.0, v1.2 and v1.4. v1.0 calls ids ``id`` and ``image`` and gives an object
another id wherever it is mentioned; so records with one box and a common name are one object. v1.4 has
scene_graphs.json; for older versions the graph is assembled from objects.json, attributes.json and relationships.json.
Names, attributes and predicates come out stripped and in lower case, and each fact once.

Flaws are counted and never stop the reader: a box of size zero, a box that leaves the image, an id that occurs twice, a
reference to an unknown object, a missing record, an empty name or predicate, a malformed record (a missing key, a value
of another type). A box that crosses the image's edge is clipped, an object without a usable box keeps its facts and
loses its box, and any other flawed record is skipped. The full Visual Genome has some thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.readers.records import MALFORMED, Flaws, RecordsByImage, stream_records
from generators.schemas.annotated_image import AnnotatedImage, Region
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

Record = Mapping[str, Any]

ASSEMBLED = (("objects", "objects"), ("attributes", "attributes"), ("relationships", "relationships"))
"""The files that a scene graph is assembled from, each with the key of its list of records."""
SCENE_GRAPHS = (("scene_graphs", "objects"), ("scene_graphs", "relationships"))
REGIONS = ("region_descriptions", "regions")
IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")


def read(folder: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Every image of image_data.json in the order of the ids, with its scene graph and its regions.

    FileNotFoundError for a missing annotation file, ValueError for broken JSON.
    """
    lists = (*(SCENE_GRAPHS if (folder / "scene_graphs.json").exists() else ASSEMBLED), REGIONS)
    paths = {name: folder / f"{name}.json" for name in ("image_data", *(name for name, _ in lists))}
    records = RecordsByImage()
    for name, path in paths.items():
        for position, record in stream_records(path):
            try:
                records.add(str(get_first(record, "image_id", "id")), name, record)
            except ValueError as error:
                flaws.add(MALFORMED, f"{path}, record {position}: {error}")
    for image_id, of_image in records:
        by_file: dict[str, Record] = {}
        for name, record in of_image:
            if by_file.setdefault(name, record) is not record:
                flaws.add("duplicate id", f"{paths[name]}, image {image_id}: duplicate id.")
        missing = [paths[name] for name in paths if name not in by_file]
        for path in missing:
            flaws.add("no record", f"{path}, image {image_id}: no record of this image.")
        if paths["image_data"] in missing:
            continue
        if reader := ImageReader.make(image_id, paths["image_data"], by_file["image_data"], flaws, records):
            for name, key in lists:
                if name in by_file:
                    reader.add(paths[name], key, by_file[name].get(key))
            yield reader.image(*(folder / place / f"{image_id}.jpg" for place in IMAGE_FOLDERS))


def get_first(record: Any, *keys: str) -> Any:
    """The value of the first of ``keys`` that the record has; versions differ in their names."""
    if not isinstance(record, dict):
        raise ValueError(f"got {record!r}, expected an object with {' or '.join(map(repr, keys))}.")
    for key in keys:
        if key in record:
            return record[key]
    raise ValueError(f"missing key {' or '.join(map(repr, keys))}; it has {', '.join(map(repr, record))}.")


def _text(value: Any) -> str:
    """Lower case, one space between words."""
    if not isinstance(value, str):
        raise ValueError(f"got {value!r}, expected a string.")
    return " ".join(value.lower().split())


def _texts(values: Any) -> list[str]:
    """The distinct texts of a list that are not empty."""
    if not isinstance(values, list):
        raise ValueError(f"got {values!r}, expected a list of strings.")
    return list(dict.fromkeys(filter(None, map(_text, values))))


def _pixels(record: Record, side: str) -> int:
    value = get_first(record, side)
    if not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{side} {value!r}, expected a positive number.")
    return int(value)


def _box(record: Record) -> Box:
    """The box as the record has it."""
    sides = [get_first(record, *keys) for keys in (("x",), ("y",), ("w", "width"), ("h", "height"))]
    if not all(isinstance(side, int | float) for side in sides):
        raise ValueError(f"box {sides}, expected four numbers.")
    return Box(*map(float, sides))


@dataclass(eq=False)
class _Node:
    id: str
    names: list[str]
    box: Box | None
    attributes: list[str] = field(default_factory=list)


class ImageReader:
    """Builds one image from its records."""

    def __init__(self, image_id: str, width: int, height: int, flaws: Flaws, records: RecordsByImage) -> None:
        self._image_id, self._width, self._height = image_id, width, height
        self._flaws, self._records = flaws, records
        self._place = Path(), "", ""
        """File, kind and id of the record that is being read, for messages."""
        self._nodes: list[_Node] = []
        self._edges: dict[Relation, None] = {}
        self._edge_ids: set[str] = set()
        self._regions: list[Region] = []
        self._by_id: dict[str, _Node] = {}
        self._by_look: dict[tuple[str, Box], _Node] = {}

    @classmethod
    def make(cls, image_id: str, path: Path, sizes: Any, flaws: Flaws, records: RecordsByImage) -> ImageReader | None:
        """A reader for an image with the ``width`` and ``height`` of a record; None where that is malformed."""
        try:
            return cls(image_id, _pixels(sizes, "width"), _pixels(sizes, "height"), flaws, records)
        except ValueError as error:
            flaws.add(MALFORMED, f"{path}, image {image_id}: {error}")
            return None

    def image(self, *files: Path) -> AnnotatedImage:
        objects = (SceneObject(node.id, node.names[0], tuple(node.attributes), node.box) for node in self._nodes)
        return AnnotatedImage(
            self._image_id,
            self._width,
            self._height,
            SceneGraph(tuple(objects), tuple(self._edges)),
            tuple(self._regions),
            {node.id: tuple(node.names[1:]) for node in self._nodes if node.names[1:]},
            files,
        )

    def add(self, path: Path, key: str, records: Any) -> None:
        """Add the image's records of a file: ``objects``, ``attributes``, ``relationships`` or ``regions``."""
        kind, add = {
            "objects": ("object", self._add_object),
            "attributes": ("object", self._add_attributes),
            "relationships": ("relationship", self._add_relationship),
            "regions": ("region", self._add_region),
        }[key]
        if not isinstance(records, list):
            self._flaws.add(MALFORMED, f"{path}, image {self._image_id}: {key} {records!r}, expected a list.")
            return
        for record in records:
            self._place = path, kind, ""
            try:
                record_id = str(get_first(record, f"{kind}_id", "id"))
                self._place = path, kind, f" {record_id}"
                add(record, record_id)
            except ValueError as error:
                self._flaw(MALFORMED, str(error))

    def _flaw(self, kind: str, problem: str) -> None:
        path, record_kind, record_id = self._place
        self._flaws.add(kind, f"{path}, image {self._image_id}, {record_kind}{record_id}: {problem}")

    def _add_object(self, record: Record, object_id: str) -> None:
        if object_id in self._by_id:
            self._flaw("duplicate id", "duplicate id.")
        elif (node := self._node(record, object_id)) is not None:
            self._describe(node, record)
            for merged in record.get("merged_object_ids", ()):
                self._by_id.setdefault(str(merged), node)

    def _add_attributes(self, record: Record, object_id: str) -> None:
        if (node := self._same(record, object_id)) is not None:
            self._describe(node, record)

    def _add_relationship(self, record: Record, edge_id: str) -> None:
        predicate = _text(get_first(record, "predicate"))
        subject, object_ = (self._end(record, end) for end in ("subject", "object"))
        if edge_id in self._edge_ids:
            self._flaw("duplicate id", "duplicate id.")
        elif not predicate:
            self._flaw("empty predicate", "empty predicate.")
        elif subject and object_:
            self._edges[Relation(subject.id, predicate, object_.id)] = None
        self._edge_ids.add(edge_id)

    def _add_region(self, record: Record, region_id: str) -> None:
        """Add a region; its id is unique among all images."""
        if not self._records.is_new(region_id):
            self._flaw("duplicate id", "duplicate id.")
            return
        phrase = get_first(record, "phrase")
        if not isinstance(phrase, str):
            raise ValueError(f"phrase {phrase!r}, expected a string.")
        if (box := self._clipped(_box(record))) is not None:
            self._regions.append(Region(region_id, phrase, box))

    def _node(self, record: Record, object_id: str) -> _Node | None:
        """The node with one of the record's names and its box, else a new one; None if the record has no name."""
        names = get_first(record, "names", "object_names", "name")
        names, box = _texts([names] if isinstance(names, str) else names), _box(record)
        if not names:
            self._flaw("empty name", "empty name.")
            return None
        looks = [(name, box) for name in names]
        same = dict.fromkeys(self._by_look[look] for look in looks if look in self._by_look)
        if not same:
            same = {_Node(object_id, [], self._clipped(box)): None}
            self._nodes.extend(same)
        node, *others = same
        for other in others:
            self._absorb(node, other)
        _extend(node.names, names)
        self._by_id[object_id] = node
        self._by_look.update(dict.fromkeys(looks, node))
        return node

    def _clipped(self, box: Box) -> Box | None:
        """The part of a box that is inside the image; None if there is none."""
        x, y, width, height = box
        if width <= 0 or height <= 0:
            self._flaw("zero-size box", f"zero-size box, width {width:g} and height {height:g}.")
            return None
        left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + width, self._width), min(y + height, self._height)
        if (left, top, right, bottom) == (x, y, x + width, y + height):
            return box
        corners = f"corners {x:g},{y:g} to {x + width:g},{y + height:g} in {self._width}x{self._height} pixels"
        self._flaw("box outside the image", f"box outside the image, {corners}.")
        return Box(left, top, right - left, bottom - top) if left < right and top < bottom else None

    def _absorb(self, node: _Node, other: _Node) -> None:
        """Make one node of two: a record has a name of each ("girl", "woman", then "woman, girl" on one box)."""
        _extend(node.names, other.names)
        _extend(node.attributes, other.attributes)
        self._nodes.remove(other)
        self._by_id = {key: node if value is other else value for key, value in self._by_id.items()}
        self._by_look = {key: node if value is other else value for key, value in self._by_look.items()}
        ids = {other.id: node.id}
        self._edges = dict.fromkeys(
            Relation(ids.get(e.subject, e.subject), e.predicate, ids.get(e.object, e.object)) for e in self._edges
        )

    def _same(self, record: Record, object_id: str) -> _Node | None:
        """The node that a record means: the one with its id, else the one with its name and box, else a new one."""
        return self._by_id.get(object_id) or self._node(record, object_id)

    def _end(self, record: Record, end: str) -> _Node | None:
        """The node at one end of a relationship, given as a record (assembled) or as an id (scene_graphs.json)."""
        if end in record:
            return self._same(record[end], str(get_first(record[end], "object_id", "id")))
        object_id = str(get_first(record, f"{end}_id", end))
        if object_id not in self._by_id:
            self._flaw("unknown object", f"its {end} {object_id} is no object of the image.")
        return self._by_id.get(object_id)

    @staticmethod
    def _describe(node: _Node, record: Record) -> None:
        _extend(node.attributes, _texts(record.get("attributes") or []))


def _extend(known: list[str], new: Iterable[str]) -> None:
    known.extend(item for item in new if item not in known)
