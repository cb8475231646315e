"""SugarCrepe: seven files of COCO captions, each with one fluent hard negative.

    {add,replace,swap}_{obj,att,rel}.json -> configs of the same names; chance 1/2

Source: Hsieh et al. 2023 (arXiv:2306.14610), https://github.com/RAIVNLab/sugar-crepe. Images are COCO's val2017, whole.
A language model wrote the negatives, and a swap may change a word to stay fluent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import CHOICE_SCHEMA
from loaders.benchmarks.rows import Family, Row, Unusable, each, json_items


def read(path: Path) -> Iterator[Row | Unusable]:
    """The rows of one file, in its order."""

    def row(item: dict[str, Any]) -> Row:
        negatives = (item["negative_caption"],)
        image_id = Path(item["filename"]).stem
        is_swap = path.stem.startswith("swap")
        return Row(path.stem, "test", image_id, item["filename"], None, item["caption"], negatives, swaps=is_swap)

    return each(json_items(path), row)


FAMILY = Family(
    name="sugarcrepe",
    title="SugarCrepe",
    files={f"{change}_{part}.json": "coco" for change in ("add", "replace", "swap") for part in ("obj", "att", "rel")},
    read=read,
    schema=CHOICE_SCHEMA,
    image_folders=("val2017", "images"),
    licence="mit",
    url="https://github.com/RAIVNLab/sugar-crepe",
    paper="Hsieh et al. 2023, arXiv:2306.14610",
)
