"""FG-OVD: a box and eleven captions of its object, ten of them with other attributes, or of other objects.

    {h,m,e}_attributes_llava.jsonl, shuffle_negatives_llava.jsonl -> configs hard, medium, easy, trivial; chance 1/11

Source: Bianchi et al. 2024 (arXiv:2311.17518), https://github.com/lorebianchi98/FG-OVD, as classification of boxes in
the files of FG-CLIP (Xie et al. 2025, arXiv:2505.05071), https://github.com/360CVGroup/FG-CLIP. One, two or three
attributes differ in hard, medium and easy. A row is a crop of an image of COCO; FG-CLIP pools the features of the box
instead, puts captions in lower case, and counts a tie as a hit.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    AuthorsRule,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)
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
    captions = tuple(item["pos_expression"])
    negatives = tuple(item["neg_expression"])
    if len(captions) != 1 or len(negatives) != NEGATIVES:
        raise ValueError(f"not one caption and {NEGATIVES} wrong ones")
    config = CONFIGS[Path(file).stem.removesuffix("_llava")]
    return Row(config, (item["img_path"],), captions, negatives, box=parse_box(*item["bbox"]))


PINNED_FILES = (
    RemoteFile(name="h_attributes_llava.jsonl", size=3159786, sha256="30a860d1a9a9075553e3add4fb1af04b40a0ab27e82d2a79503f218b9b430b10"),
    RemoteFile(name="m_attributes_llava.jsonl", size=2793057, sha256="a1010f42d35b59aa669b0641a77bc14d03c531138ee7d1e98d2a22a322c986b9"),
    RemoteFile(name="e_attributes_llava.jsonl", size=1561158, sha256="51edee7fa660afb1102d5941b9dcd9f24a9155f7faba689625444275dfc1df67"),
    RemoteFile(name="shuffle_negatives_llava.jsonl", size=3045994, sha256="9640e7ad9cce878d7660c259be089d163a4da385489393e71b71f297330b1682"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of eleven captions, ten of them with other attributes, describes the object in "
    "a box?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="FG-OVD",
        homepage="https://github.com/360CVGroup/FG-CLIP",
        licence="Apache-2.0 (FG-CLIP's files), none stated (FG-OVD); images: COCO, under their Flickr "
        "licences",
        citation="Bianchi et al. 2024, The devil is in the fine-grained details, CVPR, "
        "arXiv:2311.17518",
        root="https://raw.githubusercontent.com/360CVGroup/FG-CLIP/b1af1cda8ae62089664251670c7819b25e07a0bc/data/fgovd",
        files=PINNED_FILES,
    ),
    images={f"{name}_llava.jsonl": COCO for name in CONFIGS},
    make_row=make_row,
    fields=("img_path", "bbox", "pos_expression", "neg_expression"),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / (NEGATIVES + 1)},
    authors={"*": AuthorsRule("A tie is a hit.", hit_with_ties, {"": 1 / (NEGATIVES + 1)})},
    tested=True,
    rows={"hard": 3507, "medium": 2967, "easy": 1299, "trivial": 3507},
    image_count=1704,
    flaws=(
        Flaw(
            rows="37 of 3545 rows each of hard and trivial",
            what="fewer than ten wrong captions; they are dropped",
            source="counted",
        ),
        Flaw(rows="4 rows of medium", what="a wrong caption equals the caption", source="counted"),
        Flaw(
            rows="one row each of hard, medium and trivial",
            what="the box has no area; it is dropped",
            source="counted",
        ),
    ),
)
