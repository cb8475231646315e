"""COLA's multi-object task: two images and two captions, of which each describes one image.

    COLA_multiobjects_matching_benchmark.json -> config multi_object; chance of the image score 1/4

Source: Ray et al. 2023 (arXiv:2305.03689), https://github.com/arijitray1993/COLA. A row is a list [image 1, caption 1,
image 2, caption 2] with URLs of copies of Visual Genome's images. The authors' accuracy is Winoground's image score:
each caption scores higher with its image. Rows of the same pair of images are one cluster. The single-object task (a
mean average precision) is not read.
"""

from pathlib import PurePosixPath

from compeval.loaders.published import (
    GROUP_SCHEMA,
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)


def make_row(item: list[str], file: str) -> Row:
    image_0, caption_0, image_1, caption_1 = item
    if not all(url.startswith(("http://", "https://")) for url in (image_0, image_1)):
        raise ValueError("an image is not a URL")
    images = tuple(PurePosixPath(url).name for url in (image_0, image_1))
    pair = "_".join(sorted(PurePosixPath(name).stem for name in images))
    return Row("multi_object", images, (caption_0, caption_1), image_id=pair)


BENCHMARK = Benchmark(
    description="Which of two images does a caption of several objects with attributes describe?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="COLA, multi-object",
        homepage="https://github.com/arijitray1993/COLA",
        licence="MIT; images CC BY 4.0 (Visual Genome)",
        citation="Ray et al. 2023, Cola, NeurIPS Datasets and Benchmarks, arXiv:2305.03689",
        root="https://raw.githubusercontent.com/arijitray1993/COLA/1fa52fba9cff4e6ffb7bfcf3550838748347273b/data",
        files=(
            RemoteFile(
                name="COLA_multiobjects_matching_benchmark.json",
                size=56746,
                sha256="e2846dcc958e3277813ca572bce53db96fd5dd65caaa57ccd20dc1ce51d73ec0",
            ),
        ),
    ),
    images=VISUAL_GENOME,
    make_row=make_row,
    item="lists [URL of image 1, caption 1, URL of image 2, caption 2]",
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
    tested=True,
    unseen="the three files of single objects, which are not read",
    rows={"multi_object": 210},
    image_count=218,
    flaws=(
        Flaw(
            rows="200 of 210 rows", what="the captions do not have the same words", source="counted"
        ),
    ),
)
