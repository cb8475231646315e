"""ImageCoDe: which of ten similar images does a caption describe?

    valid_data.json -> config valid; chance 1/10

Source: Krojer et al. 2022 (arXiv:2203.15867), https://github.com/McGill-NLP/imagecode. The file is an object {set:
{index of the image: caption}}. Sets whose name begins with open-images are static images, all others are frames of a
video. The captions of the test split are published without the truth.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.base.files.untrusted import safe_name
from compeval.base.readers.records import stream_records
from compeval.loaders.published import (
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
    Unusable,
    image_choice_schema,
)
from compeval.loaders.published.rows import read_each

IMAGES = 10
INDICES = tuple(map(str, range(IMAGES)))


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of the file, in order."""

    def make_row(images: str, index: str, caption: str) -> Row:
        if index not in INDICES:
            raise ValueError(f"the index of the image is not one of 0 to {IMAGES - 1}")
        order = (index, *(other for other in INDICES if other != index))
        names = tuple(f"{safe_name(images)}/{other}" for other in order)
        kind = "static" if images.startswith("open-images") else "video"
        return Row(
            "valid", names, (caption,), image_id=images, categories=(("kind of images", kind),)
        )

    for images, captions in stream_records(path):
        if isinstance(captions, dict):
            yield from read_each(
                captions.items(), lambda entry, images=images: make_row(images, *entry)
            )
        else:
            yield Unusable("the captions of a set are not an object")


def select(folder: Path, name: str) -> Path | None:
    """Return the image with this index in its set. The files are named after frame numbers: img0.jpg, img7.jpg."""
    images, _, index = name.rpartition("/")
    frames = {
        int(path.stem[3:]): path
        for path in (folder / images).glob("img*.jpg")
        if path.stem[3:].isdecimal()
    }
    return frames[sorted(frames)[int(index)]] if len(frames) == IMAGES else None


def recognise(name: str, items: list[Any]) -> str | None:
    """Recognise renamed files. The training file has the same format."""
    is_set = bool(items) and all(
        isinstance(item, dict) and item and item.keys() <= {*INDICES} for item in items
    )
    return "valid_data.json" if is_set and "train" not in name else None


IMAGE_ARCHIVES = (
    RemoteFile(
        url="https://drive.usercontent.google.com/download?id=1OIKNyU0F9lThbaZZ3Jvm7AlF94n1MzDk&export=download&confirm=t",
        name="image-sets.zip",
        makes="image-sets",
    ),
)
BENCHMARK = Benchmark(
    description="Which of ten similar images, most of them frames of one video, does a caption "
    "describe?",
    year=2022,
    licence_id="mit",
    source=DataSource(
        title="ImageCoDe",
        homepage="https://github.com/McGill-NLP/imagecode",
        licence="MIT",
        citation="Krojer et al. 2022, Image Retrieval from Contextual Descriptions, ACL, "
        "arXiv:2203.15867",
        root="https://raw.githubusercontent.com/McGill-NLP/imagecode/609f07611aed2599f946c30d730f40a41af1079b/data",
        files=(
            RemoteFile(
                name="valid_data.json",
                size=321098,
                sha256="cb4b8482354ba9bac62b6e101f145f9e59722dcf3b3fd42583f5b6de12bc698a",
            ),
        ),
        image_archives=IMAGE_ARCHIVES,
    ),
    images=ImageSet("imagecode", ("image-sets",), archives=IMAGE_ARCHIVES, select=select),
    read_file=read,
    recognise_file=recognise,
    item="sets {index of the image, 0 to 9: caption}",
    schema=image_choice_schema(IMAGES),
    chance={"*": 1 / 10},
    tested=True,
    rows={"valid": 2302},
    image_count=10390,
)
