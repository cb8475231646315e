"""Write a stand-in in the format of GQA's scene graphs: train_sceneGraphs.json and val_sceneGraphs.json.

An image has the scene of Visual Genome's stand-in with the same seed and index, normalised as GQA's are: only frequent
names and attributes, and with "to the left of" and "to the right of" between pairs of objects.
GQA has 16 objects and 50 relations per image in the mean; every eighth image belongs to the validation file.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from bench.standin.files import open_json
from bench.standin.photographs import draw_jpeg
from bench.standin.scene import Scene, draw_scene, make_rng
from bench.standin.vocabulary import Words, load_words
from bench.standin.zipf import draw_count

OBJECTS, SPATIAL_PAIRS = 16.5, 24.0
VALIDATION = 8
LOCATIONS = (None, None, None, "indoors", "outdoors", "outdoors")


def write(folder: Path, images: int, seed: int, long_side: int, pixels: bool) -> None:
    """Write the scene graphs of ``images`` images and, with ``pixels``, their JPEG files to the folder ``images``."""
    words = load_words()
    (folder / "images").mkdir(parents=True, exist_ok=True)
    with (
        open_json(folder / "train_sceneGraphs.json", "{}") as train,
        open_json(folder / "val_sceneGraphs.json", "{}") as validation,
    ):
        for index in tqdm(range(images), "gqa", unit="img", mininterval=5):
            scene = draw_scene(seed, index, long_side, words)
            graph = make_graph(scene, words, make_rng(seed, "gqa", index))
            (validation if index % VALIDATION == VALIDATION - 1 else train).add(graph, str(scene.image_id))
            if pixels:
                boxes = [thing.box for thing in scene.things]
                jpeg = draw_jpeg(scene.width, scene.height, boxes, make_rng(seed, "pixels", index))
                (folder / "images" / f"{scene.image_id}.jpg").write_bytes(jpeg)


def make_graph(scene: Scene, words: Words, rng: Random) -> dict[str, Any]:
    """Return the value of an image in a sceneGraphs.json."""
    frequent = [at for at, thing in enumerate(scene.things) if thing.name in words.kinds]
    chosen = sorted(rng.sample(frequent, min(len(frequent), draw_count(rng, OBJECTS, 0.45, 120))))
    attributes = set(words.attributes["any"].items)
    objects: dict[int, dict[str, Any]] = {}
    for at in chosen:
        thing = scene.things[at]
        record = {"name": thing.name, **thing.box._asdict(), "relations": []}
        objects[at] = record | {"attributes": [text for text in thing.attributes if text in attributes]}

    def relate(subject: int, name: str, object_: int) -> None:
        objects[subject]["relations"].append({"object": str(scene.things[object_].id), "name": name})

    for link in scene.links:
        if link.subject in objects and link.object in objects:
            relate(link.subject, link.predicate, link.object)
    for _ in range(draw_count(rng, SPATIAL_PAIRS, 0.6, 300) if len(chosen) > 1 else 0):
        left, right = sorted(rng.sample(chosen, 2), key=lambda at: scene.things[at].box.x)
        relate(left, "to the left of", right)
        relate(right, "to the right of", left)
    location = rng.choice(LOCATIONS)
    graph: dict[str, Any] = {"width": scene.width, "objects": {str(scene.things[at].id): objects[at] for at in objects}}
    return graph | ({"location": location} if location else {}) | {"height": scene.height}
