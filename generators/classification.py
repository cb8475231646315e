"""Zero-shot classification: images of one object each, and the object's name.

    python -m generators.classification        # params.yaml, block classification: writes classification/<config>

``microworld``: scenes of one object, the same number of every noun, with image ids that no training or test scene has.
From the user's own copies, in their published formats: ``imagenet`` (the ILSVRC 2012 validation images in one folder
per WordNet id, with open_clip's class names), ``cifar10`` and ``cifar100`` (the binary versions; the Python versions
are pickles).
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
from generators.microworld.rendering.pictures import render_jpeg
from generators.microworld.scenes.affordances import THEMES
from generators.microworld.scenes.held_out import HeldOut
from generators.microworld.scenes.sampler import sample_scene
from generators.microworld.world import ALL_NOUNS
from generators.schemas.rows import classification_schema
from generators.storage import stage
from generators.storage.dataset import make_file_id, write_config
from generators.storage.params import read_params

FOLDER = Path("classification")
FIRST_ID = 20_000_000
"""Larger than the image ids of all other scenes."""
SCENE_SIZE = (640, 480)
CIFAR_SIDE = 32
CIFAR = {"cifar10": ("test_batch.bin", "batches.meta.txt", 1), "cifar100": ("test.bin", "fine_label_names.txt", 2)}
"""File of the test images, file of the class names, bytes of labels before the pixels; the last byte is the label."""


class LabelledImage(NamedTuple):
    """An image as encoded bytes (``data``) or as a file that stays where it is (``path``)."""

    image_id: str
    width: int
    height: int
    label: int
    data: bytes | None = None
    path: Path | None = None


class LabelledSet(NamedTuple):
    class_names: list[str]
    images: Iterator[LabelledImage]


def make_microworld_set(seed: int, per_noun: int, nouns: Sequence[str] = ALL_NOUNS) -> LabelledSet:
    """``per_noun`` images of every noun."""
    numbered = (
        (FIRST_ID + label * per_noun + number, noun, label)
        for label, noun in enumerate(nouns)
        for number in range(per_noun)
    )
    return LabelledSet(list(nouns), (draw_image(seed, *item) for item in numbered))


def draw_image(seed: int, image_id: int, noun: str, label: int) -> LabelledImage:
    """An image of one object of the noun and its surroundings."""
    others = HeldOut(nouns=frozenset(ALL_NOUNS) - {noun})
    width, height = SCENE_SIZE
    scene = sample_scene(seed, image_id, width=width, height=height, n_objects=1, forbidden=others)
    view = sample_region(scene, [item.id for item in scene.objects], Random(f"{seed}:{image_id}:view"))
    size = int(view.width), int(view.height)
    return LabelledImage(str(image_id), *size, label, render_jpeg(scene, size, view))


def read_imagenet(folder: Path) -> LabelledSet:
    """The validation images. ValueError for a folder that does not have 1,000 folders of images."""
    from open_clip import IMAGENET_CLASSNAMES

    classes = sorted(path for path in folder.glob("n*") if path.is_dir())
    if len(classes) != len(IMAGENET_CLASSNAMES):
        raise ValueError(
            f"{folder}: {len(classes)} folders named by WordNet ids, {len(IMAGENET_CLASSNAMES):,} expected. Sort the "
            "validation images of ILSVRC 2012 into one folder for each class."
        )
    files = ((label, path) for label, of_class in enumerate(classes) for path in sorted(of_class.glob("*.JPEG")))
    return LabelledSet(list(IMAGENET_CLASSNAMES), (_on_disk(label, path) for label, path in files))


def _on_disk(label: int, path: Path) -> LabelledImage:
    with Image.open(path) as image:
        return LabelledImage(path.stem, *image.size, label, path=path.resolve())


def read_cifar(name: str, folder: Path) -> LabelledSet:
    """The test images of ``cifar10`` or ``cifar100`` with their fine labels."""
    batch, names, label_bytes = CIFAR[name]
    for needed in (folder / batch, folder / names):
        if not needed.is_file():
            raise FileNotFoundError(f"{needed}: not found. Unpack CIFAR's binary version, and name its folder.")
    records = np.fromfile(folder / batch, dtype=np.uint8)
    length = label_bytes + 3 * CIFAR_SIDE**2
    if len(records) % length:
        raise ValueError(f"{folder / batch}: {len(records):,} bytes are not a whole number of {length:,}-byte records.")
    images = (
        LabelledImage(
            f"{number:05d}", CIFAR_SIDE, CIFAR_SIDE, int(record[label_bytes - 1]), _cifar_png(record[label_bytes:])
        )
        for number, record in enumerate(records.reshape(-1, length))
    )
    return LabelledSet([line.replace("_", " ") for line in (folder / names).read_text().split()], images)


def _cifar_png(pixels: np.ndarray) -> bytes:
    image = pixels.reshape(3, CIFAR_SIDE, CIFAR_SIDE).transpose(1, 2, 0)
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return stream.getvalue()


OWN_COPIES = {"imagenet": read_imagenet, **{name: partial(read_cifar, name) for name in CIFAR}}


def make_rows(source: str, images: Iterator[LabelledImage], seed: int) -> Iterator[dict[str, Any]]:
    """Rows of ``classification_schema``."""
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


def list_nouns(themes: str) -> tuple[str, ...]:
    """The micro-world's nouns of any of the comma-separated themes; all nouns if there is no theme."""
    if not themes:
        return ALL_NOUNS
    names = themes.split(",")
    if unknown := sorted(set(names) - set(THEMES)):
        raise ValueError(f"--themes: unknown {', '.join(unknown)}; known: {', '.join(THEMES)}.")
    return tuple(noun for noun in ALL_NOUNS if any(noun in THEMES[name] for name in names))


def main(themes: str = "", output: Path = Path()) -> None:
    """Build the micro-world's config in the folder OUTPUT, and one config per copy that params.yaml names.

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
