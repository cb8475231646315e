"""VALSE: eleven files of captions with a foil each, for six linguistic phenomena.

    {existence,plurals,counting-*,relations,action-replacement,actant-swap,coreference-*,foil-it}.json -> configs of the
    same names with _ in place of -; chance 1/2

Source: Parcalabescu et al. 2022 (arXiv:2112.07566), https://github.com/Heidelberg-NLP/VALSE. The files also contain
rows that the annotators rejected. As in the authors' evaluation, a row is used if at least two of its three annotators
chose the caption and not the foil. The images are whole images of five collections.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    SWIG,
    VISDIAL,
    VISUAL7W,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)

MIN_VOTES = 2


def make_row(item: dict[str, Any], file: str) -> Row:
    if item["mturk"]["caption"] < MIN_VOTES:
        raise ValueError(f"fewer than {MIN_VOTES} of three annotators chose the caption")
    config = Path(file).stem.replace("-", "_")
    image = item["image_file"]
    caption = (item["caption"],)
    foil = (item["foil"],)
    image_set = {"SWiG": SWIG, "visual7w": VISUAL7W}.get(item["dataset"], COCO)
    if str(image).startswith("VisualDialog"):
        image_set = VISDIAL
    return Row(config, (image,), caption, foil, swaps=config == "actant_swap", image_set=image_set)


PINNED_FILES = (
    RemoteFile(name="actant-swap.json", size=503017, sha256="915294ac3ade7c4c067b1c6841d0db93b60cb8a61ac8e2fb6b125c2a1c0ca93a"),
    RemoteFile(name="action-replacement.json", size=664129, sha256="336ba134f29a3475d0508809067218909a6bd30f079c59309d19244eccb7917f"),
    RemoteFile(name="coreference-hard.json", size=95649, sha256="ef54d8d971d9e0f264e07de08d9915c6e3d6129a2f239888f2b938f5c2eb4139"),
    RemoteFile(name="coreference-standard.json", size=592329, sha256="dae1d9eb018acb54e29a1c4983f3563f86ec3b6beb4037a261564270b0473e95"),
    RemoteFile(name="counting-adversarial.json", size=407394, sha256="0d23529308449c98b37a91048a865a5f377325eceb9accd73f2947bc512d12b0"),
    RemoteFile(name="counting-hard.json", size=537197, sha256="2cc83615653675fb50914ce2d8ab4041cce1278eed7ac0abf6f319dbce5c967a"),
    RemoteFile(name="counting-small-quant.json", size=534996, sha256="ca0645885b05738f6c6df2dffec70c669aaff64114017f33425821faab4bc374"),
    RemoteFile(name="existence.json", size=420403, sha256="b20fca52eba86c544083d423345a2e28e60e601ef61c56c9ac1c73a95a3a6d18"),
    RemoteFile(name="foil-it.json", size=538911, sha256="6f6f0d7494271ed28f6e6f075c3ba36ba1bc45d00ecf7403920f060915130460"),
    RemoteFile(name="plurals.json", size=1097122, sha256="43760db7fc8c6f2a21d3536d52f81539cb101f3370e8d2effb09de43d91486a3"),
    RemoteFile(name="relations.json", size=664587, sha256="061fc557459c318ccd6734d07c21cfa5bf5ae87aa6b1110b8f5ec3d6b2911043"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two captions that differ in one linguistic phenomenon, such as a count, "
    "describes the image?",
    year=2022,
    licence_id="mit",
    source=DataSource(
        title="VALSE",
        homepage="https://github.com/Heidelberg-NLP/VALSE",
        licence="MIT; images: COCO, Visual7W, SWiG and VisDial, under their own licences",
        citation="Parcalabescu et al. 2022, VALSE, ACL, arXiv:2112.07566",
        root="https://raw.githubusercontent.com/Heidelberg-NLP/VALSE/2152d90d4aecd11f7f74cf03420abcb63efff9c5/data",
        files=PINNED_FILES,
    ),
    images=COCO,
    make_row=make_row,
    fields=("caption", "foil", "mturk", "image_file", "linguistic_phenomena"),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={
        "existence": 505,
        "plurals": 851,
        "counting_hard": 868,
        "counting_small_quant": 900,
        "counting_adversarial": 691,
        "relations": 535,
        "action_replacement": 648,
        "actant_swap": 949,
        "coreference_standard": 708,
        "coreference_hard": 104,
        "foil_it": 943,
    },
    image_count=6123,
    flaws=(
        Flaw(
            rows="1,080 of 8,782 rows",
            what="the annotators did not prefer the caption; the rows are dropped",
            source="the authors",
        ),
        Flaw(rows="24 of the dropped rows", what="caption and foil are equal", source="counted"),
    ),
)
