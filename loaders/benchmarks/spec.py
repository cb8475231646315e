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
    Row,
    image_choice_schema,
    read_image_set,
)

CANDIDATES = {
    "absolute_size": 3, "relative_size": 3, "absolute_spatial": 9, "relative_spatial": 4, "existence": 2, "count": 9,
}  # fmt: skip


def make_row(item: dict[str, Any], file: str) -> Row:
    """Return the row with the true candidate first. The names of images include the folder of the subset."""
    subset = PurePosixPath(file).parent.name
    keys, label, count = list(item["keys"]), item["label"], CANDIDATES[subset]
    if len(keys) != count or label not in range(count):
        raise ValueError(f"not {count} candidates and the number of one of them")
    keys.insert(0, keys.pop(label))
    if PurePosixPath(file).stem == "image2text":
        return Row(f"{subset}_i2t", (f"{subset}/{item['query']}",), (keys[0],), tuple(keys[1:]))
    return Row(f"{subset}_t2i", tuple(f"{subset}/{image}" for image in keys), (item["query"],))


IMAGES = read_image_set("spec")
BENCHMARK = Benchmark(
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
    untested=True,
)
