"""EqBen: two images that differ in one change, such as a moved object, with one caption each.

    private_info_global.json, eqben_subset_10percent_final.json -> configs ag, youcook2, gebc, kubric_*, sd;
    chance: text 1/4, image 1/4, group 1/6

Source: Wang et al. 2023 (arXiv:2303.14465), https://github.com/Wangt-CN/EqBen. The authors score as Winoground does, by
subset. The first folder of an image is its subset. A caption may be a list, of which the authors use the first.
The frames of YouCook2 are published as NumPy arrays, which are not images, so these rows are dropped.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.base.readers.records import stream_records
from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import get_fields, read_each

SUBSETS = ("ag", "youcook2", "gebc", "kubric_loc", "kubric_attr", "kubric_cnt", "sd")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order. The file is not read as a whole."""
    split = "subset" if "subset" in name else "test"

    def make_row(item: dict[str, Any]) -> Row:
        images = (item["image0"], item["image1"])
        parts = PurePosixPath(images[0]).parts
        subset = parts[0].removeprefix("eqben")
        if subset not in SUBSETS:
            raise ValueError("the first folder of the image is not a subset")
        if any(image.endswith(".npy") for image in images):
            raise ValueError("the frames are NumPy arrays, not images")
        captions = tuple(
            text[0] if isinstance(text, list) else text
            for text in (item["caption0"], item["caption1"])
        )
        return Row(subset, images, captions, image_id="/".join(parts[:2]), split=split)

    return read_each((item for _, item in stream_records(path)), make_row)


def recognise(name: str, items: list[Any]) -> str | None:
    """Recognise renamed files. The annotations of one subset have other formats, which are not read."""
    return (
        "private_info_global.json"
        if get_fields(items) >= {"image0", "image1", "caption0", "caption1"}
        else None
    )


BENCHMARK = Benchmark(
    description="Which of two captions belongs to which of two images that differ in one change?",
    year=2023,
    licence_id="apache-2.0",
    source=DataSource(
        title="EqBen",
        homepage="https://github.com/Wangt-CN/EqBen",
        licence="Apache-2.0; images: Action Genome, YouCook2, GEBC, Kubric and Stable Diffusion, "
        "under their own licences",
        citation="Wang et al. 2023, Equivariant Similarity for Vision-Language Foundation Models, "
        "ICCV, arXiv:2303.14465",
        download_instructions="Download the original annotations "
        "(https://drive.google.com/file/d/1gNR4K2Cv4rbnjVRdHuBV6PuoJ5MlRXnZ) and the images "
        "(https://drive.google.com/file/d/1e608uhd36ak_v7SnlMVaYcekBc4gBqzn, 100 GB), then "
        "pass their folder with --from.",
    ),
    images=dict.fromkeys(
        ("private_info_global.json", "eqben_subset_10percent_final.json"),
        ImageSet(
            "eqben",
            (),
            bytes_per_image=200_000,
            download_instructions="Download https://storage.googleapis.com/eqben-data/eqben_image_full.tar.gz (about "
            "100 GB), unpack it, and pass its folder with --images.",
        ),
    ),
    read_file=read,
    recognise_file=recognise,
    item="the keys image0, image1, caption0, caption1",
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 6},
    rows={
        "ag/test": 195872,
        "youcook2/test": 45849,
        "gebc/test": 1814,
        "kubric_loc/test": 2000,
        "kubric_attr/test": 2000,
        "kubric_cnt/test": 2000,
        "sd/test": 1513,
    },
    image_count=502096,
    flaws=(
        Flaw(
            rows="45,849 rows of youcook2",
            what="the frames are NumPy arrays and not read",
            source="the authors' loader",
        ),
    ),
)
