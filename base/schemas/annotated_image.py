"""An annotated image of Visual Genome or GQA: its scene graph and its region descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

from compeval.base.schemas.scene_graph import Box, Mention, Parse, Relation, SceneGraph, SceneObject


def make_id_sort_key(image_id: str) -> tuple[int, str]:
    """Return a key that sorts ids of digits as numbers."""
    return len(image_id), image_id


@dataclass(frozen=True, slots=True)
class Region:
    """A region description.

    ``caption`` is the phrase, corrected and normalised; empty if it has no words or is not read yet. ``parse`` is the
    parse of the caption, or None if the parser cannot parse it.
    """

    region_id: str
    phrase: str
    box: Box
    caption: str = ""
    parse: Parse | None = None

    def to_row(self) -> dict[str, Any]:
        """Return an item of the column ``regions`` of ANNOTATION_SCHEMA."""
        texts = {"region_id": self.region_id, "phrase": self.phrase, "caption": self.caption}
        graph = self.parse and self.parse.graph.to_row()
        mentions = self.parse and [mention.to_row() for mention in self.parse.mentions]
        return texts | {"box": self.box._asdict(), "graph": graph, "mentions": mentions}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Region:
        """Return the region of an item that :meth:`to_row` returned."""
        caption = row["caption"]
        parse = None
        if row["graph"] is not None:
            mentions = tuple(Mention(**mention) for mention in row["mentions"])
            parse = Parse(caption, SceneGraph.from_row(row["graph"]), mentions)
        return cls(row["region_id"], row["phrase"], Box(**row["box"]), caption, parse)


@dataclass(frozen=True)
class AnnotatedImage:
    """An image with the annotations of all annotators.

    An object can have several names, such as "couch" and "futon". ``graph`` contains the first name of each object;
    ``other_names`` maps an object id to the object's other names. ``files`` are the possible paths of the image file,
    because Visual Genome distributes its images over two folders.
    """

    image_id: str
    width: int
    height: int
    graph: SceneGraph
    regions: tuple[Region, ...] = ()
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The path of the image file. Raises FileNotFoundError if none of ``files`` exists."""
        for file in self.files:
            if file.exists():
                return file
        folders = ", ".join(str(file.parent) for file in self.files)
        raise FileNotFoundError(
            f"image {self.image_id}: {self.files[0].name} not found in {folders}."
        )

    def facts(self) -> SceneGraph:
        """Return the graph with an additional node for each other name of an object."""
        nodes: dict[str, list[SceneObject]] = {}
        for item in self.graph.objects:
            names = enumerate(self.other_names.get(item.id, ()))
            nodes[item.id] = [
                item,
                *(replace(item, id=f"{item.id}~{n}", name=name) for n, name in names),
            ]
        relations = [
            Relation(subject.id, edge.predicate, target.id)
            for edge in self.graph.relations
            for subject, target in product(nodes[edge.subject], nodes[edge.object])
        ]
        return SceneGraph(tuple(chain.from_iterable(nodes.values())), tuple(relations))

    def to_row(self) -> dict[str, Any]:
        """Return a row of ANNOTATION_SCHEMA."""
        graph = self.graph.to_row()
        for item in graph["objects"]:
            item["other_names"] = self.other_names.get(item["id"], ())
        size = {"image_id": self.image_id, "width": self.width, "height": self.height}
        files = [file.as_posix() for file in self.files]
        regions = [region.to_row() for region in self.regions]
        return size | graph | {"files": files, "regions": regions}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> AnnotatedImage:
        """Return the image of a row that :meth:`to_row` returned."""
        graph = SceneGraph.from_row(row)
        regions = tuple(map(Region.from_row, row["regions"]))
        other_names = {
            item["id"]: tuple(item["other_names"]) for item in row["objects"] if item["other_names"]
        }
        files = tuple(map(Path, row["files"]))
        return cls(row["image_id"], row["width"], row["height"], graph, regions, other_names, files)
