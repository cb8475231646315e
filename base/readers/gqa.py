"""Read GQA's scene graphs as annotated images.

Source: Hudson and Manning 2019. A file is a JSON object that maps image ids to scene graphs; each object of a graph
contains its relations. GQA has no region descriptions. Flawed records are treated as in
base/readers/visual_genome.py.

GQA publishes two files, train_sceneGraphs.json (75 thousand graphs) and val_sceneGraphs.json (11 thousand). The images
are Visual Genome's, under the same ids: in the folder ``images`` of GQA's own archive, or in the folders ``VG_100K``
and ``VG_100K_2`` of Visual Genome's two archives. ARO's captions come from these graphs. The paper does not say which
of the two files its authors read (arXiv:2210.01936, appendix A.1, step 1: "the scene graphs annotated in GQA").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compeval.base.readers.records import MALFORMED, Flaws, RecordsByImage, stream_records
from compeval.base.readers.visual_genome import ImageReader
from compeval.base.schemas.annotated_image import AnnotatedImage

IMAGE_FOLDERS = ("", "images", "VG_100K", "VG_100K_2")
"""The subfolders of the image folder that may contain an image."""


def read(scene_graphs: Path, image_folder: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Yield the images of a sceneGraphs.json, or of all such files in a folder, sorted by id.

    The image files are in ``image_folder`` or in its subfolders IMAGE_FOLDERS.
    """
    files = (
        sorted(scene_graphs.glob("*sceneGraphs*.json")) if scene_graphs.is_dir() else [scene_graphs]
    )
    if not files:
        raise FileNotFoundError(f"{scene_graphs}: no *sceneGraphs*.json in this folder.")
    records = RecordsByImage()
    for file in files:
        for image_id, record in stream_records(file):
            records.add(image_id, str(file), record)
    for image_id, ((file, record), *duplicates) in records:
        path = Path(file)
        for duplicate_file, _ in duplicates:
            flaws.add("duplicate id", f"{duplicate_file}, image {image_id}: duplicate id.")
        if reader := ImageReader.make(image_id, path, record, flaws, records):
            objects = record.get("objects")
            if not isinstance(objects, dict):
                flaws.add(
                    MALFORMED, f"{path}, image {image_id}: objects {objects!r}, expected an object."
                )
                continue
            # Objects and relations in the format of scene_graphs.json; the reader counts malformed records.
            nodes = [
                item | {"object_id": key} if isinstance(item, dict) else item
                for key, item in objects.items()
            ]
            reader.add(path, "objects", nodes)
            edges = [
                edge for key, item in objects.items() for edge in _convert_relations(key, item)
            ]
            reader.add(path, "relationships", edges)
            yield reader.build(
                *(image_folder / folder / f"{image_id}.jpg" for folder in IMAGE_FOLDERS)
            )


def _convert_relations(object_id: str, record: Any) -> Iterator[Any]:
    """Yield the relations of an object in the format of scene_graphs.json."""
    edges = record.get("relations", ()) if isinstance(record, Mapping) else ()
    for position, edge in enumerate(edges):
        if isinstance(edge, Mapping):
            names = {"predicate": edge.get("name"), "object_id": edge.get("object")}
            yield {"relationship_id": f"{object_id}-{position}", "subject_id": object_id, **names}
        else:
            yield edge
