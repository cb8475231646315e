"""Read Visual Genome's annotations, versions 1.0, 1.2 and 1.4.

Source: Krishna et al. 2017. v1.0 has other key names (``id``, ``image``) and assigns an object a new id in every record
that mentions it; records with equal boxes and a common name are therefore merged into one object. v1.4 has
scene_graphs.json. For older versions, the graph is built from objects.json, attributes.json and relationships.json.
Names, attributes and predicates are stripped and lower-cased, and duplicate facts are removed.

Flawed records are counted and never stop the reader. The full Visual Genome has several thousand of these flaws:

- a box that is partly outside the image: the box is clipped
- a box of size zero or outside the image: the object has no box, but keeps its other facts; a region is skipped
- a duplicate id, a reference to an unknown object, an empty name or predicate, a malformed record (a missing key or a
  value of a wrong type): the record is skipped
- an image without a record in one of the files: the other files are used; without a record in image_data.json, the
  image is skipped
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compeval.base.readers.records import MALFORMED, Flaws, RecordsByImage, stream_records
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.base.texts import normalize_text

Record = Mapping[str, Any]

SEPARATE_FILES = (
    ("objects", "objects"),
    ("attributes", "attributes"),
    ("relationships", "relationships"),
)
"""Versions before 1.4: (file name, key of the list of records) for each file that is part of a scene graph."""
SCENE_GRAPHS = (("scene_graphs", "objects"), ("scene_graphs", "relationships"))
"""Version 1.4, in the same format."""
REGIONS = ("region_descriptions", "regions")
IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")


def read(folder: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Yield the images of image_data.json with their scene graphs and regions, sorted by id.

    Raises FileNotFoundError if a file is missing, and ValueError if a file is not valid JSON.
    """
    lists = (
        *(SCENE_GRAPHS if (folder / "scene_graphs.json").exists() else SEPARATE_FILES),
        REGIONS,
    )
    paths = {name: folder / f"{name}.json" for name in ("image_data", *(name for name, _ in lists))}
    records = RecordsByImage()
    for name, path in paths.items():
        for position, record in stream_records(path):
            try:
                records.add(str(get_first(record, "image_id", "id")), name, record)
            except ValueError as error:
                flaws.add(MALFORMED, f"{path}, record {position}: {error}")
    for image_id, image_records in records:
        record_by_file: dict[str, Record] = {}
        for name, record in image_records:
            if record_by_file.setdefault(name, record) is not record:
                flaws.add("duplicate id", f"{paths[name]}, image {image_id}: duplicate id.")
        missing = [paths[name] for name in paths if name not in record_by_file]
        for path in missing:
            flaws.add("no record", f"{path}, image {image_id}: no record of this image.")
        if paths["image_data"] in missing:
            continue
        if reader := ImageReader.make(
            image_id, paths["image_data"], record_by_file["image_data"], flaws, records
        ):
            for name, key in lists:
                if name in record_by_file:
                    reader.add(paths[name], key, record_by_file[name].get(key))
            yield reader.build(
                *(folder / image_folder / f"{image_id}.jpg" for image_folder in IMAGE_FOLDERS)
            )


def get_first(record: Any, *keys: str) -> Any:
    """Return the value of the first of ``keys`` in the record; the versions use different key names.

    Raises ValueError if the record has none of the keys.
    """
    if not isinstance(record, dict):
        raise ValueError(f"got {record!r}, expected an object with {' or '.join(map(repr, keys))}.")
    for key in keys:
        if key in record:
            return record[key]
    raise ValueError(
        f"missing key {' or '.join(map(repr, keys))}; it has {', '.join(map(repr, record))}."
    )


def _normalize_text(value: Any) -> str:
    """Return the normal form of a text in lower case with single spaces. Raises ValueError for any other type."""
    if not isinstance(value, str):
        raise ValueError(f"got {value!r}, expected a string.")
    return " ".join(normalize_text(value).lower().split())


def _normalize_texts(values: Any) -> list[str]:
    """Return the distinct, non-empty texts of a list. Raises ValueError for any other type."""
    if not isinstance(values, list):
        raise ValueError(f"got {values!r}, expected a list of strings.")
    return list(dict.fromkeys(filter(None, map(_normalize_text, values))))


def _read_pixels(record: Record, side: str) -> int:
    value = get_first(record, side)
    if not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{side} {value!r}, expected a positive number.")
    return int(value)


