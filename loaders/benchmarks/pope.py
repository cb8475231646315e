"""POPE: is there an object in the image? Half of the objects are not there.

    {coco,aokvqa,gqa}_pope[_seem]_{random,popular,adversarial}.json -> configs coco_random and so on; chance 1/2

Source: Li et al. 2023 (arXiv:2305.10355), https://github.com/RUCAIBox/POPE. An absent object is a random one, a
frequent one, or one that often occurs with those that are there. The questions are made statements ("There is a dog in
the image."), which are scored as VSR's; the authors ask generative models and count "yes". The objects of A-OKVQA's and
GQA's images come from a segmentation model (SEEM), not from people.
"""

import re
from typing import Any

from compeval.loaders.published import COCO, LABELS, TRUTH_SCHEMA, VISUAL_GENOME, Benchmark, Row
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


BENCHMARK = Benchmark(
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
)
