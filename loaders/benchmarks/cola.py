"""Read COLA's multi-object task: two images and two captions, of which each describes one image.

    COLA_multiobjects_matching_benchmark.json -> config multi_object; chance of the image score 1/4

Source: Ray et al. 2023 (arXiv:2305.03689), https://github.com/arijitray1993/COLA. A row is a list [image 1, caption 1,
image 2, caption 2] with URLs of copies of Visual Genome's images. The authors' accuracy is Winoground's image score:
each caption scores higher with its image. Rows of the same pair of images are one cluster. The single-object task (a
mean average precision) is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import VISUAL_GENOME
from loaders.published.rows import Row, Unusable, read_each, read_json


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of the file, in order."""

    def row(item: list[str]) -> Row:
        image_0, caption_0, image_1, caption_1 = item
        images = tuple(PurePosixPath(url).name for url in (image_0, image_1))
        pair = "_".join(sorted(PurePosixPath(name).stem for name in images))
        return Row("multi_object", images, (caption_0, caption_1), image_id=pair)

    return read_each(read_json(path), row)


BENCHMARK = Benchmark(
    title="COLA, multi-object",
    asks="Which of two images does a caption of several objects with attributes describe?",
    year=2023,
    paper="Ray et al. 2023, Cola, NeurIPS Datasets and Benchmarks, arXiv:2305.03689",
    homepage="https://github.com/arijitray1993/COLA",
    licence="MIT; images CC BY 4.0 (Visual Genome)",
    licence_id="mit",
    files={"COLA_multiobjects_matching_benchmark.json": VISUAL_GENOME},
    downloads=github(
        "arijitray1993/COLA",
        "1fa52fba9cff4e6ffb7bfcf3550838748347273b",
        {
            "COLA_multiobjects_matching_benchmark.json": (
                56746,
                "e2846dcc958e3277813ca572bce53db96fd5dd65caaa57ccd20dc1ce51d73ec0",
            )
        },
        folder="data",
    ),
    read=read,
    schema=GROUP_SCHEMA,
    rows={"multi_object": 210},
    image_count=218,
    chance={"*": 1 / 4},
    flaws=(Flaw("200 of 210 rows", "the captions do not have the same words", "counted"),),
)
