"""Zero-shot classification: images of one object each, labelled with the object's noun.

    python -m generators.classification        # reads params.yaml, block classification; writes classification/<config>

Configs:

- ``microworld``: micro-world scenes of one object, with the same number of images for every noun. No training or test
  scene has the same image ids.
- ``imagenet``: the user's copy of the ILSVRC 2012 validation images, in one folder per WordNet id. The class names are
  open_clip's.
- ``cifar10``, ``cifar100``: the user's copies of the binary versions. The Python versions are pickles, which can run
  code when they are opened.

Chance of top-1 accuracy: 1 / number of classes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from generators.microworld.captions.views import sample_region
from generators.microworld.rendering.images import render_jpeg
from generators.microworld.scenes.affordances import list_nouns
from generators.microworld.scenes.held_out import HeldOut
from generators.microworld.scenes.sampler import sample_scene
from generators.microworld.world import ALL_NOUNS
from generators.schemas.rows import classification_schema
from generators.storage import stage
from generators.storage.crops import read_size
from generators.storage.dataset import make_file_id, write_config
from generators.storage.params import read_params

FOLDER = Path("classification")
FIRST_ID = 20_000_000
"""First image id, larger than the image ids of all other scenes."""
SCENE_SIZE = (640, 480)
CIFAR_SIDE = 32
CIFAR = {"cifar10": ("test_batch.bin", "batches.meta.txt", 1), "cifar100": ("test.bin", "fine_label_names.txt", 2)}
"""Config -> file of the test images, file of the class names, number of label bytes before the pixels of an image.
The last of these bytes is the (fine) label."""


class LabelledImage(NamedTuple):
    """An image: either the bytes of an image file (``data``) or the ``path`` of a file, which is not copied."""

    image_id: str
    width: int
    height: int
    label: int
    data: bytes | None = None
    path: Path | None = None


class LabelledSet(NamedTuple):
    class_names: list[str]
    images: Iterator[LabelledImage]


def make_microworld_set(seed: int, images_per_noun: int, nouns: Sequence[str] = ALL_NOUNS) -> LabelledSet:
    """Draw ``images_per_noun`` images of every noun; the images are drawn when they are iterated."""
    images = (
        draw_image(seed, FIRST_ID + label * images_per_noun + number, noun, label)
        for label, noun in enumerate(nouns)
        for number in range(images_per_noun)
    )
    return LabelledSet(list(nouns), images)


def draw_image(seed: int, image_id: int, noun: str, label: int) -> LabelledImage:
    """Draw a scene with one object of the noun, and cut out a region around the object."""
    width, height = SCENE_SIZE
    scene = sample_scene(
        seed, image_id, width=width, height=height, n_objects=1, forbidden=HeldOut.all_nouns_except([noun])
    )
    view = sample_region(scene, [item.id for item in scene.objects], Random(f"{seed}:{image_id}:view"))
    size = int(view.width), int(view.height)
    return LabelledImage(str(image_id), *size, label, render_jpeg(scene, size, view))


def read_imagenet(folder: Path) -> LabelledSet:
    """Return the validation images. Raises ValueError if ``folder`` does not have 1,000 class folders."""
    from open_clip import IMAGENET_CLASSNAMES

    classes = sorted(path for path in folder.glob("n*") if path.is_dir())
    if len(classes) != len(IMAGENET_CLASSNAMES):
        raise ValueError(
            f"{folder}: {len(classes)} folders named by WordNet ids, {len(IMAGENET_CLASSNAMES):,} expected. Sort the "
            "validation images of ILSVRC 2012 into one folder per class."
        )
    files = (
        (label, path) for label, class_folder in enumerate(classes) for path in sorted(class_folder.glob("*.JPEG"))
    )
    return LabelledSet(list(IMAGENET_CLASSNAMES), (_make_file_reference(label, path) for label, path in files))


def _make_file_reference(label: int, path: Path) -> LabelledImage:
    return LabelledImage(path.stem, *read_size(path), label, path=path.resolve())


def read_cifar(name: str, folder: Path) -> LabelledSet:
    """Return the test images of ``cifar10`` or ``cifar100`` with their (fine) labels.

    Raises FileNotFoundError if a file is missing and ValueError if the file of the images is cut off.
    """
    image_file, class_file, label_bytes = CIFAR[name]
    for path in (folder / image_file, folder / class_file):
        if not path.is_file():
            raise FileNotFoundError(
                f"{path}: not found. Unpack CIFAR's binary version, and name its folder in params.yaml, "
                "classification.own_copies."
            )
    records = np.fromfile(folder / image_file, dtype=np.uint8)
    length = label_bytes + 3 * CIFAR_SIDE**2
    if len(records) % length:
        raise ValueError(
            f"{folder / image_file}: {len(records):,} bytes, a multiple of {length:,} expected (one record per image)."
        )
    images = (
        LabelledImage(
            f"{number:05d}", CIFAR_SIDE, CIFAR_SIDE, int(record[label_bytes - 1]), _encode_png(record[label_bytes:])
        )
        for number, record in enumerate(records.reshape(-1, length))
    )
    return LabelledSet([line.replace("_", " ") for line in (folder / class_file).read_text().split()], images)


def _encode_png(pixels: np.ndarray) -> bytes:
    """Return the PNG file of a record's pixels: all red values, then green, then blue, each row by row."""
    image = pixels.reshape(3, CIFAR_SIDE, CIFAR_SIDE).transpose(1, 2, 0)
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return stream.getvalue()


OWN_COPIES = {"imagenet": read_imagenet, **{name: partial(read_cifar, name) for name in CIFAR}}


def make_rows(source: str, images: Iterator[LabelledImage], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``classification_schema``."""
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


def main(themes: str = "", output: Path = Path()) -> None:
    """Build the micro-world's config in the folder OUTPUT, and a config for each set in params.yaml, own_copies.

    With THEMES (comma-separated), build only the micro-world's config, from the nouns of these themes.
    """
    params = read_params("classification")
    copies = {} if themes else params["own_copies"] or {}
    if unknown := sorted(copies.keys() - OWN_COPIES):
        raise ValueError(f"params.yaml, classification: unknown set {unknown[0]!r}; known: {', '.join(OWN_COPIES)}.")
    sets = {"microworld": make_microworld_set(params["seed"], params["images"], list_nouns(themes))}
    sets |= {name: OWN_COPIES[name](Path(folder)) for name, folder in copies.items()}
    for name, (class_names, images) in sets.items():
        schema = classification_schema(class_names)
        write_config(output / FOLDER, name, {"test": make_rows(name, images, params["seed"])}, schema)


if __name__ == "__main__":
    stage.run(main)
