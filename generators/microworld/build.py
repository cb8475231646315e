"""The stage ``sources``: ``python -m generators.microworld.build`` writes sources/microworld/.

Test scenes with their annotations (annotate.py), their complete truth (for the oracle alone), and three training
corpora of small captioned pictures as webdataset shards. Training pictures show a whole scene or a region of one, as
the test crops do, and their captions say what is in view. Same bytes for any number of workers.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image
from tqdm import tqdm

from generators.microworld.annotate import annotate, image_path, write
from generators.microworld.captions.content import TRAINING_KINDS, Facts, choose
from generators.microworld.captions.views import is_whole, region_box
from generators.microworld.captions.wording import TRAINING_RICHNESS, training_caption
from generators.microworld.rendering.renderer import render
from generators.microworld.scene import Scene
from generators.microworld.scenes.held_out import left_out
from generators.microworld.scenes.object_sampler import skewed_weights
from generators.microworld.scenes.sampler import TEST_IDS, sample_scene, training_ids
from generators.schemas.corpus_names import CORPORA
from generators.schemas.scene_graph import Box
from generators.storage import stage
from generators.storage.dataset import whole_folder
from generators.storage.params import block

FOLDER = Path("sources/microworld")
WORKERS = 2
EXAMPLES_PER_SHARD = 2000
LANDSCAPE, PORTRAIT, PORTRAIT_SHARE = (640, 480), (480, 640), 0.2
TEST_THINGS = {2: 15, 3: 25, 4: 30, 5: 20, 6: 10}
TRAINING_THINGS = {1: 10, 2: 40, 3: 35, 4: 15}
"""Weights of the number of things in a scene."""
WHOLE_SHARE = 0.15
"""Training pictures that show the whole scene; the others show a region, as most test crops do."""
PICTURES_PER_SCENE = 3
"""Training pictures of one scene: finding a scene takes longer than drawing one."""


@dataclass(frozen=True)
class Params:
    """The block ``microworld`` of params.yaml. ``train_images`` counts per corpus, ``train_size`` is in pixels."""

    seed: int
    test_images: int
    train_images: int
    train_size: int
    annotation_recall: float

    @classmethod
    def read(cls) -> Params:
        try:
            return cls(**block("microworld"))
        except TypeError as error:
            raise ValueError(f"params.yaml, microworld: {error}; expected {', '.join(cls.__annotations__)}.") from None


@dataclass(frozen=True, slots=True)
class Example:
    """A training picture: JPEG bytes, caption, and what it shows; ``number`` counts the pictures of a scene."""

    image_id: int
    number: int
    jpeg: bytes
    caption: str
    view: Box


def build(folder: Path, params: Params, workers: int = WORKERS) -> None:
    """Writes the whole folder or nothing."""
    with whole_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        ids = TEST_IDS[: params.test_images]
        tests = _progress(pool, partial(_test_image, params.seed), ids, "microworld test scenes")
        scenes = list(write_images(scratch, tests))
        with (scratch / "truth.jsonl").open("w") as lines:
            lines.writelines(json.dumps(scene.to_json()) + "\n" for scene in scenes)
        write(annotate(scenes, params.seed, params.annotation_recall), scratch)
        for index, corpus in enumerate(CORPORA):
            ids = training_ids(index, -(-params.train_images // PICTURES_PER_SCENE))
            make = partial(training_examples, params.seed, corpus, params.train_size)
            scenes_examples = _progress(pool, make, ids, f"microworld {corpus}")
            examples = islice(chain.from_iterable(scenes_examples), params.train_images)
            write_corpus(scratch / "corpora" / corpus, examples)
            rules = json.dumps(left_out(params.seed, corpus).to_json(), indent=1)
            (scratch / "corpora" / corpus / "left_out.json").write_text(rules + "\n")


def evaluation_scene(seed: int, image_id: int) -> Scene:
    rng = Random(f"{seed}:{image_id}:frame")
    width, height = frame(rng)
    return sample_scene(seed, image_id, width=width, height=height, n_things=_number(rng, TEST_THINGS))


def training_scene(seed: int, corpus: str, image_id: int) -> Scene:
    """A scene with nothing in it that the corpus leaves out."""
    rng = Random(f"{seed}:{image_id}:frame")
    width, height = frame(rng)
    return sample_scene(
        seed,
        image_id,
        width=width,
        height=height,
        n_things=_number(rng, TRAINING_THINGS),
        forbidden=left_out(seed, corpus),
        weights=_weights(seed, corpus),
    )


def training_examples(seed: int, corpus: str, size: int, image_id: int) -> list[Example]:
    return captioned(seed, training_scene(seed, corpus, image_id), size)


def captioned(seed: int, scene: Scene, size: int, richness: float = TRAINING_RICHNESS) -> list[Example]:
    """``PICTURES_PER_SCENE`` captioned pictures of one scene, each ``size`` x ``size`` pixels."""
    described = [describe(seed, scene, number, richness) for number in range(PICTURES_PER_SCENE)]
    return [
        Example(scene.image_id, number, jpeg(render(scene, (size, size), view)), caption, view)
        for number, (caption, view) in enumerate(described)
    ]


def describe(seed: int, scene: Scene, number: int, richness: float = TRAINING_RICHNESS) -> tuple[str, Box]:
    """A training caption, and what its picture shows: the whole scene, or the region around what the caption names."""
    rng, names = Random(f"{seed}:{scene.image_id}:example:{number}"), [thing.id for thing in scene.things]
    content = choose(Facts.of(scene, names, sizes=False), TRAINING_KINDS, rng)
    assert content, "every thing has a colour"
    whole = Box(0, 0, scene.width, scene.height)
    view = whole if rng.random() < WHOLE_SHARE else region_box(scene, content.things, rng)
    facts = Facts.of(scene, names, sizes=is_whole(scene, view))
    return training_caption(facts, content, rng, richness), view


@cache
def _weights(seed: int, corpus: str) -> dict[str, float]:
    return skewed_weights(seed, corpus)


def _test_image(seed: int, image_id: int) -> tuple[Scene, bytes]:
    scene = evaluation_scene(seed, image_id)
    return scene, jpeg(render(scene, (scene.width, scene.height)))


def frame(rng: Random) -> tuple[int, int]:
    return PORTRAIT if rng.random() < PORTRAIT_SHARE else LANDSCAPE


def _number(rng: Random, weights: dict[int, int]) -> int:
    return rng.choices(list(weights), list(weights.values()))[0]


def jpeg(pixels: np.ndarray) -> bytes:
    """Full colour resolution: at 64 pixels halved colour is no longer a pattern."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=92, subsampling=0)
    return stream.getvalue()


