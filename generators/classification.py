"""Build the datasets for zero-shot classification: images with one class label each.

    # reads params.yaml, block classification; writes classification/<config>
    python -m compeval.generators.classification

Configs:

- ``microworld``: micro-world scenes of one object. The classes are the nouns, and each noun has the same number of
  images. Image ids do not overlap with the ids of training and test scenes.
- ``imagenet``: the user's copy of the ILSVRC 2012 validation images, in one folder per WordNet id. The class names are
  open_clip's.
- ``cifar10``, ``cifar100``: the user's copies of the binary versions. The Python versions are not supported: they are
  pickle files, which can run code when they are opened.

Each config has the split ``test``, whose prompts are made from the class names, and variants with the same images and
the prompts of Kumar et al. 2024 (Compun, appendix A.2, Table 3): ``test.examples.5`` (example captions) and, if a
language model has described all classes, ``test.descriptors``. ``compeval examples classes.txt --ask`` requests the
captions.

Chance of top-1 accuracy: 1 / number of classes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.schemas.rows import classification_schema
from compeval.base.storage.crops import read_size
from compeval.base.storage.dataset import make_file_id, write_split
from compeval.generators.captioner import class_descriptors, example_captions
from compeval.generators.llm.client import Cache, Endpoint
from compeval.generators.llm.questions import read_cached_items
from compeval.generators.microworld.captions.views import sample_region
from compeval.generators.microworld.rendering.images import render_jpeg
from compeval.generators.microworld.scenes.affordances import list_nouns
from compeval.generators.microworld.scenes.held_out import HeldOut
from compeval.generators.microworld.scenes.sampler import sample_scene
from compeval.generators.microworld.world import ALL_NOUNS

FOLDER = Path("classification")
FIRST_ID = 20_000_000
"""First image id. The image ids of training and test scenes are smaller (scenes/splits.py)."""
SCENE_SIZE = (640, 480)
CIFAR_SIDE = 32
CIFAR = {
    "cifar10": ("test_batch.bin", "batches.meta.txt", 1),
    "cifar100": ("test.bin", "fine_label_names.txt", 2),
}
"""Config -> (file of the test images, file of the class names, number of label bytes of an image).

Each image is a record of label bytes followed by pixels. The last label byte is the class index (CIFAR-100: of the fine
class, not of its superclass)."""


class LabelledImage(NamedTuple):
    """An image and its class. Either ``data`` or ``path`` is set."""

    image_id: str
    width: int
    height: int
    label: int
    """Class index."""
    data: bytes | None = None
    """Content of the image file, which is copied to the dataset."""
    path: Path | None = None
    """Path of the image file. The dataset contains only the path."""


class LabelledSet(NamedTuple):
    """Images, and the name of each class by its index."""

    class_names: list[str]
    images: Iterator[LabelledImage]


def make_microworld_set(
    seed: int, images_per_noun: int, nouns: Sequence[str] = ALL_NOUNS
) -> LabelledSet:
    """Return ``images_per_noun`` images of every noun. They are rendered during iteration."""
    images = (
        render_image(seed, FIRST_ID + label * images_per_noun + number, noun, label)
        for label, noun in enumerate(nouns)
        for number in range(images_per_noun)
    )
    return LabelledSet(list(nouns), images)


def render_image(seed: int, image_id: int, noun: str, label: int) -> LabelledImage:
    """Sample a scene with one object of the noun, and render a region around the object."""
    width, height = SCENE_SIZE
    scene = sample_scene(
        seed,
        image_id,
        width=width,
        height=height,
        n_objects=1,
        forbidden=HeldOut.all_nouns_except([noun]),
    )
    view = sample_region(
        scene, [item.id for item in scene.objects], Random(f"{seed}:{image_id}:view")
    )
    size = int(view.width), int(view.height)
    return LabelledImage(str(image_id), *size, label, render_jpeg(scene, size, view))


def read_imagenet(folder: Path) -> LabelledSet:
    """Return the validation images. Raises ValueError if ``folder`` does not contain exactly 1,000 class folders."""
    from open_clip import IMAGENET_CLASSNAMES

    classes = sorted(path for path in folder.glob("n*") if path.is_dir())
    if len(classes) != len(IMAGENET_CLASSNAMES):
        raise ValueError(
            f"{folder}: found {len(classes):,} folders named by WordNet ids, {len(IMAGENET_CLASSNAMES):,} expected. "
            "Move the validation images of ILSVRC 2012 into one folder per class."
        )
    images = (
        LabelledImage(path.stem, *read_size(path), label, path=path.resolve())
        for label, class_folder in enumerate(classes)
        for path in sorted(class_folder.glob("*.JPEG"))
    )
    return LabelledSet(list(IMAGENET_CLASSNAMES), images)


def read_cifar(name: str, folder: Path) -> LabelledSet:
    """Return the test images of ``cifar10`` or ``cifar100``.

    Raises FileNotFoundError if a file is missing. Raises ValueError if the size of the image file is not a multiple of
    the size of a record, for example because the file is truncated.
    """
    image_file, class_file, label_bytes = CIFAR[name]
    for path in (folder / image_file, folder / class_file):
        if not path.is_file():
            raise FileNotFoundError(
                f"{path}: not found. Unpack CIFAR's binary version and set its path in params.yaml "
                "(classification.own_copies)."
            )
    records = np.fromfile(folder / image_file, dtype=np.uint8)
    record_size = label_bytes + 3 * CIFAR_SIDE**2
    if len(records) % record_size:
        raise ValueError(
            f"{folder / image_file}: size is {len(records):,} bytes, expected a multiple of {record_size:,} (one "
            "record per image). Unpack CIFAR's binary version again."
        )
    images = (
        LabelledImage(
            f"{number:05d}",
            CIFAR_SIDE,
            CIFAR_SIDE,
            int(record[label_bytes - 1]),
            _encode_png(record[label_bytes:]),
        )
        for number, record in enumerate(records.reshape(-1, record_size))
    )
    return LabelledSet(
        [
            line.replace("_", " ")
            for line in (folder / class_file).read_text(encoding="utf-8").split()
        ],
        images,
    )


def _encode_png(pixels: np.ndarray) -> bytes:
    """Encode the pixels of a record as a PNG file.

    A record contains all red values, then all green values, then all blue values. Each colour is stored row by row.
    """
    image = pixels.reshape(3, CIFAR_SIDE, CIFAR_SIDE).transpose(1, 2, 0)
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return stream.getvalue()


READERS = {"imagenet": read_imagenet, **{name: partial(read_cifar, name) for name in CIFAR}}
"""Config -> function that reads the folder with the user's copy."""


