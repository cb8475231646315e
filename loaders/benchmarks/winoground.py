"""Winoground: two images, and two captions with the same words in different order.

    examples.jsonl or test-*.parquet -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Thrush et al. 2022 (arXiv:2204.03162), 400 items. The repository on the Hub is gated and its licence does not
permit redistribution, so the dataset folder stays on the machine where it was built. Results are broken down by the
published tags and by caption length: at most five words, more than ten, and in between (Kamath et al. 2023,
arXiv:2305.14897, section 4.6).
"""

from pathlib import PurePosixPath
from typing import Any

from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
    Score,
)

SHORT = 5
LONG = 10
IMAGES = ("image_0", "image_1")


def make_row(item: dict[str, Any], file: str) -> Row:
    images = tuple(item[column] for column in IMAGES)
    if file.endswith(".jsonl"):
        images = tuple(f"{PurePosixPath(name).name.removesuffix('.png')}.png" for name in images)
    captions = (item["caption_0"], item["caption_1"])
    words = max(len(caption.split()) for caption in captions)
    length = (
        f"at most {SHORT} words"
        if words <= SHORT
        else f"more than {LONG} words"
        if words > LONG
        else "between"
    )
    categories = (
        ("caption length", length),
        ("tag", str(item["collapsed_tag"])),
        ("secondary tag", str(item["secondary_tag"] or "none")),
    )
    return Row("main", images, captions, image_id=str(item["id"]), categories=categories)


ROOT = "https://huggingface.co/datasets/facebook/winoground/resolve/b400e173549071916ad1b3d449293bc8d8b4b763"
IMAGE_ARCHIVES = (
    RemoteFile(url=f"{ROOT}/data/images.zip", name="data/images.zip", makes="data/images"),
)
BENCHMARK = Benchmark(
    description="Which of two captions with the same words in different order belongs to which of two "
    "images?",
    year=2022,
    licence_id="other",
    source=DataSource(
        title="Winoground",
        homepage="https://huggingface.co/datasets/facebook/winoground",
        licence="Meta's research licence for Winoground, without redistribution; gated",
        citation="Thrush et al. 2022, Winoground, CVPR, arXiv:2204.03162",
        root=ROOT,
        files=(RemoteFile(name="data/examples.jsonl"),),
        image_archives=IMAGE_ARCHIVES,
    ),
    images={
        "examples.jsonl": ImageSet(
            "winoground", ("images", "data/images"), archives=IMAGE_ARCHIVES
        ),
        "test-*.parquet": ImageSet("winoground", (), columns=IMAGES),
    },
    make_row=make_row,
    fields=("id", "caption_0", "caption_1", "collapsed_tag", "secondary_tag", *IMAGES),
    schema=GROUP_SCHEMA,
    split_files=True,
    chance={"*": 1 / 6},
    tested=True,
    rows={"main": 400},
    image_count=800,
    scores=(
        Score(
            "zhiqiulin/clip-flant5-xxl",
            "main",
            "group_score",
            46.0,
            "VQAScore, the authors' model zoo of CLIP-FlanT5 at 6087d95",
        ),
        Score(
            "zhiqiulin/clip-flant5-xl",
            "main",
            "group_score",
            34.8,
            "VQAScore, the authors' model zoo of CLIP-FlanT5 at 6087d95",
        ),
    ),
)
