"""MMVP-VLM: pairs of images that CLIP encodes alike, with one statement each, by visual pattern.

    Questions.csv -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Tong et al. 2024 (arXiv:2401.06209), https://huggingface.co/datasets/MMVP/MMVP_VLM. Rows 2k - 1 and 2k of the
file are a pair. As in the authors' script, "a photo of " precedes each statement. Their pair accuracy is Winoground's
image score, except that a tie of the two images chooses the second one.
"""

import numpy as np

from compeval.base.files.untrusted import safe_name
from compeval.loaders.benchmarks.mmvp import read_numbers
from compeval.loaders.published import (
    GROUP_SCHEMA,
    AuthorsRule,
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
    Score,
)

PROMPT = "a photo of "


def make_row(pair: tuple[dict[str, str], dict[str, str]], file: str) -> Row:
    """Return the row of a pair. The columns are the number of the image, the visual pattern and the statement."""
    numbers, patterns, statements = zip(*(item.values() for item in pair), strict=True)
    first, second = read_numbers(*numbers)
    pattern = patterns[0].strip()
    images = tuple(f"{safe_name(pattern)}/{number}.jpg" for number in (first, second))
    captions = tuple(PROMPT + statement for statement in statements)
    return Row(
        "main",
        images,
        captions,
        image_id=str(first),
        categories=(("visual pattern", pattern),),
        changed=True,
    )


def find_author_hits(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (N) of the authors: the softmax of each statement over the images is above or at most 1/2."""
    first_N = score_N22[:, 0, 0] > score_N22[:, 1, 0]
    return {"": first_N & ~(score_N22[:, 0, 1] > score_N22[:, 1, 1])}


ROOT = (
    "https://huggingface.co/datasets/MMVP/MMVP_VLM/resolve/69218ac4ba2ec1fa303ba9b1b4bff54c0b5516c6"
)
BENCHMARK = Benchmark(
    description="Which of two images that CLIP encodes alike does a statement describe?",
    year=2024,
    licence_id="mit",
    source=DataSource(
        title="MMVP-VLM",
        homepage="https://huggingface.co/datasets/MMVP/MMVP_VLM",
        licence="MIT",
        citation="Tong et al. 2024, Eyes Wide Shut?, CVPR, arXiv:2401.06209",
        root=ROOT,
        files=(RemoteFile(name="Questions.csv"),),
    ),
    images=ImageSet(
        "mmvp_vlm",
        ("MLLM_VLM Images",),
        bytes_per_image=150_000,
        url=f"{ROOT}/MLLM_VLM%20Images",
    ),
    make_row=make_row,
    items_per_row=2,
    item="three columns: the number of the image, the visual pattern and the statement, in pairs of rows 2k - 1 and 2k",
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
    changes={"*": '"a photo of " precedes each statement, as in the authors\' script'},
    authors={
        "*": AuthorsRule(
            "a tie of the two images chooses the second one", find_author_hits, {"": 1 / 4}
        )
    },
    rows={"main": 135},
    image_count=270,
    scores=(
        Score("ViT-L-14-quickgelu/openai", "main", "authors_accuracy", 19.3, "the README of DIVA"),
    ),
)
