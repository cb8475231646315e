"""Write a stand-in in the format of Visual Genome 1.4.

Files: image_data.json, objects.json, attributes.json, relationships.json, scene_graphs.json, region_descriptions.json,
and the images in VG_100K and VG_100K_2. Some records have the flaws of the real files
(generators/readers/visual_genome.py).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from bench.standin.files import open_json
from bench.standin.photographs import draw_jpeg
from bench.standin.phrases import write_phrase
from bench.standin.real_texts import read_phrases
from bench.standin.scene import FIRST_IMAGE_ID, IDS_PER_IMAGE, Link, Scene, Thing, draw_scene, make_rng
from bench.standin.vocabulary import Words, find_synset, load_words
from bench.standin.zipf import draw_count

FILES = ("image_data", "objects", "attributes", "relationships", "scene_graphs", "region_descriptions")
FOLDERS = ("VG_100K", "VG_100K_2")
REGIONS = 50.0
FLAWED = 0.0005
"""Share of the objects and of the relations with a flaw."""
MERGED = 0.02
"""Share of the objects that were merged from several records."""
UPPER_CASE = 0.3
"""Share of the predicates in upper case."""

Record = dict[str, Any]


def write(folder: Path, images: int, seed: int, long_side: int, pixels: bool) -> None:
    """Write the annotations of ``images`` images and, with ``pixels``, their JPEG files; one image is in memory."""
    words = load_words()
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = {name: stack.enter_context(open_json(folder / f"{name}.json")) for name in FILES}
        for index in tqdm(range(images), "visual_genome", unit="img", mininterval=5):
            scene = draw_scene(seed, index, long_side, words)
            for name, record in make_records(scene, words, make_rng(seed, "records", index)).items():
                files[name].add(record)
            if pixels:
                boxes = [thing.box for thing in scene.things]
                jpeg = draw_jpeg(scene.width, scene.height, boxes, make_rng(seed, "pixels", index))
                (folder / _find_folder(scene) / f"{scene.image_id}.jpg").write_bytes(jpeg)


def make_records(scene: Scene, words: Words, rng: Random) -> dict[str, Record]:
    """Return the record of the image in each of ``FILES``."""
    image_id = {"image_id": scene.image_id}
    url = f"https://cs.stanford.edu/people/rak248/{_find_folder(scene)}/{scene.image_id}.jpg"
    objects = [_make_object(thing, scene, words, rng) for thing in scene.things]
    relations = [_make_relation(link, scene, rng) for link in scene.links]
    plain = [_without(record, "attributes") for record in objects]
    graph_objects = [_without(record, "merged_object_ids") for record in objects]
    graph_relations = [
        _without(relation, "subject", "object")
        | {f"{role}_id": relation[role]["object_id"] for role in ("subject", "object")}
        for relation in relations
    ]
    return {
        "image_data": {"width": scene.width, "url": url, "height": scene.height, **image_id}
        | {"coco_id": rng.choice([None, rng.randrange(600_000)]), "flickr_id": rng.randrange(10**10)},
        "objects": {**image_id, "objects": plain, "image_url": url},
        "attributes": {**image_id, "attributes": graph_objects},
        "relationships": {"relationships": relations, **image_id},
        "scene_graphs": {"relationships": graph_relations, "objects": graph_objects, **image_id},
        "region_descriptions": {"regions": _make_regions(scene, rng), "id": scene.image_id},
    }


def _find_folder(scene: Scene) -> str:
    return FOLDERS[scene.image_id % 2]


def _without(record: Record, *keys: str) -> Record:
    return {key: value for key, value in record.items() if key not in keys}


def _make_object(thing: Thing, scene: Scene, words: Words, rng: Random) -> Record:
    names = [thing.name]
    if rng.random() < MERGED and thing.name in words.other_names:
        names.append(words.other_names[thing.name])
    synset = find_synset(thing.name)
    record: Record = {"synsets": [synset] if synset else [], "h": thing.box.h, "object_id": thing.id}
    record["merged_object_ids"] = [thing.id + IDS_PER_IMAGE // 2] if rng.random() < MERGED else []
    record |= {"names": names, "w": thing.box.w, "y": thing.box.y, "x": thing.box.x}
    if thing.attributes:
        record["attributes"] = list(thing.attributes)
    if rng.random() < FLAWED:
        record |= rng.choice([{"w": 0}, {"x": -3}, {"w": scene.width}, {"y": scene.height + 5}, {"names": [""]}])
    return record


def _make_relation(link: Link, scene: Scene, rng: Random) -> Record:
    subject, object_ = (scene.things[at] for at in (link.subject, link.object))
    first_word = link.predicate.split(" ", 1)[0]
    synset = find_synset(first_word, "r") or find_synset(first_word, "v")
    record: Record = {"predicate": link.predicate.upper() if rng.random() < UPPER_CASE else link.predicate}
    record |= {"object": _make_end(object_), "relationship_id": link.id, "synsets": [synset] if synset else []}
    record["subject"] = _make_end(subject)
    if rng.random() < FLAWED:
        record |= rng.choice([{"predicate": ""}, {"object": record["object"] | {"object_id": 1}}])
    return record


def _make_end(thing: Thing) -> Record:
    synset = find_synset(thing.name)
    box = {"h": thing.box.h, "object_id": thing.id, "synsets": [synset] if synset else [], "w": thing.box.w}
    return {"name": thing.name, **box, "y": thing.box.y, "x": thing.box.x, "merged_object_ids": []}


def _make_regions(scene: Scene, rng: Random) -> list[Record]:
    regions: list[Record] = []
    real = read_phrases()
    for number in range(draw_count(rng, REGIONS, 0.3, 300)):
        phrase, box = write_phrase(scene, real, rng)
        region_id = FIRST_IMAGE_ID + (scene.image_id - FIRST_IMAGE_ID) * IDS_PER_IMAGE + number
        region = {"region_id": region_id, "width": box.w, "height": box.h, "image_id": scene.image_id}
        regions.append({**region, "phrase": phrase, "y": box.y, "x": box.x})
    return regions
