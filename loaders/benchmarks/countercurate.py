"""CounterCurate's positions: an image and its caption, and a generated image with the opposite caption.

    test_{left_right,up_down}_.csv -> configs left_right, up_down; chance of the accuracy 1/2

Source: Zhang et al. 2024 (arXiv:2402.13254), https://github.com/HanSolo9682/CounterCurate. The files are tables with
tabs and the columns captions, images, neg_captions, neg_images. The authors count each of the two choices of a row;
Winoground's text score needs both.
"""

from pathlib import Path, PurePosixPath

import numpy as np

from compeval.loaders.published import (
    GROUP_SCHEMA,
    AuthorsRule,
    Benchmark,
    DataSource,
    ImageSet,
    Row,
)


def make_row(item: dict[str, str], file: str) -> Row:
    config = Path(file).stem.removeprefix("test_").rstrip("_")
    # The positive and the negative image of a pair have the same file name in two folders.
    images = tuple(
        "/".join(PurePosixPath(item[column]).parts[-3:]) for column in ("images", "neg_images")
    )
    return Row(config, images, (item["captions"], item["neg_captions"]))


def count_choices(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (N, 2): each image scores higher with its own caption. A tie is a loss."""
    return {
        "": np.diagonal(score_N22, axis1=1, axis2=2)
        > np.diagonal(score_N22[:, :, ::-1], axis1=1, axis2=2)
    }


BENCHMARK = Benchmark(
    description="Which of two captions with opposite positions describes the image, and which its "
    "counterfactual?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="CounterCurate, positions",
        homepage="https://github.com/HanSolo9682/CounterCurate",
        licence="none stated; images: Flickr30k, and generated",
        citation="Zhang et al. 2024, CounterCurate, Findings of ACL, arXiv:2402.13254",
        download_instructions="Follow https://github.com/HanSolo9682/CounterCurate to get "
        "Flickr30k-Counterfactuals, then run `compeval import test_left_right_.csv --images "
        "DIR`.",
    ),
    images=dict.fromkeys(
        ("test_left_right_.csv", "test_up_down_.csv"),
        ImageSet(
            "countercurate",
            ("train_data",),
            download_instructions="Download the images with the tables, and keep their folders left_right, up_down.",
        ),
    ),
    make_row=make_row,
    fields=("captions", "images", "neg_captions", "neg_images"),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
    authors={
        "*": AuthorsRule("Each of the two choices of a row counts.", count_choices, {"": 1 / 2})
    },
    unseen="all files; those of counting and of attributes are not read",
)
