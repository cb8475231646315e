"""FG-OVD: a box and eleven captions of its object, ten of them with other attributes, or of other objects.

    {h,m,e}_attributes_llava.jsonl, shuffle_negatives_llava.jsonl -> configs hard, medium, easy, trivial; chance 1/11

Source: Bianchi et al. 2024 (arXiv:2311.17518), https://github.com/lorebianchi98/FG-OVD, as classification of boxes in
the files of FG-CLIP (Xie et al. 2025, arXiv:2505.05071), https://github.com/360CVGroup/FG-CLIP. One, two or three
attributes differ in hard, medium and easy. A row is a crop of an image of COCO; FG-CLIP pools the features of the box
instead, puts captions in lower case, and counts a tie as a hit.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, COCO, AuthorsRule, Benchmark, Row
from compeval.loaders.published.declaration import hit_with_ties
from compeval.loaders.published.rows import parse_box

CONFIGS = {
    "h_attributes": "hard",
    "m_attributes": "medium",
    "e_attributes": "easy",
    "shuffle_negatives": "trivial",
}
NEGATIVES = 10


def make_row(item: dict[str, Any], file: str) -> Row:
    captions, negatives = tuple(item["pos_expression"]), tuple(item["neg_expression"])
    if len(captions) != 1 or len(negatives) != NEGATIVES:
        raise ValueError(f"not one caption and {NEGATIVES} wrong ones")
    config = CONFIGS[Path(file).stem.removesuffix("_llava")]
    return Row(config, (item["img_path"],), captions, negatives, box=parse_box(*item["bbox"]))


BENCHMARK = Benchmark(
    images={f"{name}_llava.jsonl": COCO for name in CONFIGS},
    make_row=make_row,
    fields=("img_path", "bbox", "pos_expression", "neg_expression"),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / (NEGATIVES + 1)},
    authors={"*": AuthorsRule("A tie is a hit.", hit_with_ties, {"": 1 / (NEGATIVES + 1)})},
)
