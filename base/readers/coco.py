"""Read COCO's objects as scene graphs: instances_*.json and panoptic_*.json, with names and boxes.

Source: Lin et al. 2014; Kirillov et al. 2019 (panoptic). Only the categories of the file are annotated, so a graph does
not show that other nouns are absent. Names of panoptic categories lose their suffixes ("wall-brick" and
"wall-other-merged" are ``wall``). The id of an image is its file name without suffix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import ijson

from compeval.base.readers.records import MALFORMED, Flaws, RecordsByImage
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, SceneGraph, SceneObject
from compeval.base.texts import normalize_text


def read_categories(path: Path) -> dict[int, str]:
    """Return the names of the categories by id. Raises ValueError if the file is not valid JSON, or one lacks them."""
    names: dict[int, str] = {}
    for number, item in enumerate(_stream(path, "categories")):
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("name"), str)
            or not isinstance(item.get("id"), int)
        ):
            raise ValueError(
                f"{path}, category {number}: got {json.dumps(item)[:100]}, expected an id and a name."
            )
        names[item["id"]] = normalize_text(item["name"]).split("-")[0].lower()
    return names


def read(path: Path, flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Yield the images of a file with their objects, in constant memory. Crowds are objects, too.

    Malformed records are counted. Raises ValueError if the file is not valid JSON, or a category has no id or name.
    """
    names = read_categories(path)
    records = RecordsByImage()
    for key, id_name in (("images", "id"), ("annotations", "image_id")):
        for number, item in enumerate(_stream(path, key)):
            if isinstance(item, dict) and id_name in item:
                records.add(str(item[id_name]), key, item)
            else:
                flaws.add(MALFORMED, f"{path}, {key} {number}: no {id_name}.")
    for image_id, image_records in records:
        image = next((record for key, record in image_records if key == "images"), None)
        if image is None:
            flaws.add("no record", f"{path}, image {image_id}: no record of this image.")
        elif not isinstance(image.get("file_name"), str):
            flaws.add(MALFORMED, f"{path}, image {image_id}: no file_name.")
        else:
            annotations = [record for key, record in image_records if key == "annotations"]
            objects = tuple(_read_objects(f"{path}, image {image_id}", annotations, names, flaws))
            sides = [image.get("width"), image.get("height")]
            width, height = (side if isinstance(side, int) else 0 for side in sides)
            yield AnnotatedImage(Path(image["file_name"]).stem, width, height, SceneGraph(objects))


def _read_objects(
    where: str, annotations: Iterable[dict[str, Any]], names: Mapping[int, str], flaws: Flaws
) -> Iterator[SceneObject]:
    """Yield the objects of annotations, which are objects (instances) or have several (panoptic)."""
    lists = [
        item["segments_info"] if isinstance(item.get("segments_info"), list) else [item]
        for item in annotations
    ]
    for number, segment in enumerate(chain.from_iterable(lists)):
        try:
            box = Box(*map(float, segment["bbox"]))
            yield SceneObject(str(number), names[segment["category_id"]], (), box)
        except (KeyError, TypeError, ValueError):
            flaws.add(MALFORMED, f"{where}, object {number}: no known category_id, or no bbox.")


def _stream(path: Path, key: str) -> Iterator[Any]:
    with path.open("rb") as file:
        try:
            yield from ijson.items(file, f"{key}.item", use_float=True)
        except ijson.JSONError as error:
            raise ValueError(f"{path}: broken JSON ({str(error).splitlines()[0]}).") from None
