"""Read SugarCrepe++: five files of two equivalent captions and a wrong one.

    {replace_att,replace_obj,replace_rel,swap_att,swap_obj}.json -> configs of the same names; chance 1/3

Source: Dumpala et al. 2024 (arXiv:2406.11171), https://github.com/Sri-Harsha/scpp. The images are whole images of
COCO's val2017. The rows are not SugarCrepe's: captions were corrected and persons made gender-neutral.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import COCO
from loaders.published.rows import Row, Unusable, get_fields, read_each, read_json
from loaders.published.schemas import PARAPHRASE_SCHEMA


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config = Path(name).stem

    def row(item: dict[str, Any]) -> Row:
        captions = (item["caption"], item["caption2"])
        return Row(config, (item["filename"],), captions, (item["negative_caption"],), swaps=config.startswith("swap"))

    return read_each(read_json(path), row)


def recognise(name: str, items: list[Any]) -> str | None:
    """SugarCrepe has the same file names, without a second caption."""
    return name if {"filename", "caption", "caption2", "negative_caption"} <= get_fields(items) else None


ROWS = {"replace_att": 788, "replace_obj": 1652, "replace_rel": 1406, "swap_att": 666, "swap_obj": 245}
BENCHMARK = Benchmark(
    title="SugarCrepe++",
    asks="Does the image score higher with two equivalent captions than with a similar wrong one?",
    year=2024,
    paper="Dumpala et al. 2024, SUGARCREPE++, NeurIPS Datasets and Benchmarks, arXiv:2406.11171",
    homepage="https://github.com/Sri-Harsha/scpp",
    licence="CC BY 4.0; images: COCO, under their Flickr licences",
    licence_id="cc-by-4.0",
    files={f"{config}.json": COCO for config in ROWS},
    downloads=github(
        "Sri-Harsha/scpp",
        "c083bbf039a5ca215acaf25e7ee736d2ea6f3864",
        {
            "replace_att.json": (226275, "6826413592894754eeca02aeebbcbbc8b95a7456998abcc714e71c033ce6fe87"),
            "replace_obj.json": (456601, "5c6dc499ec8f511a8aa4ec1b7b5eb0eca90317488abe36ec39573355e2d361ab"),
            "replace_rel.json": (392738, "040fb95d3f0619bf515db60879e99709a87a5e9b4f524ec3403b127243480fd4"),
            "swap_att.json": (198206, "450d0fd9fcad3e6f44950dc634e7f901ab1c6d9c60a569ade5ae8ffb3d203ad8"),
            "swap_obj.json": (74611, "5f33cae824de431a7ecd3c5de6301f689815f9497aa36d96b154bbaf117b201b"),
        },
        folder="data",
    ),
    read=read,
    recognise=recognise,
    schema=PARAPHRASE_SCHEMA,
    rows=ROWS,
    image_count=1542,
    chance={"*": 1 / 3},
    flaws=(
        Flaw("some paraphrases", "they lose a part of the caption, which a language model rewrote", "read by hand"),
        Flaw("one row of swap_att", "it is repeated", "counted"),
        Flaw("two rows of swap_obj", "the wrong caption equals a true one", "counted"),
    ),
)
