"""Read VisMin: two images that differ in one object, attribute, count or relation, with one caption each.

    data-*.arrow or test/*.parquet (with images) -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Awal et al. 2024 (arXiv:2407.16772), https://huggingface.co/datasets/mair-lab/vismin-bench. The authors score as
Winoground does, by category.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, huggingface
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, get_fields, read_each
from loaders.published.tables import name_image, read_table

TEXTS = ("text_0", "text_1", "category")
IMAGES = ("image_0", "image_1")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""

    def row(numbered: tuple[int, dict[str, Any]]) -> Row:
        number, item = numbered
        images = tuple(name_image(name, number, column) for column in IMAGES)
        captions = (item["text_0"], item["text_1"])
        return Row("main", images, captions, image_id=images[0], categories=(("category", str(item["category"])),))

    return read_each(read_table(path, TEXTS), row)


def recognise(name: str, items: list[Any]) -> str | None:
    """``datasets`` gives all datasets the same file names."""
    return name if {*TEXTS, *IMAGES} <= get_fields(items) else None


TABLE = ImageSet("vismin", (), bytes_per_image=361_000, columns=IMAGES)
BENCHMARK = Benchmark(
    title="VisMin",
    asks="Which of two captions belongs to which of two images that differ in an object, attribute or relation?",
    year=2024,
    paper="Awal et al. 2024, VisMin, NeurIPS, arXiv:2407.16772",
    homepage="https://huggingface.co/datasets/mair-lab/vismin-bench",
    licence="CC BY 4.0; images: COCO, under their Flickr licences, and generated",
    licence_id="cc-by-4.0",
    files={"data-*.arrow": TABLE, "test/*.parquet": TABLE},
    downloads=huggingface(
        "mair-lab/vismin-bench",
        "2f379d5b9a3af7f10d3266f6389b7b351e54c493",
        {f"data/test/data-0000{part}-of-00003.arrow": (None, None) for part in range(3)},
    ),
    read=read,
    recognise=recognise,
    schema=GROUP_SCHEMA,
    rows={"main": 2084},
    image_count=4168,
    split_files=True,
    chance={"*": 1 / 6},
    untested=True,
    flaws=(Flaw("some rows", "images and captions are mixed up", "discussion 1 of the dataset on the Hub"),),
)
