"""Zero-shot classification: pictures with one thing, and the name of what they show.

    python -m generators.classification        # params.yaml, block classification: writes classification/<config>

``microworld``: scenes of one thing each, as many of every noun, from image ids that no training or test scene has.
From a user's own copy, in the published formats: ``imagenet`` (ILSVRC 2012 validation images in a folder for each
WordNet id, named by open_clip's class names), ``cifar10`` and ``cifar100`` (the binary versions; the Python versions
are pickles).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from generators.microworld.captions.views import region_box
from generators.microworld.rendering.renderer import render
from generators.microworld.scenes.affordances import THEMES
from generators.microworld.scenes.held_out import HeldOut
from generators.microworld.scenes.sampler import sample_scene
from generators.microworld.world import ALL_NOUNS
from generators.schemas.rows import classification_schema
from generators.storage import stage
from generators.storage.crops import JPEG_QUALITY
from generators.storage.dataset import file_id, write_config
from generators.storage.params import block

FOLDER = Path("classification")
FIRST_ID = 20_000_000
"""Image ids lie above those of all other scenes."""
SCENE = (640, 480)
CIFAR_SIDE = 32


class Picture(NamedTuple):
    """Encoded bytes, or the path of a file that stays where it is."""

    name: str
    width: int
    height: int
    label: int
    data: bytes | None
    path: Path | None = None


class Classes(NamedTuple):
    names: list[str]
    pictures: Iterator[Picture]


def microworld(seed: int, images: int, nouns: Sequence[str] = ALL_NOUNS) -> Classes:
    """``images`` pictures of every noun."""
    return Classes(
        list(nouns),
        (
            draw(seed, FIRST_ID + label * images + number, noun, label)
            for label, noun in enumerate(nouns)
            for number in range(images)
        ),
    )


def draw(seed: int, image_id: int, noun: str, label: int) -> Picture:
    """A scene with nothing but one thing of the noun, and what surrounds it."""
    others = HeldOut(nouns=frozenset(ALL_NOUNS) - {noun})
    scene = sample_scene(seed, image_id, width=SCENE[0], height=SCENE[1], n_objects=1, forbidden=others)
    view = region_box(scene, [item.id for item in scene.objects], Random(f"{seed}:{image_id}:view"))
    size = int(view.width), int(view.height)
    return Picture(str(image_id), *size, label, _jpeg(render(scene, size, view)))


def imagenet(folder: Path) -> Classes:
    """The validation images, which stay where they are. ValueError if it is not a folder of 1,000 folders."""
    from open_clip import IMAGENET_CLASSNAMES

    classes = sorted(path for path in folder.glob("n*") if path.is_dir())
    if len(classes) != len(IMAGENET_CLASSNAMES):
        raise ValueError(
            f"{folder}: {len(classes)} folders named by WordNet ids, {len(IMAGENET_CLASSNAMES):,} expected. Sort the "
            "validation images of ILSVRC 2012 into one folder for each class."
        )
    files = ((label, path) for label, of_class in enumerate(classes) for path in sorted(of_class.glob("*.JPEG")))
    return Classes(list(IMAGENET_CLASSNAMES), (_on_disk(label, path) for label, path in files))


def _on_disk(label: int, path: Path) -> Picture:
    with Image.open(path) as image:
        return Picture(path.stem, *image.size, label, None, path.resolve())


def cifar10(folder: Path) -> Classes:
    """The test images of cifar-10-batches-bin: one byte of label, then 3 x 32 x 32 of pixels."""
    return _cifar(folder, "test_batch.bin", "batches.meta.txt", label_bytes=1)


def cifar100(folder: Path) -> Classes:
    """The test images of cifar-100-binary: coarse and fine label, then pixels; the fine label counts."""
    return _cifar(folder, "test.bin", "fine_label_names.txt", label_bytes=2)


def _cifar(folder: Path, batch: str, names_file: str, label_bytes: int) -> Classes:
    for needed in (folder / batch, folder / names_file):
        if not needed.is_file():
            raise FileNotFoundError(f"{needed}: not found. Unpack CIFAR's binary version, and name its folder.")
    names = (folder / names_file).read_text().split()
    records = np.fromfile(folder / batch, dtype=np.uint8)
    length = label_bytes + 3 * CIFAR_SIDE**2
    if len(records) % length:
        raise ValueError(f"{folder / batch}: {len(records):,} bytes are no whole number of records of {length:,}.")
    return Classes(
        [name.replace("_", " ") for name in names],
        (
            Picture(
                f"{number:05d}",
                CIFAR_SIDE,
                CIFAR_SIDE,
                int(record[label_bytes - 1]),
                _png(record[label_bytes:].reshape(3, CIFAR_SIDE, CIFAR_SIDE).transpose(1, 2, 0)),
            )
            for number, record in enumerate(records.reshape(-1, length))
        ),
    )


OWN_COPIES: dict[str, Callable[[Path], Classes]] = {"imagenet": imagenet, "cifar10": cifar10, "cifar100": cifar100}


def rows(source: str, classes: Classes, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of ``classification_schema``."""
    provenance = {"source": source, "captioner": None, "seed": seed}
    for picture in classes.pictures:
        content = picture.data if picture.data is not None else str(picture.path).encode()
        yield {
            "image": {"bytes": picture.data, "path": None if picture.path is None else str(picture.path)},
            "crop_id": file_id(content),
            "image_id": picture.name,
            "x": 0.0,
            "y": 0.0,
            "width": float(picture.width),
            "height": float(picture.height),
            "label": picture.label,
            "provenance": provenance,
        }


def _jpeg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=JPEG_QUALITY)
    return stream.getvalue()


def _png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, "PNG")
    return stream.getvalue()


def nouns_of(themes: str) -> tuple[str, ...]:
    """The micro-world's nouns that belong to one of the comma-separated themes; all nouns if there is no theme."""
    if not themes:
        return ALL_NOUNS
    names = themes.split(",")
    if unknown := sorted(set(names) - set(THEMES)):
        raise ValueError(f"--themes: unknown {', '.join(unknown)}; known: {', '.join(THEMES)}.")
    return tuple(noun for noun in ALL_NOUNS if any(noun in THEMES[name] for name in names))


def main(themes: str = "", output: Path = Path()) -> None:
    """Build the micro-world's config in the folder OUTPUT, and one config per copy that params.yaml names.

    With THEMES (comma-separated), build the micro-world's config only, from the nouns of these themes.
    """
    params = block("classification")
    seed, images, copies = params["seed"], params["images"], params["own_copies"] or {}
    found = {"microworld": microworld(seed, images, nouns_of(themes))}
    for name, folder in () if themes else copies.items():
        if name not in OWN_COPIES:
            raise ValueError(f"params.yaml, classification: unknown set {name!r}; known: {', '.join(OWN_COPIES)}.")
        found[name] = OWN_COPIES[name](Path(folder))
    for name, classes in found.items():
        write_config(output / FOLDER, name, {"test": rows(name, classes, seed)}, classification_schema(classes.names))


if __name__ == "__main__":
    stage.run(main)
