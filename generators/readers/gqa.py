"""GQA's scene graphs in the schema of generators/readers/visual_genome.py.

Source: Hudson and Manning 2019; one JSON object keyed by image id, each object with its relations. ARO mines its pairs
from these graphs. GQA has no region descriptions. Flaws are treated as generators/readers/visual_genome.py treats them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.readers.json_records import JsonRecords
from generators.readers.visual_genome import FlawError, Image, OnFlaw, checked_box, get, id_order, raise_flaw, text
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject


def read(file: Path, images: Path, on_flaw: OnFlaw = raise_flaw) -> Iterator[Image]:
    """Every image of one sceneGraphs.json in the order of the ids; ``images`` is the folder of the image files."""
    records = JsonRecords(file)
    for image_id in sorted(records, key=id_order):
        where, record = f"{file}, image {image_id}", records[image_id]
        width, height = (int(get(record, where, side)) for side in ("width", "height"))
        things = get(record, where, "objects")
        yield Image(
            image_id,
            width,
            height,
            graph=SceneGraph(
                tuple(
                    _object(key, thing, f"{where}, object {key}", (width, height), on_flaw)
                    for key, thing in things.items()
                ),
                tuple(dict.fromkeys(_relations(things, where, on_flaw))),
            ),
            files=(images / f"{image_id}.jpg",),
        )


def _object(key: str, thing: Mapping[str, Any], where: str, size: tuple[int, int], on_flaw: OnFlaw) -> SceneObject:
    attributes = dict.fromkeys(map(text, get(thing, where, "attributes")))
    return SceneObject(
        key, text(get(thing, where, "name")), tuple(attributes), checked_box(thing, where, size, on_flaw)
    )


def _relations(things: Mapping[str, Mapping[str, Any]], where: str, on_flaw: OnFlaw) -> Iterator[Relation]:
    for key, thing in things.items():
        for edge in get(thing, f"{where}, object {key}", "relations"):
            if (end := str(get(edge, f"{where}, object {key}, relation", "object"))) in things:
                yield Relation(key, text(get(edge, f"{where}, object {key}, relation", "name")), end)
            else:
                message = f"{where}, object {key}: its relation's object {end} is no object of the image."
                on_flaw(FlawError("unknown object", message))
