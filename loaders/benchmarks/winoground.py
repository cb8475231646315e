"""Read Winoground: two images, and two captions with the same words in different order.

    examples.jsonl or test-*.parquet -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Thrush et al. 2022 (arXiv:2204.03162), 400 items. The repository on the Hub is gated and its licence does not
permit redistribution, so the dataset folder stays on the machine where it was built. Results are broken down by the
published tags and by caption length: at most five words, more than ten, and in between (Kamath et al. 2023,
arXiv:2305.14897, section 4.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark, huggingface
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, get_fields, read_each, read_lines
from loaders.published.tables import name_image, read_table

SHORT, LONG = 5, 10
REPOSITORY = "facebook/winoground"
TEXTS = ("id", "caption_0", "caption_1", "collapsed_tag", "secondary_tag")
IMAGES = ("image_0", "image_1")


def length_class(*captions: str) -> str:
    """Return the length class of an item, which is that of its longest caption in words."""
    words = max(len(caption.split()) for caption in captions)
    return f"at most {SHORT} words" if words <= SHORT else f"more than {LONG} words" if words > LONG else "between"


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the items in order."""
    if path.suffix == ".parquet":
        return read_each(read_table(path, TEXTS), lambda numbered: _row(numbered[1], _name_images(name, numbered[0])))
    return read_each(read_lines(path), lambda item: _row(item, _find_images(item)))


def recognise(name: str, items: list[Any]) -> str | None:
    """ColorSwap and BiVLC have the same file names."""
    return name if {*TEXTS, *IMAGES} <= get_fields(items) else None


def _row(item: dict[str, Any], images: tuple[str, ...]) -> Row:
    captions = (item["caption_0"], item["caption_1"])
    categories = (
        ("caption length", length_class(*captions) if all(isinstance(text, str) for text in captions) else ""),
        ("tag", str(item["collapsed_tag"])),
        ("secondary tag", str(item["secondary_tag"] or "none")),
    )
    return Row("main", images, captions, image_id=str(item["id"]), categories=categories)


def _find_images(item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{PurePosixPath(item[key]).name.removesuffix('.png')}.png" for key in IMAGES)


def _name_images(file: str, number: int) -> tuple[str, ...]:
    return tuple(name_image(file, number, column) for column in IMAGES)


(EXAMPLES, ARCHIVE) = huggingface(
    REPOSITORY, "main", {"data/examples.jsonl": (None, None), "data/images.zip": (None, None)}
)
BENCHMARK = Benchmark(
    title="Winoground",
    asks="Which of two captions with the same words in different order belongs to which of two images?",
    year=2022,
    paper="Thrush et al. 2022, Winoground, CVPR, arXiv:2204.03162",
    homepage=f"https://huggingface.co/datasets/{REPOSITORY}",
    licence="Meta's research licence for Winoground, without redistribution; gated",
    licence_id="other",
    files={
        "examples.jsonl": ImageSet("winoground", ("images", "data/images"), archives=(ARCHIVE,)),
        "test-*.parquet": ImageSet("winoground", (), columns=IMAGES),
    },
    downloads=(EXAMPLES,),
    read=read,
    recognise=recognise,
    schema=GROUP_SCHEMA,
    rows={"main": 400},
    image_count=800,
    split_files=True,
    chance={"*": 1 / 6},
)
