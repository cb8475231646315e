"""Read VSR: is a statement about the spatial relation of two objects true of the image?

    {random,zeroshot}/{dev,test}.jsonl -> configs random, zeroshot with splits dev and test; chance 1/2

Source: Liu et al. 2023 (arXiv:2205.00363), https://github.com/cambridgeltl/visual-spatial-reasoning. A row has one
caption and a label, and no other caption to compare it with: evaluators/protocols/true_or_false.py describes the
threshold. The authors' scores of CLIP are those of a classifier that was trained on its features. Results are broken
down by relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from loaders.published.declaration import Benchmark, Flaw, Score, github
from loaders.published.image_sets import COCO
from loaders.published.rows import Row, Unusable, read_each, read_lines
from loaders.published.schemas import TRUTH_SCHEMA


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order. Its folder is the config, its stem the split."""
    config, split = PurePosixPath(name).parent.name, PurePosixPath(name).stem

    def row(item: dict[str, Any]) -> Row:
        if item["label"] not in (0, 1):
            raise ValueError("the label is neither 0 nor 1")
        categories = (("relation", str(item["relation"])),)
        return Row(
            config, (item["image"],), (item["caption"],), split=split, label=int(item["label"]), categories=categories
        )

    return read_each(read_lines(path), row)


CLASSIFIER = "the authors' README: a classifier trained on CLIP's features, size not stated"
BENCHMARK = Benchmark(
    title="VSR",
    asks="Is a statement about the spatial relation of two objects true of the image?",
    year=2023,
    paper="Liu et al. 2023, Visual Spatial Reasoning, TACL, arXiv:2205.00363",
    homepage="https://github.com/cambridgeltl/visual-spatial-reasoning",
    licence="Apache-2.0; images: COCO, under their Flickr licences",
    licence_id="apache-2.0",
    files={f"{config}/{split}.jsonl": COCO for config in ("random", "zeroshot") for split in ("dev", "test")},
    downloads=github(
        "cambridgeltl/visual-spatial-reasoning",
        "b27a0af0ee1462d2b6b92c8c83e869d9254a241a",
        {
            "random/dev.jsonl": (338049, "90de24b811597a913310d043758f1119a1ba9ebf1b1ca8f1e27c4907f01980d4"),
            "random/test.jsonl": (674712, "8ade82a0b93ac9dc1e53f6cf1f11e9d5536776a3715102b6b4d27d4f81d551cc"),
            "zeroshot/dev.jsonl": (107245, "0abda42fe9333ab6a8671b32886738b5cfa6d37a8c277b56d8368c339c8dffce"),
            "zeroshot/test.jsonl": (380380, "914d9156723b912d8f794b179248af865a68c5f81c9d8e3a21d007778cacaad4"),
        },
        folder="data/splits",
    ),
    read=read,
    schema=TRUTH_SCHEMA,
    rows={"random/dev": 1097, "random/test": 2195, "zeroshot/dev": 340, "zeroshot/test": 1222},
    chance={"*": 1 / 2},
    flaws=(Flaw("some rows", "validators disagree with the label; the file has their votes", "the authors"),),
    scores=(
        Score("CLIP", "random", "trained_accuracy", 56.0, CLASSIFIER),
        Score("CLIP", "zeroshot", "trained_accuracy", 54.5, CLASSIFIER),
    ),
)
