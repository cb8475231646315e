"""Write synthetic data in the formats of real datasets, of any size: ``python -m bench.synthetic_data COMMAND OUT``.

    python -m bench.synthetic_data visual-genome --images 1350 sources/visual_genome
    python -m bench.synthetic_data gqa --images 1350 --no-pixels sources/gqa
    python -m bench.synthetic_data coco --split test --images 5000 sources/coco
    python -m bench.synthetic_data corpus laion --captions 2000000 sources/visual_genome/corpora/laion

The output is deterministic, and a small dataset is the beginning of a larger one with the same seed. Texts come from
real captions if COMPEVAL_REAL_DATA is set. The files have the keys and columns that are read.

Stages read them as the real data, so cards and reports name Visual Genome or COCO as the source: build from them in a
checkout of its own, and publish nothing of it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from tqdm import tqdm

from bench.synthetic_data import scenes
from bench.synthetic_data.scenes import Link, Scene, Thing, draw_count, draw_scene, make_rng
from bench.synthetic_data.texts import generate_captions, write_caption, write_phrase

REGIONS = 50.0
GQA_OBJECTS = 16.5
SPATIAL_PAIRS = 24.0
"""Means per image."""
FIRST_NUMBERS = {"train": 1_000_000, "val": 2_000_000, "test": 3_000_000}
WEB_DIRT = 0.35
"""Share of LAION's captions that are dirty."""
ROWS_PER_GROUP = 100_000
ROWS_PER_FILE = 1_000_000

Split = Literal["train", "val", "test"]
app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)


@contextmanager
def open_json(path: Path, brackets: str = "[]") -> Iterator[Callable[..., None]]:
    """Open a JSON list, or an object with the brackets ``{}``; the result adds a record, or a record with a key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        separators = itertools.chain([brackets[0]], itertools.repeat(", "))

        def add(record: Any, key: str | None = None) -> None:
            file.write(
                next(separators)
                + ("" if key is None else f"{json.dumps(key)}: ")
                + json.dumps(record)
            )

        yield add
        file.write(brackets[1])


def draw_scenes(
    out: Path, image: str, indices: range, seed: int, long_side: int, pixels: bool
) -> Iterator[tuple[str, Scene]]:
    """Yield the scene of each index and the path of its photograph, which is written if ``pixels`` is True."""
    for index in tqdm(indices, out.name, unit="img", mininterval=5):
        scene = draw_scene(seed, index, long_side)
        path = image.format(index=index, id=scene.image_id, part="_2" * (index % 2))
        if pixels:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_bytes(scenes.draw_photograph(scene, make_rng(seed, "pixels", index)))
        yield path, scene


def describe(thing: Thing) -> dict[str, Any]:
    return {**dict(zip("xywh", thing.box, strict=True)), "attributes": thing.attributes}


@app.command("visual-genome")
def write_visual_genome(
    out: Path, images: int = 1350, seed: int = 0, long_side: int = 500, pixels: bool = True
) -> None:
    """Write Visual Genome 1.4 (the real one has 108,077 images)."""
    with (
        open_json(out / "image_data.json") as add_image,
        open_json(out / "scene_graphs.json") as add_graph,
        open_json(out / "region_descriptions.json") as add_regions,
    ):
        for path, scene in draw_scenes(
            out, "VG_100K{part}/{id}.jpg", range(images), seed, long_side, pixels
        ):
            image = {"image_id": scene.image_id}
            rng = make_rng(seed, "regions", scene.image_id)
            url = f"https://cs.stanford.edu/people/rak248/{path}"
            add_image({**image, "width": scene.width, "height": scene.height, "url": url})
            objects = [
                {
                    "object_id": thing.id,
                    "names": [thing.name],
                    "synsets": [f"{thing.name}.n.01"],
                    **describe(thing),
                }
                for thing in scene.things
            ]
            first_id = scene.things[0].id
            relations = [
                {
                    "relationship_id": number,
                    "subject_id": subject.id,
                    "predicate": text,
                    "object_id": object_.id,
                }
                for number, (subject, text, object_) in enumerate(scene.links, first_id)
            ]
            add_graph({**image, "objects": objects, "relationships": relations})
            phrases = [write_phrase(scene, rng) for _ in range(draw_count(rng, REGIONS, 0.3, 300))]
            regions = [
                {"region_id": number, **image, "phrase": phrase, **box._asdict()}
                for number, (phrase, box) in enumerate(phrases, first_id)
            ]
            add_regions({"id": scene.image_id, "regions": regions})


@app.command("gqa")
def write_gqa(
    out: Path, images: int = 1350, seed: int = 0, long_side: int = 500, pixels: bool = True
) -> None:
    """Write GQA's scene graphs (the real ones have 85,638 images) for the images of visual-genome."""
    with open_json(out / "train_sceneGraphs.json", "{}") as add:
        for _, scene in draw_scenes(out, "images/{id}.jpg", range(images), seed, long_side, pixels):
            objects = make_gqa_objects(scene, make_rng(seed, "gqa", scene.image_id))
            add(
                {"width": scene.width, "height": scene.height, "objects": objects},
                str(scene.image_id),
            )


