"""Read SugarCrepe: seven files of COCO captions, each caption with one fluent hard negative.

    {add,replace,swap}_{obj,att,rel}.json -> configs of the same names (add_rel and swap_rel do not exist); chance 1/2

Source: Hsieh et al. 2023 (arXiv:2306.14610), https://github.com/RAIVNLab/sugar-crepe. The images are whole images of
COCO's val2017. The negatives were written by a language model; in a swap, it may also change words to keep the text
fluent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import CHOICE_SCHEMA
from loaders.benchmarks.rows import Family, Row, Unusable, read_each, read_json


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config = Path(name).stem

    def row(item: dict[str, Any]) -> Row:
        image = item["filename"]
        return Row(
            config=config,
            split="test",
            image_id=Path(image).stem,
            image=image,
            box=None,
            caption=item["caption"],
            hard_negatives=(item["negative_caption"],),
            swaps=config.startswith("swap"),
        )

    return read_each(read_json(path), row)


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
