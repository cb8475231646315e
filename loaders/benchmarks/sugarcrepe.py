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
from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import COCO
from loaders.published.rows import Row, Unusable, get_fields, read_each, read_json


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config = Path(name).stem

    def row(item: dict[str, Any]) -> Row:
        return Row(
            config,
            (item["filename"],),
            (item["caption"],),
            (item["negative_caption"],),
            swaps=config.startswith("swap"),
        )

    return read_each(read_json(path), row)


def recognise(name: str, items: list[Any]) -> str | None:
    """SugarCrepe++ has the same file names, and a second caption."""
    fields = get_fields(items)
    return name if {"filename", "caption", "negative_caption"} <= fields and "caption2" not in fields else None


ROWS = {
    "add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406, "swap_att": 666,
    "swap_obj": 245,
}  # fmt: skip
BENCHMARK = Benchmark(
    title="SugarCrepe",
    asks="Which of two fluent captions, one with a changed, added or exchanged part, describes the image?",
    year=2023,
    paper="Hsieh et al. 2023, SugarCrepe, NeurIPS Datasets and Benchmarks, arXiv:2306.14610",
    homepage="https://github.com/RAIVNLab/sugar-crepe",
    licence="MIT; images: COCO, under their Flickr licences",
    licence_id="mit",
    files={f"{config}.json": COCO for config in ROWS},
    downloads=github(
        "RAIVNLab/sugar-crepe",
        "0047054b243992f0fad63d6f64f7544862daf846",
        {
            "add_att.json": (158863, "012d88d729693d193760e6f3393b06a1cf874380a9db0062e937201199fe044d"),
            "add_obj.json": (484593, "1b9d76b93139a937b8dc1ada92a4f05ecc821bb3c291d752428bafadd4bb0682"),
            "replace_att.json": (176843, "9fe55fd4c0a9ad1f85d486d9f6d0215b41f867eb025026e7f7b5ce44352545ee"),
            "replace_obj.json": (361126, "9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898"),
            "replace_rel.json": (312629, "356bcc2fc4c6aed3f4d9fd50acc58489bb1fe70c28791f9368d4cbf9ea39cdc9"),
            "swap_att.json": (154665, "7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0"),
            "swap_obj.json": (57569, "073cdb8e253d053614e80710834d9773b09dbc1dd0a412f6f9492262caa1dcad"),
        },
        folder="data",
    ),
    read=read,
    recognise=recognise,
    schema=CHOICE_SCHEMA,
    rows=ROWS,
    image_count=1560,
    chance={"*": 1 / 2},
    flaws=(Flaw("swap_obj", "the file has 245 rows, the paper's table 246", "counted"),),
)
