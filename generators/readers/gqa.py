"""GQA's scene graphs in the schema of Visual Genome's.

Source: Hudson and Manning 2019; JSON objects keyed by image id, each object with its relations. ARO mines its pairs
from these graphs. GQA has no region descriptions. Flaws are treated as in generators/readers/visual_genome.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.readers.records import MALFORMED, Flaws, RecordsByImage, stream_records
from generators.readers.visual_genome import ImageReader
from generators.schemas.annotated_image import AnnotatedImage


def read(scene_graphs: Path, images: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Every image of one sceneGraphs.json, or of all in a folder, in the order of the ids; ``images`` is the folder of
    the image files."""
    files = sorted(scene_graphs.glob("*sceneGraphs*.json")) if scene_graphs.is_dir() else [scene_graphs]
    if not files:
        raise FileNotFoundError(f"{scene_graphs}: no *sceneGraphs*.json in this folder.")
    records = RecordsByImage()
    for file in files:
        for image_id, record in stream_records(file):
            records.add(image_id, str(file), record)
    for image_id, ((file, record), *others) in records:
        path = Path(file)
        for other, _ in others:
            flaws.add("duplicate id", f"{other}, image {image_id}: duplicate id.")
        if reader := ImageReader.make(image_id, path, record, flaws, records):
            objects = record.get("objects")
            if not isinstance(objects, dict):
                flaws.add(MALFORMED, f"{path}, image {image_id}: objects {objects!r}, expected an object.")
                continue
            reader.add(path, "objects", [_object(key, item) for key, item in objects.items()])
            edges = [edge for key, item in objects.items() for edge in _relationships(key, item)]
            reader.add(path, "relationships", edges)
            yield reader.image(images / f"{image_id}.jpg")


def _object(object_id: str, record: Any) -> Any:
    """An object as scene_graphs.json has it; what is no object as it is."""
    return record | {"object_id": object_id} if isinstance(record, dict) else record


def _relationships(object_id: str, record: Any) -> Iterator[Any]:
    """An object's relations as scene_graphs.json has them."""
    edges = record.get("relations", ()) if isinstance(record, Mapping) else ()
    for position, edge in enumerate(edges):
        if isinstance(edge, Mapping):
            names = {"predicate": edge.get("name"), "object_id": edge.get("object")}
            yield {"relationship_id": f"{object_id}-{position}", "subject_id": object_id, **names}
        else:
            yield edge