def _progress(pool: ProcessPoolExecutor, make: Callable[[int], Any], ids: Sequence[int], title: str) -> Iterable[Any]:
    """What ``make`` gives for each id, in order, made by the pool."""
    return tqdm(pool.map(make, ids, chunksize=50), title, total=len(ids), unit="img", mininterval=1)


def write_images(folder: Path, images: Iterable[tuple[Scene, bytes]]) -> Iterator[Scene]:
    for scene, jpeg in images:
        path = folder / image_path(scene.image_id)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg)
        yield scene


def write_corpus(folder: Path, examples: Iterable[Example]) -> None:
    """Webdataset shards; the folder must not exist."""
    folder.mkdir(parents=True)
    stream = iter(examples)
    shards = iter(lambda: list(islice(stream, EXAMPLES_PER_SHARD)), [])
    for number, group in enumerate(shards):
        with tarfile.open(folder / f"{number:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for example in group:
                facts = {"caption": example.caption, "image_id": example.image_id, "view": list(example.view)}
                for suffix, content in (
                    ("jpg", example.jpeg),
                    ("txt", example.caption.encode()),
                    ("json", json.dumps(facts).encode()),
                ):
                    name = f"{example.image_id:09d}_{example.number}.{suffix}"
                    member = tarfile.TarInfo(name)  # owner and time stay 0
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))


def main() -> None:
    build(FOLDER, Params.read())


if __name__ == "__main__":
    stage.run(main)
