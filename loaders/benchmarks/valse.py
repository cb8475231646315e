"""Read VALSE: eleven files of captions with a foil each, for six linguistic phenomena.

    {existence,plurals,counting-*,relations,action-replacement,actant-swap,coreference-*,foil-it}.json -> configs of the
    same names with _ in place of -; chance 1/2

Source: Parcalabescu et al. 2022 (arXiv:2112.07566), https://github.com/Heidelberg-NLP/VALSE. The files also contain
rows that the annotators rejected. As in the authors' evaluation, a row is used if at least two of its three annotators
chose the caption and not the foil. The images are whole images of five collections.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import CHOICE_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import COCO, SWIG, VISDIAL, VISUAL7W, ImageSet
from loaders.published.rows import Row, Unusable, get_fields, read_each, read_json

MIN_VOTES = 2


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config = Path(name).stem.replace("-", "_")

    def row(item: dict[str, Any]) -> Row:
        if item["mturk"]["caption"] < MIN_VOTES:
            raise ValueError(f"fewer than {MIN_VOTES} of three annotators chose the caption")
        return Row(
            config,
            (item["image_file"],),
            (item["caption"],),
            (item["foil"],),
            swaps=config == "actant_swap",
            image_set=_find_images(str(item["image_file"]), item["dataset"]),
        )

    return read_each(read_json(path), row)


def _find_images(image: str, dataset: str) -> ImageSet:
    """Return the source of an image. COCO's files occur in several collections, which their names distinguish."""
    if dataset == "SWiG":
        return SWIG
    if image.startswith("VisualDialog"):
        return VISDIAL
    return VISUAL7W if dataset == "visual7w" else COCO


def recognise(name: str, items: list[Any]) -> str | None:
    """The file names of some phenomena are common words."""
    return name if {"caption", "foil", "mturk", "image_file", "linguistic_phenomena"} <= get_fields(items) else None


ROWS = {
    "existence": 505, "plurals": 851, "counting_hard": 868, "counting_small_quant": 900, "counting_adversarial": 691,
    "relations": 535, "action_replacement": 648, "actant_swap": 949, "coreference_standard": 708,
    "coreference_hard": 104, "foil_it": 943,
}  # fmt: skip
BENCHMARK = Benchmark(
    title="VALSE",
    asks="Which of two captions that differ in one linguistic phenomenon, such as a count, describes the image?",
    year=2022,
    paper="Parcalabescu et al. 2022, VALSE, ACL, arXiv:2112.07566",
    homepage="https://github.com/Heidelberg-NLP/VALSE",
    licence="MIT; images: COCO, Visual7W, SWiG and VisDial, under their own licences",
    licence_id="mit",
    files={f"{config.replace('_', '-')}.json": COCO for config in ROWS},
    downloads=github(
        "Heidelberg-NLP/VALSE",
        "2152d90d4aecd11f7f74cf03420abcb63efff9c5",
        {
            "actant-swap.json": (503017, "915294ac3ade7c4c067b1c6841d0db93b60cb8a61ac8e2fb6b125c2a1c0ca93a"),
            "action-replacement.json": (664129, "336ba134f29a3475d0508809067218909a6bd30f079c59309d19244eccb7917f"),
            "coreference-hard.json": (95649, "ef54d8d971d9e0f264e07de08d9915c6e3d6129a2f239888f2b938f5c2eb4139"),
            "coreference-standard.json": (592329, "dae1d9eb018acb54e29a1c4983f3563f86ec3b6beb4037a261564270b0473e95"),
            "counting-adversarial.json": (407394, "0d23529308449c98b37a91048a865a5f377325eceb9accd73f2947bc512d12b0"),
            "counting-hard.json": (537197, "2cc83615653675fb50914ce2d8ab4041cce1278eed7ac0abf6f319dbce5c967a"),
            "counting-small-quant.json": (534996, "ca0645885b05738f6c6df2dffec70c669aaff64114017f33425821faab4bc374"),
            "existence.json": (420403, "b20fca52eba86c544083d423345a2e28e60e601ef61c56c9ac1c73a95a3a6d18"),
            "foil-it.json": (538911, "6f6f0d7494271ed28f6e6f075c3ba36ba1bc45d00ecf7403920f060915130460"),
            "plurals.json": (1097122, "43760db7fc8c6f2a21d3536d52f81539cb101f3370e8d2effb09de43d91486a3"),
            "relations.json": (664587, "061fc557459c318ccd6734d07c21cfa5bf5ae87aa6b1110b8f5ec3d6b2911043"),
        },
        folder="data",
    ),
    read=read,
    recognise=recognise,
    schema=CHOICE_SCHEMA,
    rows=ROWS,
    image_count=6123,
    chance={"*": 1 / 2},
    flaws=(
        Flaw("1,080 of 8,782 rows", "the annotators did not prefer the caption; the rows are dropped", "the authors"),
        Flaw("24 of the dropped rows", "caption and foil are equal", "counted"),
    ),
)