def _read_box(record: Record) -> Box:
    """Return the box of a record, which may be partly outside the image."""
    sides = [get_first(record, *keys) for keys in (("x",), ("y",), ("w", "width"), ("h", "height"))]
    if not all(isinstance(side, int | float) for side in sides):
        raise ValueError(f"box {sides}, expected four numbers.")
    return Box(*map(float, sides))


@dataclass(eq=False)
class _Node:
    """An object, while its names and attributes are collected from several records."""

    id: str
    names: list[str]
    box: Box | None
    attributes: list[str] = field(default_factory=list)


class ImageReader:
    """Collects the records of one image and builds an ``AnnotatedImage``."""

    def __init__(
        self, image_id: str, width: int, height: int, flaws: Flaws, records: RecordsByImage
    ) -> None:
        self._image_id = image_id
        self._width = width
        self._height = height
        self._flaws = flaws
        self._records = records
        self._current_record = Path(), "", ""
        """File, kind and id of the record that is being read, for the messages of flaws."""
        self._nodes: list[_Node] = []
        self._edges: dict[Relation, None] = {}
        self._edge_ids: set[str] = set()
        self._regions: list[Region] = []
        self._by_id: dict[str, _Node] = {}
        self._by_name_and_box: dict[tuple[str, Box], _Node] = {}

    @classmethod
    def make(
        cls, image_id: str, path: Path, sizes: Any, flaws: Flaws, records: RecordsByImage
    ) -> ImageReader | None:
        """Return a reader for an image; ``sizes`` is a record with ``width`` and ``height``. Returns None if it is
        malformed."""
        try:
            return cls(
                image_id,
                _read_pixels(sizes, "width"),
                _read_pixels(sizes, "height"),
                flaws,
                records,
            )
        except ValueError as error:
            flaws.add(MALFORMED, f"{path}, image {image_id}: {error}")
            return None

    def build(self, *files: Path) -> AnnotatedImage:
        """Return the image with all records added so far; ``files`` are the possible paths of the image file."""
        objects = (
            SceneObject(node.id, node.names[0], tuple(node.attributes), node.box)
            for node in self._nodes
        )
        graph = SceneGraph(tuple(objects), tuple(self._edges))
        regions = tuple(self._regions)
        other_names = {node.id: tuple(node.names[1:]) for node in self._nodes if node.names[1:]}
        return AnnotatedImage(
            self._image_id, self._width, self._height, graph, regions, other_names, files
        )

    def add(self, path: Path, key: str, records: Any) -> None:
        """Add the list ``key`` of a file: ``objects``, ``attributes``, ``relationships`` or ``regions``."""
        kind, add_record = {
            "objects": ("object", self._add_object),
            "attributes": ("object", self._add_attributes),
            "relationships": ("relationship", self._add_relationship),
            "regions": ("region", self._add_region),
        }[key]
        if not isinstance(records, list):
            self._flaws.add(
                MALFORMED, f"{path}, image {self._image_id}: {key} {records!r}, expected a list."
            )
            return
        for record in records:
            self._current_record = path, kind, ""
            try:
                record_id = str(get_first(record, f"{kind}_id", "id"))
                self._current_record = path, kind, f" {record_id}"
                add_record(record, record_id)
            except ValueError as error:
                self._count_flaw(MALFORMED, str(error))

    def _count_flaw(self, kind: str, problem: str) -> None:
        path, record_kind, record_id = self._current_record
        self._flaws.add(
            kind, f"{path}, image {self._image_id}, {record_kind}{record_id}: {problem}"
        )

    def _add_object(self, record: Record, object_id: str) -> None:
        if object_id in self._by_id:
            self._count_flaw("duplicate id", "duplicate id.")
        elif (node := self._add_node(record, object_id)) is not None:
            self._add_attributes(record, object_id)
            for merged_id in record.get("merged_object_ids", ()):
                self._by_id.setdefault(str(merged_id), node)

    def _add_attributes(self, record: Record, object_id: str) -> None:
        if (node := self._find_or_add_node(record, object_id)) is not None:
            _add_new(node.attributes, _normalize_texts(record.get("attributes") or []))

    def _add_relationship(self, record: Record, edge_id: str) -> None:
        predicate = _normalize_text(get_first(record, "predicate"))
        subject = self._find_node(record, "subject")
        object_ = self._find_node(record, "object")
        if edge_id in self._edge_ids:
            self._count_flaw("duplicate id", "duplicate id.")
        elif not predicate:
            self._count_flaw("empty predicate", "empty predicate.")
        elif subject and object_:
            self._edges[Relation(subject.id, predicate, object_.id)] = None
        self._edge_ids.add(edge_id)

    def _add_region(self, record: Record, region_id: str) -> None:
        """Add a region; region ids must be unique among all images."""
        if not self._records.is_new(region_id):
            self._count_flaw("duplicate id", "duplicate id.")
            return
        phrase = get_first(record, "phrase")
        if not isinstance(phrase, str):
            raise ValueError(f"phrase {phrase!r}, expected a string.")
        if (box := self._clip(_read_box(record))) is not None:
            self._regions.append(Region(region_id, normalize_text(phrase), box))

    def _add_node(self, record: Record, object_id: str) -> _Node | None:
        """Return the node with the record's box and one of its names, or a new node. Returns None without a name.

        If several nodes match, they are merged.
        """
        names = get_first(record, "names", "object_names", "name")
        names = _normalize_texts([names] if isinstance(names, str) else names)
        box = _read_box(record)
        if not names:
            self._count_flaw("empty name", "empty name.")
            return None
        keys = [(name, box) for name in names]
        nodes = dict.fromkeys(
            self._by_name_and_box[key] for key in keys if key in self._by_name_and_box
        )
        if not nodes:
            nodes = {_Node(object_id, [], self._clip(box)): None}
            self._nodes.extend(nodes)
        node, *duplicates = nodes
        for duplicate in duplicates:
            self._merge(node, duplicate)
        _add_new(node.names, names)
        self._by_id[object_id] = node
        self._by_name_and_box.update(dict.fromkeys(keys, node))
        return node

    def _clip(self, box: Box) -> Box | None:
        """Return the part of a box that is inside the image, or None if no part is."""
        x, y, width, height = box
        if width <= 0 or height <= 0:
            self._count_flaw(
                "zero-size box", f"zero-size box, width {width:g} and height {height:g}."
            )
            return None
        left = max(x, 0.0)
        top = max(y, 0.0)
        right = min(x + width, self._width)
        bottom = min(y + height, self._height)
        if (left, top, right, bottom) == (x, y, x + width, y + height):
            return box
        corners = f"corners {x:g},{y:g} to {x + width:g},{y + height:g} in {self._width}x{self._height} pixels"
        self._count_flaw("box outside the image", f"box outside the image, {corners}.")
        return Box(left, top, right - left, bottom - top) if left < right and top < bottom else None

    def _merge(self, node: _Node, duplicate: _Node) -> None:
        """Merge ``duplicate`` into ``node``.

        This is necessary if records with the same box have the names "girl", "woman", and then "woman, girl".
        """
        _add_new(node.names, duplicate.names)
        _add_new(node.attributes, duplicate.attributes)
        self._nodes.remove(duplicate)
        self._by_id = {
            key: node if value is duplicate else value for key, value in self._by_id.items()
        }
        self._by_name_and_box = {
            key: node if value is duplicate else value
            for key, value in self._by_name_and_box.items()
        }
        ids = {duplicate.id: node.id}
        self._edges = dict.fromkeys(
            Relation(ids.get(e.subject, e.subject), e.predicate, ids.get(e.object, e.object))
            for e in self._edges
        )

    def _find_or_add_node(self, record: Record, object_id: str) -> _Node | None:
        """Return the node with the id ``object_id``, otherwise the node with the record's name and box or a new
        node."""
        return self._by_id.get(object_id) or self._add_node(record, object_id)

    def _find_node(self, record: Record, role: str) -> _Node | None:
        """Return the subject or object of a relationship, or None if it is unknown.

        scene_graphs.json contains the id of the object; relationships.json contains the record of the object.
        """
        if role in record:
            return self._find_or_add_node(
                record[role], str(get_first(record[role], "object_id", "id"))
            )
        object_id = str(get_first(record, f"{role}_id", role))
        if object_id not in self._by_id:
            self._count_flaw(
                "unknown object", f"the {role} {object_id} is not an object of the image."
            )
        return self._by_id.get(object_id)


def _add_new(texts: list[str], new_texts: Iterable[str]) -> None:
    """Append the texts that the list does not contain yet."""
    texts.extend(text for text in new_texts if text not in texts)
