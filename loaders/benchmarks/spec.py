"""Read SPEC: sets of generated images and captions that differ in size, position, existence or count.

    <subset>/image2text.json -> config <subset>_i2t; <subset>/text2image.json -> config <subset>_t2i
    chance: 1 / number of candidates, which is 3 (absolute_size, relative_size), 9 (absolute_spatial, count),
    4 (relative_spatial) or 2 (existence)

Source: Peng et al. 2024 (arXiv:2312.00081), https://huggingface.co/datasets/wjpoom/SPEC. The authors report the mean
accuracy over the six subsets, in both directions. Their argmax takes the first of the highest scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from generators.schemas.rows import CHOICE_SCHEMA
from generators.sources import RemoteFile
from loaders.published.declaration import Benchmark, Score
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, read_each, read_json
from loaders.published.schemas import image_choice_schema

CANDIDATES = {
    "absolute_size": 3, "relative_size": 3, "absolute_spatial": 9, "relative_spatial": 4, "existence": 2, "count": 9,
}  # fmt: skip
ROWS = {
    "absolute_size": 1500, "relative_size": 1500, "absolute_spatial": 4500, "relative_spatial": 2000,
    "existence": 1000, "count": 4500,
}  # fmt: skip


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order. The names of images include the folder of the subset."""
    subset, is_choice_of_texts = PurePosixPath(name).parent.name, PurePosixPath(name).stem == "image2text"

    def row(item: dict[str, Any]) -> Row:
        keys, label = list(item["keys"]), item["label"]
        if len(keys) != CANDIDATES[subset] or label not in range(len(keys)):
            raise ValueError(f"not {CANDIDATES[subset]} candidates and the number of one of them")
        keys.insert(0, keys.pop(label))
        if is_choice_of_texts:
            return Row(f"{subset}_i2t", (f"{subset}/{item['query']}",), (keys[0],), tuple(keys[1:]))
        return Row(f"{subset}_t2i", tuple(f"{subset}/{image}" for image in keys), (item["query"],))

    return read_each(read_json(path), row)


ARCHIVE = RemoteFile(
    "https://huggingface.co/datasets/wjpoom/SPEC/resolve/694dfdc74fe72acdc932fd5fc919b6b0268f7a07/data.zip",
    "data.zip",
    "absolute_size",
    None,
    None,
)
IMAGES = ImageSet("spec", (), bytes_per_image=100_000)
SOURCE = "the authors' notebook"
CLIP = {
    "existence": (57.0, 52.0), "relative_spatial": (27.10, 26.75), "absolute_size": (44.27, 36.27),
    "relative_size": (34.07, 32.47), "count": (25.27, 23.62), "absolute_spatial": (12.64, 12.20),
}  # fmt: skip
BENCHMARK = Benchmark(
    title="SPEC",
    asks="Which of several captions or images that differ in size, position, existence or count match?",
    year=2024,
    paper="Peng et al. 2024, Synthesize, Diagnose, and Optimize, CVPR, arXiv:2312.00081",
    homepage="https://huggingface.co/datasets/wjpoom/SPEC",
    licence="not stated",
    licence_id="other",
    files={f"{subset}/{file}.json": IMAGES for subset in CANDIDATES for file in ("image2text", "text2image")},
    downloads=(ARCHIVE,),
    read=read,
    schema=CHOICE_SCHEMA,
    other_schemas={f"{subset}_t2i": image_choice_schema(count) for subset, count in CANDIDATES.items()},
    rows={f"{subset}_{way}": count for subset, count in ROWS.items() for way in ("i2t", "t2i")},
    image_count=15_600,
    chance={f"{subset}_*": 1 / count for subset, count in CANDIDATES.items()},
    untested=True,
    scores=tuple(
        Score("ViT-B-32-quickgelu/openai", f"{subset}_{way}", "recall@1", percent, SOURCE)
        for subset, percents in CLIP.items()
        for way, percent in zip(("i2t", "t2i"), percents, strict=True)
    ),
)