def make_rows(source: str, images: Iterable[LabelledImage], seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row of ``classification_schema`` per image."""
    for image in images:
        path = None if image.path is None else str(image.path)
        yield {
            "image": {"bytes": image.data, "path": path},
            "crop_id": make_file_id(image.data or str(path).encode()),
            "image_id": image.image_id,
            "x": 0.0,
            "y": 0.0,
            "width": float(image.width),
            "height": float(image.height),
            "label": image.label,
            "provenance": {"source": source, "captioner": None, "seed": seed},
        }


def make_prompts(
    names: Sequence[str], endpoint: Endpoint | None, answers: Path
) -> dict[str, list[list[str]]]:
    """Return variant -> prompts of each class. ``answers``: folder of a language model's cached answers.

    Without a language model, a grammar writes the example captions.
    """
    examples = example_captions.example_captions(names, endpoint=endpoint, answers=answers)
    count = example_captions.CAPTIONS_PER_CLASS
    prompts = {
        f"examples.{count}": [
            example_captions.make_prompts(name, examples[name].captions) for name in names
        ]
    }
    if endpoint is not None:
        number = class_descriptors.DESCRIPTORS_PER_CLASS
        cache = Cache([answers])
        answered = [
            read_cached_items(class_descriptors.DESCRIPTORS, name, number, endpoint, cache).items
            for name in names
        ]
        if all(len(items) == number for items in answered):
            prompts["descriptors"] = [
                class_descriptors.make_prompts(name, items)
                for name, items in zip(names, answered, strict=True)
            ]
    return prompts


def write_set(
    folder: Path, labelled: LabelledSet, prompts: Mapping[str, list[list[str]]], seed: int
) -> None:
    """Write a config with one split per kind of prompt to ``folder``, whose name is the config's."""
    names = labelled.class_names
    images = list(labelled.images)
    schemas = {"test": classification_schema(names)}
    schemas |= {
        f"test.{variant}": classification_schema(names, texts) for variant, texts in prompts.items()
    }
    with atomic_folder(folder) as scratch:
        for split, schema in schemas.items():
            write_split(scratch, split, make_rows(folder.name, images, seed), schema)


def main(themes: str = "", output: Path = Path()) -> None:
    """Write the config "microworld" and one config per copy listed in params.yaml (classification.own_copies).

    The configs are written to OUTPUT/classification. With THEMES (names separated by commas), only "microworld" is
    written, with the nouns of these themes as classes.
    """
    params = read_params("classification")
    copies = {} if themes else params["own_copies"] or {}
    if unknown := sorted(copies.keys() - READERS):
        raise ValueError(
            f"params.yaml, classification.own_copies: unknown data set {unknown[0]!r}, expected one of "
            f"{', '.join(READERS)}."
        )
    sets = {"microworld": make_microworld_set(params["seed"], params["images"], list_nouns(themes))}
    sets |= {name: READERS[name](Path(folder)) for name, folder in copies.items()}
    endpoint = Endpoint(**params["captioner"]) if params["captioner"] else None
    for name, labelled in sets.items():
        prompts = make_prompts(labelled.class_names, endpoint, Path("data/llm"))
        write_set(output / FOLDER / name, labelled, prompts, params["seed"])


if __name__ == "__main__":
    stage.run(main)