def make_gqa_objects(scene: Scene, rng: Random) -> dict[str, dict[str, Any]]:
    """Return the objects of a graph, normalised as GQA's are: frequent names, and "to the left of" between pairs."""
    frequent = [thing for thing in scene.things if thing.name in scenes.load_kinds()]
    chosen = rng.sample(frequent, min(len(frequent), draw_count(rng, GQA_OBJECTS, 0.45, 120)))
    objects = {
        str(thing.id): {"name": thing.name, **describe(thing), "relations": []} for thing in chosen
    }
    links: list[Link] = list(scene.links)
    for _ in range(draw_count(rng, SPATIAL_PAIRS, 0.6, 300) if len(chosen) > 1 else 0):
        left, right = sorted(rng.sample(chosen, 2), key=lambda thing: thing.box.x)
        links += [(left, "to the left of", right), (right, "to the right of", left)]
    for subject, name, object_ in links:
        if str(subject.id) in objects and str(object_.id) in objects:
            objects[str(subject.id)]["relations"].append({"object": str(object_.id), "name": name})
    return objects


@app.command("coco")
def write_coco(
    out: Path,
    split: Split = "test",
    images: int = 5000,
    seed: int = 0,
    long_side: int = 640,
    pixels: bool = True,
) -> None:
    """Write a Karpathy split of COCO (the real ones have 113,287, 5,000 and 5,000 images)."""
    folder = "train2014" if split == "train" else "val2014"
    image = f"{folder}/COCO_{folder}_{{index:012d}}.jpg"
    write_karpathy(
        out / f"coco_karpathy_{split}.json", image, split, images, seed, long_side, pixels
    )


@app.command("flickr30k")
def write_flickr30k(
    out: Path,
    split: Split = "test",
    images: int = 1000,
    seed: int = 0,
    long_side: int = 500,
    pixels: bool = True,
) -> None:
    """Write a Karpathy split of Flickr30k (the real ones have 29,000, 1,014 and 1,000 images)."""
    image = "flickr30k-images/{index}.jpg"
    write_karpathy(out / f"flickr30k_{split}.json", image, split, images, seed, long_side, pixels)


def write_karpathy(
    file: Path, image: str, split: Split, images: int, seed: int, long_side: int, pixels: bool
) -> None:
    """Write an entry per image with all its captions, or per caption in the training file."""
    indices = range(FIRST_NUMBERS[split], FIRST_NUMBERS[split] + images)
    with open_json(file) as add:
        for path, scene in draw_scenes(file.parent, image, indices, seed, long_side, pixels):
            rng = make_rng(seed, path)
            captions = [write_caption(scene, rng) for _ in range(5)]
            for caption in captions if split == "train" else [captions]:
                add({"caption": caption, "image": path, "image_id": path})


@app.command("corpus")
def write_corpus(
    name: Literal["laion"], out: Path, captions: int = 2_000_000, seed: int = 0
) -> None:
    """Write web captions in the format of LAION-400M's files (the real ones have 407 million)."""
    out.mkdir(parents=True, exist_ok=True)
    texts = itertools.islice(generate_captions(name, seed, WEB_DIRT), captions)
    texts = iter(tqdm(texts, name, captions, unit="caption", mininterval=5))
    for part in itertools.count():
        if not (rows := list(itertools.islice(texts, ROWS_PER_FILE))):
            return
        urls = [f"https://images.example.com/{number}.jpg" for number in range(len(rows))]
        table = pa.table({"URL": urls, "TEXT": [text or None for text in rows]})
        pq.write_table(
            table, out / f"part-{part:05d}.snappy.parquet", row_group_size=ROWS_PER_GROUP
        )
