"""Read MMVP-VLM: pairs of images that CLIP encodes alike, with one statement each, by visual pattern.

    Questions.csv -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Tong et al. 2024 (arXiv:2401.06209), https://huggingface.co/datasets/MMVP/MMVP_VLM. Rows 2k - 1 and 2k of the
file are a pair. As in the authors' script, "a photo of " precedes each statement. Their pair accuracy is Winoground's
image score, except that a tie of the two images chooses the second one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

from generators.files.untrusted import safe_name
from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import AuthorsRule, Benchmark, Score, huggingface
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, read_csv, read_each

PROMPT = "a photo of "
PAIR = 2


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield a row for each pair. The columns are the number of the image, the visual pattern and the statement."""

    def row(pair: tuple[list[str], list[str]]) -> Row:
        numbers, patterns, statements = zip(*pair, strict=True)
        first, second = map(int, numbers)
        if first % PAIR != 1 or second != first + 1:
            raise ValueError("the rows are not numbered 2k - 1 and 2k")
        images = tuple(f"{safe_name(patterns[0].strip())}/{number}.jpg" for number in (first, second))
        captions = tuple(PROMPT + statement for statement in statements)
        return Row("main", images, captions, image_id=str(first), categories=(("visual pattern", patterns[0].strip()),))

    rows = (list(row.values()) for row in read_csv(path, ()))
    return read_each(zip_longest(rows, rows), row)


def find_author_hits(score_N22: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (N) of the authors: the softmax of each statement over the images is above or at most 1/2."""
    first_N = score_N22[:, 0, 0] > score_N22[:, 1, 0]
    return {"": first_N & ~(score_N22[:, 0, 1] > score_N22[:, 1, 1])}


REPOSITORY, REVISION = "MMVP/MMVP_VLM", "69218ac4ba2ec1fa303ba9b1b4bff54c0b5516c6"
FOLDER = "MLLM_VLM Images"
IMAGES = ImageSet(
    "mmvp_vlm",
    (FOLDER,),
    bytes_per_image=150_000,
    url=f"https://huggingface.co/datasets/{REPOSITORY}/resolve/{REVISION}/{FOLDER.replace(' ', '%20')}",
)
BENCHMARK = Benchmark(
    title="MMVP-VLM",
    asks="Which of two images that CLIP encodes alike does a statement describe?",
    year=2024,
    paper="Tong et al. 2024, Eyes Wide Shut?, CVPR, arXiv:2401.06209",
    homepage=f"https://huggingface.co/datasets/{REPOSITORY}",
    licence="MIT",
    licence_id="mit",
    files={"Questions.csv": IMAGES},
    downloads=huggingface(REPOSITORY, REVISION, {"Questions.csv": (None, None)}),
    read=read,
    schema=GROUP_SCHEMA,
    rows={"main": 135},
    image_count=270,
    chance={"*": 1 / 4},
    authors={"*": AuthorsRule("a tie of the two images chooses the second one", find_author_hits, {"": 1 / 4})},
    untested=True,
    scores=(Score("ViT-L-14-quickgelu/openai", "main", "authors_accuracy", 19.3, "the README of DIVA"),),
)
