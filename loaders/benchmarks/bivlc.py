"""Read BiVLC: two images and two captions, each caption of SugarCrepe with an image of its negative.

    test-*.parquet (with images) -> config main; chance: text (I2T) 1/4, image (T2I) 1/4, group 1/6

Source: Miranda et al. 2024 (arXiv:2406.09952), https://huggingface.co/datasets/imirandam/BiVLC. The authors' I2T score
is Winoground's text score, and their T2I score its image score.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, Score, huggingface
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, get_fields, read_each
from loaders.published.tables import name_image, read_table

TEXTS = ("caption", "negative_caption", "type", "subtype")
IMAGES = ("image", "negative_image")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""

    def row(numbered: tuple[int, dict[str, Any]]) -> Row:
        number, item = numbered
        images = tuple(name_image(name, number, column) for column in IMAGES)
        kind = str(item["type"])
        categories = (("type", kind), ("subtype", f"{kind} {item['subtype']}"))
        captions = (item["caption"], item["negative_caption"])
        return Row("main", images, captions, image_id=images[0], categories=categories)

    return read_each(read_table(path, TEXTS), row)


def recognise(name: str, items: list[Any]) -> str | None:
    """ColorSwap and Winoground have the same file names."""
    return name if {*TEXTS, *IMAGES} <= get_fields(items) else None


SOURCE = "the authors' file of results, computed over all rows"
BENCHMARK = Benchmark(
    title="BiVLC",
    asks="Which of two captions belongs to which of two images, one of COCO and one generated from a negative caption?",
    year=2024,
    paper="Miranda et al. 2024, BiVLC, NeurIPS Datasets and Benchmarks, arXiv:2406.09952",
    homepage="https://huggingface.co/datasets/imirandam/BiVLC",
    licence="MIT; images: COCO, under their Flickr licences, and generated",
    licence_id="mit",
    files={"test-*.parquet": ImageSet("bivlc", (), bytes_per_image=91_500, columns=IMAGES)},
    downloads=huggingface(
        "imirandam/BiVLC",
        "0c504074819f3fa83d5d3f37018f8b43c05bda82",
        {
            "data/test-00000-of-00002-23fe2e02660e9182.parquet": (
                270932780,
                "9469ea7a364e75c0ef40614bf41a2904401440b93cf3d6939f8a9a768b1a9ecc",
            ),
            "data/test-00001-of-00002-14f2e7301669b3c1.parquet": (
                265877499,
                "5e7a5f8f7e98744df9c855b7e81e1eaa5caa6e15599ce906a66f9dec1b783649",
            ),
        },
    ),
    read=read,
    recognise=recognise,
    schema=GROUP_SCHEMA,
    rows={"main": 2933},
    image_count=5866,
    split_files=True,
    chance={"*": 1 / 6},
    untested=True,
    flaws=(Flaw("all rows", "one image is a photograph and the other one generated", "the authors, section 3"),),
    scores=tuple(
        Score("ViT-B-32-quickgelu/openai", "main", metric, percent, SOURCE)
        for metric, percent in (("text_score", 75.83), ("image_score", 52.40), ("group_score", 49.06))
    ),
)
