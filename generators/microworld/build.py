"""Build the micro-world, a synthetic source in the formats of Visual Genome, GQA and COCO (stage ``sources``).

    python -m compeval.generators.microworld.build                # stage `sources`; writes sources/microworld/
    python -m compeval.generators.microworld.build --corpus laion # stage `corpora`; writes corpora/microworld/laion/

The first folder contains the images and annotations of the test scenes, and the complete scenes (``truth.jsonl``, read
only by the oracle). The bytes do not depend on the number of workers.
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

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_settings
from compeval.base.schemas.corpus_names import CORPORA
from compeval.generators.microworld.annotate import annotate, image_path, write_annotations
from compeval.generators.microworld.corpora import (
    IMAGES_PER_SCENE,
    Example,
    make_examples,
    write_corpus,
)
from compeval.generators.microworld.rendering.images import render_jpeg
from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.scenes.held_out import choose_held_out
from compeval.generators.microworld.scenes.splits import (
    TEST_IDS,
    sample_test_scene,
    sample_training_scene,
    training_ids,
)

FOLDER = Path("sources/microworld")
CORPORA_FOLDER = Path("corpora/microworld")
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
        return read_settings(cls, "microworld")


def build(folder: Path, params: Params, workers: int = WORKERS) -> None:
    """Write the images, annotations and complete scenes of the test scenes atomically."""
    with atomic_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        ids = TEST_IDS[: params.test_images]
        images = _map(
            pool,
            partial(_evaluation_image, params.seed, params.unseen_renderings),
            ids,
            "microworld test scenes",
        )
        scenes = list(write_images(scratch, images))
        with (scratch / "truth.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(scene.to_json()) + "\n" for scene in scenes)
        write_annotations(annotate(scenes, params.seed, params.annotation_recall), scratch)


def build_corpus(folder: Path, corpus: str, params: Params, workers: int = WORKERS) -> None:
    """Write the shards of a training corpus, and what it leaves out (``left_out.json``), atomically."""
    ids = training_ids(list(CORPORA).index(corpus), -(-params.train_images // IMAGES_PER_SCENE))
    make_examples = partial(_training_examples, params.seed, corpus, params.train_size)
    with atomic_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        examples_by_scene = _map(pool, make_examples, ids, f"microworld {corpus}")
        write_corpus(scratch, islice(chain.from_iterable(examples_by_scene), params.train_images))
        rules = json.dumps(choose_held_out(params.seed, corpus).to_json(), indent=1)
        (scratch / "left_out.json").write_text(rules + "\n", encoding="utf-8")


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


def _map(
    pool: ProcessPoolExecutor, function: Callable[[int], T], ids: Sequence[int], title: str
) -> Iterable[T]:
    """Apply a function to each id in worker processes; show a progress bar."""
    return tqdm(
        pool.map(function, ids, chunksize=50), title, total=len(ids), unit="img", mininterval=1
    )


def main(corpus: str | None = None) -> None:
    """Write the test scenes, or with --corpus a training corpus: cc12m, yfcc or laion."""
    if corpus is None:
        build(FOLDER, Params.read())
    elif corpus in CORPORA:
        build_corpus(CORPORA_FOLDER / corpus, corpus, Params.read())
    else:
        raise ValueError(f"--corpus {corpus}: expected {', '.join(CORPORA)}.")


if __name__ == "__main__":
    stage.run(main)
