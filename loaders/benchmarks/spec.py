"""SPEC: sets of generated images and captions that differ in size, position, existence or count.

    <subset>/image2text.json -> config <subset>_i2t; <subset>/text2image.json -> config <subset>_t2i
    chance: 1 / number of candidates, which is 3 (absolute_size, relative_size), 9 (absolute_spatial, count),
    4 (relative_spatial) or 2 (existence)

Source: Peng et al. 2024 (arXiv:2312.00081), https://huggingface.co/datasets/wjpoom/SPEC. The authors report the mean
accuracy over the six subsets, in both directions. Their argmax takes the first of the highest scores.
"""

from pathlib import PurePosixPath
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
    Score,
    image_choice_schema,
)

CANDIDATES = {
    "absolute_size": 3, "relative_size": 3, "absolute_spatial": 9, "relative_spatial": 4, "existence": 2, "count": 9,
}  # fmt: skip


def make_row(item: dict[str, Any], file: str) -> Row:
    """Return the row with the true candidate first. The names of images include the folder of the subset."""
    subset = PurePosixPath(file).parent.name
    keys = list(item["keys"])
    label = item["label"]
    count = CANDIDATES[subset]
    if len(keys) != count or label not in range(count):
        raise ValueError(f"not {count} candidates and the number of one of them")
    keys.insert(0, keys.pop(label))
    if PurePosixPath(file).stem == "image2text":
        return Row(f"{subset}_i2t", (f"{subset}/{item['query']}",), (keys[0],), tuple(keys[1:]))
    return Row(f"{subset}_t2i", tuple(f"{subset}/{image}" for image in keys), (item["query"],))


IMAGES = ImageSet("spec", (), bytes_per_image=100_000)
SCORE_SOURCE = "the authors' notebook"
SCORES = (
    Score("ViT-B-32-quickgelu/openai", "absolute_size_i2t", "recall@1", 44.27, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "absolute_size_t2i", "recall@1", 36.27, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "relative_size_i2t", "recall@1", 34.07, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "relative_size_t2i", "recall@1", 32.47, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "absolute_spatial_i2t", "recall@1", 12.64, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "absolute_spatial_t2i", "recall@1", 12.2, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "relative_spatial_i2t", "recall@1", 27.1, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "relative_spatial_t2i", "recall@1", 26.75, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "existence_i2t", "recall@1", 57.0, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "existence_t2i", "recall@1", 52.0, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "count_i2t", "recall@1", 25.27, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "count_t2i", "recall@1", 23.62, SCORE_SOURCE),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of several captions or images that differ in size, position, existence or "
    "count match?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="SPEC",
        homepage="https://huggingface.co/datasets/wjpoom/SPEC",
        licence="not stated",
        citation="Peng et al. 2024, Synthesize, Diagnose, and Optimize, CVPR, arXiv:2312.00081",
        root="https://huggingface.co/datasets/wjpoom/SPEC/resolve/694dfdc74fe72acdc932fd5fc919b6b0268f7a07",
        files=(RemoteFile(name="data.zip", makes="absolute_size"),),
    ),
    images={
        f"{subset}/{file}.json": IMAGES
        for subset in CANDIDATES
        for file in ("image2text", "text2image")
    },
    make_row=make_row,
    fields=("query", "keys", "label"),
    schema=CHOICE_SCHEMA,
    other_schemas={
        f"{subset}_t2i": image_choice_schema(count) for subset, count in CANDIDATES.items()
    },
    chance={f"{subset}_*": 1 / count for subset, count in CANDIDATES.items()},
    rows={
        "absolute_size_i2t": 1500,
        "absolute_size_t2i": 1500,
        "relative_size_i2t": 1500,
        "relative_size_t2i": 1500,
        "absolute_spatial_i2t": 4500,
        "absolute_spatial_t2i": 4500,
        "relative_spatial_i2t": 2000,
        "relative_spatial_t2i": 2000,
        "existence_i2t": 1000,
        "existence_t2i": 1000,
        "count_i2t": 4500,
        "count_t2i": 4500,
    },
    image_count=15600,
    scores=SCORES,
)
