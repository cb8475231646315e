"""Build the micro-world, a synthetic source in the formats of Visual Genome, GQA and COCO (stage ``sources``).

    python -m generators.microworld.build        # writes sources/microworld/

The folder contains the images and annotations of the test scenes, the complete scenes (``truth.jsonl``, read only by
the oracle), and three training corpora. The bytes do not depend on the number of workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from generators.files.atomic import atomic_folder
from generators.microworld.annotate import annotate, image_path, write_annotations
from generators.microworld.corpora import IMAGES_PER_SCENE, Example, make_examples, write_corpus
from generators.microworld.rendering.images import render_jpeg
from generators.microworld.scene import Scene
from generators.microworld.scenes.held_out import choose_held_out
from generators.microworld.scenes.splits import TEST_IDS, sample_test_scene, sample_training_scene, training_ids
from generators.pipeline import stage
from generators.pipeline.params import read_params
from generators.schemas.corpus_names import CORPORA

FOLDER = Path("sources/microworld")
WORKERS = 2
T = TypeVar("T")


@dataclass(frozen=True)
class Params:
    """The block ``microworld`` of params.yaml.

    ``train_images`` is the number of images per corpus, and ``train_size`` their width and height in pixels.
    ``unseen_renderings`` is the share of test scenes whose drawings no training scene shows.
    """

    seed: int
    test_images: int
    train_images: int
    train_size: int
    annotation_recall: float
    unseen_renderings: float = 0.0

    @classmethod
    def read(cls) -> Params:
        try:
            return cls(**read_params("microworld"))
        except TypeError as error:
            raise ValueError(f"params.yaml, microworld: {error}; expected {', '.join(cls.__annotations__)}.") from None


def build(folder: Path, params: Params, workers: int = WORKERS) -> None:
    """Write the folder atomically."""
    with atomic_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        ids = TEST_IDS[: params.test_images]
        images = _map(
            pool, partial(_evaluation_image, params.seed, params.unseen_renderings), ids, "microworld test scenes"
        )
        scenes = list(write_images(scratch, images))
        with (scratch / "truth.jsonl").open("w") as lines:
            lines.writelines(json.dumps(scene.to_json()) + "\n" for scene in scenes)
        write_annotations(annotate(scenes, params.seed, params.annotation_recall), scratch)
        for index, corpus in enumerate(CORPORA):
            ids = training_ids(index, -(-params.train_images // IMAGES_PER_SCENE))
            examples = partial(_training_examples, params.seed, corpus, params.train_size)
            examples_by_scene = _map(pool, examples, ids, f"microworld {corpus}")
            write_corpus(
                scratch / "corpora" / corpus, islice(chain.from_iterable(examples_by_scene), params.train_images)
            )
            rules = json.dumps(choose_held_out(params.seed, corpus).to_json(), indent=1)
            (scratch / "corpora" / corpus / "left_out.json").write_text(rules + "\n")


def write_images(folder: Path, images: Iterable[tuple[Scene, bytes]]) -> Iterator[Scene]:
    """Write the JPEG files of (scene, file content) pairs and yield the scenes."""
    for scene, jpeg in images:
        path = folder / image_path(scene.image_id)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg)
        yield scene


def render_full_size(scene: Scene) -> bytes:
    return render_jpeg(scene, (scene.width, scene.height), subsampling="4:4:4")


def _evaluation_image(seed: int, unseen_renderings: float, image_id: int) -> tuple[Scene, bytes]:
    scene = sample_test_scene(seed, image_id, unseen_renderings)
    return scene, render_full_size(scene)


def _training_examples(seed: int, corpus: str, size: int, image_id: int) -> list[Example]:
    return make_examples(seed, sample_training_scene(seed, corpus, image_id), size)


def _map(pool: ProcessPoolExecutor, function: Callable[[int], T], ids: Sequence[int], title: str) -> Iterable[T]:
    """Apply a function to each id in worker processes; show a progress bar."""
    return tqdm(pool.map(function, ids, chunksize=50), title, total=len(ids), unit="img", mininterval=1)


def main() -> None:
    build(FOLDER, Params.read())


if __name__ == "__main__":
    stage.run(main)
