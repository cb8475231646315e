"""Read COCO's objects as scene graphs: instances_*.json and panoptic_*.json, with names and boxes.

Source: Lin et al. 2014; Kirillov et al. 2019 (panoptic). Only the categories of the file are annotated, so a graph does
not show that other nouns are absent. Names of panoptic categories lose their suffixes ("wall-brick" and
"wall-other-merged" are ``wall``). The id of an image is its file name without suffix.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ijson

from generators.readers.records import MALFORMED, Flaws, RecordsByImage
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, SceneGraph, SceneObject


def read_categories(path: Path) -> dict[int, str]:
    """Return the names of the categories by id."""
    return {item["id"]: item["name"].split("-")[0].lower() for item in _stream(path, "categories")}


def read(path: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Yield the images of a file with their objects, in constant memory. Crowds are objects, too.

    Raises ValueError if the file is not valid JSON.
    """
    names, records = read_categories(path), RecordsByImage()
    for item in _stream(path, "images"):
        records.add(str(item["id"]), "image", item)
    for item in _stream(path, "annotations"):
        records.add(str(item["image_id"]), "objects", item.get("segments_info", [item]))
    for image_id, found in records:
        images = [record for kind, record in found if kind == "image"]
        if not images:
            flaws.add("no record", f"{path}, image {image_id}: no record of this image.")
            continue
        segments = [segment for kind, record in found if kind == "objects" for segment in record]
        objects = []
        for number, segment in enumerate(segments):
            try:
                objects.append(SceneObject(str(number), names[segment["category_id"]], (), Box(*segment["bbox"])))
            except (KeyError, TypeError):
                flaws.add(MALFORMED, f"{path}, image {image_id}, object {number}: no known category_id, or no bbox.")
        image = images[0]
        stem = Path(image["file_name"]).stem
        yield AnnotatedImage(stem, image.get("width", 0), image.get("height", 0), SceneGraph(tuple(objects)))


def _stream(path: Path, key: str) -> Iterator[Any]:
    with path.open("rb") as file:
        try:
            yield from ijson.items(file, f"{key}.item", use_float=True)
        except ijson.JSONError as error:
            raise ValueError(f"{path}: broken JSON ({str(error).splitlines()[0]}).") from None
