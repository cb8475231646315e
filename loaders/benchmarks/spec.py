"""SPEC: sets of generated images and captions that differ in size, position, existence or count.

    <subset>/image2text.json -> config <subset>_i2t; <subset>/text2image.json -> config <subset>_t2i
    chance: 1 / number of candidates, which is 3 (absolute_size, relative_size), 9 (absolute_spatial, count),
    4 (relative_spatial) or 2 (existence)

Source: Peng et al. 2024 (arXiv:2312.00081), https://huggingface.co/datasets/wjpoom/SPEC. The authors report the mean
accuracy over the six subsets, in both directions. Their argmax takes the first of the highest scores.
"""

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from generators.schemas.rows import CHOICE_SCHEMA
from loaders.published.declaration import Benchmark, Score
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row
from loaders.published.schemas import image_choice_schema


class Subset(NamedTuple):
    candidates: int
    rows: int
    clip_scores: tuple[float, float]
    """Recall@1 of CLIP ViT-B/32 in percent: image to text, text to image."""


SUBSETS = {
    "absolute_size": Subset(3, 1500, (44.27, 36.27)),
    "relative_size": Subset(3, 1500, (34.07, 32.47)),
    "absolute_spatial": Subset(9, 4500, (12.64, 12.20)),
    "relative_spatial": Subset(4, 2000, (27.10, 26.75)),
    "existence": Subset(2, 1000, (57.0, 52.0)),
    "count": Subset(9, 4500, (25.27, 23.62)),
}


def make_row(item: dict[str, Any], file: str) -> Row:
    """Return the row with the true candidate first. The names of images include the folder of the subset."""
    subset = PurePosixPath(file).parent.name
    keys, label, count = list(item["keys"]), item["label"], SUBSETS[subset].candidates
    if len(keys) != count or label not in range(count):
        raise ValueError(f"not {count} candidates and the number of one of them")
    keys.insert(0, keys.pop(label))
    if PurePosixPath(file).stem == "image2text":
        return Row(f"{subset}_i2t", (f"{subset}/{item['query']}",), (keys[0],), tuple(keys[1:]))
    return Row(f"{subset}_t2i", tuple(f"{subset}/{image}" for image in keys), (item["query"],))


IMAGES = ImageSet("spec", (), bytes_per_image=100_000)
BENCHMARK = Benchmark(
    description="Which of several captions or images that differ in size, position, existence or count match?",
    year=2024,
    licence_id="other",
    images={f"{subset}/{file}.json": IMAGES for subset in SUBSETS for file in ("image2text", "text2image")},
    make_row=make_row,
    schema=CHOICE_SCHEMA,
    other_schemas={f"{name}_t2i": image_choice_schema(subset.candidates) for name, subset in SUBSETS.items()},
    rows={f"{name}_{way}": subset.rows for name, subset in SUBSETS.items() for way in ("i2t", "t2i")},
    image_count=15_600,
    chance={f"{name}_*": 1 / subset.candidates for name, subset in SUBSETS.items()},
    untested=True,
    scores=tuple(
        Score("ViT-B-32-quickgelu/openai", f"{name}_{way}", "recall@1", percent, "the authors' notebook")
        for name, subset in SUBSETS.items()
        for way, percent in zip(("i2t", "t2i"), subset.clip_scores, strict=True)
    ),
)
