"""POPE: is there an object in the image? Half of the objects are not there.

    {coco,aokvqa,gqa}_pope[_seem]_{random,popular,adversarial}.json -> configs coco_random and so on; chance 1/2

Source: Li et al. 2023 (arXiv:2305.10355), https://github.com/RUCAIBox/POPE. An absent object is a random one, a
frequent one, or one that often occurs with those that are there. The questions are made statements ("There is a dog in
the image."), which are scored as VSR's; the authors ask generative models and count "yes". The objects of A-OKVQA's and
GQA's images come from a segmentation model (SEEM), not from people.
"""

import re
from typing import Any

from compeval.loaders.published import (
    COCO,
    LABELS,
    TRUTH_SCHEMA,
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)
from compeval.loaders.published.rows import make_statement

KINDS = ("random", "popular", "adversarial")


def make_row(item: dict[str, Any], file: str) -> Row:
    config = re.sub(r"^.*/|_pope|_seem|\.json$", "", file)
    return Row(
        config,
        (item["image"],),
        (make_statement(item["text"]),),
        label=LABELS[item["label"]],
        changed=True,
    )


PINNED_FILES = (
    RemoteFile(name="coco/coco_pope_random.json", size=368166, sha256="ac25245170b975a5bdf9080b23fd431dfe6be458bc038259c1f4f09a6bef7994"),
    RemoteFile(name="coco/coco_pope_popular.json", size=370190, sha256="72c1a8ad45d0c13514f5f22598261df41d3b533854d29682e924db50ed8aa753"),
    RemoteFile(name="coco/coco_pope_adversarial.json", size=370401, sha256="420b3407db1fa9f1187a805dca41cb7b97fd91504e6c2179706188c107fb8ef8"),
    RemoteFile(name="seem/aokvqa/aokvqa_pope_seem_random.json", size=495827, sha256="f06eecde6d6ef4a00b95a7bbb510490708a09a6a67d952b59b8bdd33ac2c7200"),
    RemoteFile(name="seem/aokvqa/aokvqa_pope_seem_popular.json", size=492597, sha256="2ae5bedee3450cda52f9b033942c7b04a3917a86a110e859a66c1e41934c6ffd"),
    RemoteFile(name="seem/aokvqa/aokvqa_pope_seem_adversarial.json", size=494039, sha256="2ddd3bdfa0df7a77a2cb1765ed06ac5ed190b5a093aa405b96986e862e8cdac1"),
    RemoteFile(name="seem/gqa/gqa_pope_seem_random.json", size=441272, sha256="6ce488eade3770185034939fabfe742fa32ed369011c8d9c3ac77bc0c85abd94"),
    RemoteFile(name="seem/gqa/gqa_pope_seem_popular.json", size=438334, sha256="dd03f06a458dd216e83233160fbf6628af9c63c84b11e99599f4fc0304b3361d"),
    RemoteFile(name="seem/gqa/gqa_pope_seem_adversarial.json", size=439786, sha256="74e01b41d8308e2392e3b8d961167496ff3901c01100265d931a7a392f138a7a"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Is there an object in the image?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="POPE",
        homepage="https://github.com/RUCAIBox/POPE",
        licence="MIT; images: COCO, under their Flickr licences, and Visual Genome, CC BY 4.0",
        citation="Li et al. 2023, Evaluating Object Hallucination in Large Vision-Language Models, "
        "EMNLP, arXiv:2305.10355",
        root="https://raw.githubusercontent.com/RUCAIBox/POPE/3df3ba1b110ecce25696989577fad583b67d4239/output",
        files=PINNED_FILES,
    ),
    images={f"coco_pope_{kind}.json": COCO for kind in KINDS}
    | {f"aokvqa_pope_seem_{kind}.json": COCO for kind in KINDS}
    | {f"gqa_pope_seem_{kind}.json": VISUAL_GENOME for kind in KINDS},
    make_row=make_row,
    fields=("question_id", "image", "text", "label"),
    schema=TRUTH_SCHEMA,
    chance={"*": 1 / 2},
    changes={
        "*": 'the question "Is there a dog in the image?" is the statement "There is a dog in the image."'
    },
    tested=True,
    rows={
        "coco_random": 3000,
        "coco_popular": 3000,
        "coco_adversarial": 3000,
        "aokvqa_random": 3000,
        "aokvqa_popular": 3000,
        "aokvqa_adversarial": 3000,
        "gqa_random": 3000,
        "gqa_popular": 3000,
        "gqa_adversarial": 3000,
    },
    image_count=1489,
    flaws=(
        Flaw(
            rows="aokvqa and gqa",
            what="the objects come from a segmentation model and not from people",
            source="the authors",
        ),
        Flaw(
            rows="one row each of aokvqa_adversarial and gqa_adversarial",
            what="another row has the same image and question",
            source="counted",
        ),
    ),
)
