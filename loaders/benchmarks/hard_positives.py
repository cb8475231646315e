"""Read the hard positives of VL-CheckList: a caption, a replacement with the same meaning, and a wrong caption.

    data/vl_checklist_{attributes,relations}.json with swapped_data/... -> replace_attribute, replace_relation

Source: Kamath et al. 2024 (arXiv:2409.17958), https://github.com/amitakamath/hard_positives. Row i of the file in
swapped_data has the hard positive as its true caption. The images are whole images of Visual Genome. The authors'
original, augmented and brittleness scores are ``caption_accuracy`` (chance 1/2), ``accuracy`` (1/3) and ``brittleness``
(1/3).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import VISUAL_GENOME
from loaders.published.rows import Row, Unusable, read_each, read_json
from loaders.published.schemas import PARAPHRASE_SCHEMA

SWAPPED = "swapped_data"


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of a file with the hard positives of its companion, in order.

    Raises ValueError if the companion is missing or has another number of rows.
    """
    config = {"attributes": "replace_attribute", "relations": "replace_relation"}[Path(name).stem.rpartition("_")[2]]
    companion = path.parent.parent / SWAPPED / path.name
    if not companion.is_file():
        raise ValueError(f"{path}: the hard positives are missing. Expected them in {companion}.")
    items, swapped = read_json(path), read_json(companion)
    if len(items) != len(swapped):
        raise ValueError(f"{companion}: {len(swapped):,} rows; expected {len(items):,}, as in {path}.")

    def row(pair: tuple[dict[str, Any], dict[str, Any]]) -> Row:
        item, positive = pair
        if any(item[field] != positive[field] for field in ("image_id", "false_caption")):
            raise ValueError("the hard positive belongs to another row")
        captions = (item["true_caption"], positive["true_caption"])
        return Row(config, (item["image_path"],), captions, (item["false_caption"],), image_id=str(item["image_id"]))

    return read_each(zip(items, swapped, strict=True), row)


BENCHMARK = Benchmark(
    title="Hard positives",
    asks="Does a model still prefer a caption to a wrong one if a word is replaced by a synonym?",
    year=2024,
    paper="Kamath et al. 2024, The Hard Positive Truth about Vision-Language Compositionality, ECCV, arXiv:2409.17958",
    homepage="https://github.com/amitakamath/hard_positives",
    licence="none stated; images CC BY 4.0 (Visual Genome)",
    licence_id="other",
    files={"data/vl_checklist_attributes.json": VISUAL_GENOME, "data/vl_checklist_relations.json": VISUAL_GENOME},
    companions=(f"{SWAPPED}/vl_checklist_attributes.json", f"{SWAPPED}/vl_checklist_relations.json"),
    downloads=github(
        "amitakamath/hard_positives",
        "33addaae84b58d96dc8e9251b61d497c536ed23d",
        {
            "data/vl_checklist_attributes.json": (
                1522662,
                "4c7d262e77e1a1fd5a89ee0de43191fe697d4cf1c044e76c496761f07d824950",
            ),
            "data/vl_checklist_relations.json": (
                2484434,
                "f4aee47194df09f73c4bdb13e2f24c17901d71fbb15ab629b40c8667a841d535",
            ),
            "swapped_data/vl_checklist_attributes.json": (
                1535707,
                "7f6d2f2614ff8a037780ab4b6243c6e1165ceabc5e4db506ad70c63fd95f6441",
            ),
            "swapped_data/vl_checklist_relations.json": (
                2499572,
                "25174b3f0286c124cd7c2c844c1e57bb85179e37cdee0d55fc2857387dede9b5",
            ),
        },
    ),
    read=read,
    schema=PARAPHRASE_SCHEMA,
    rows={"replace_attribute": 10_575, "replace_relation": 16_868},
    image_count=8041,
    chance={"*": 1 / 3},
    flaws=(
        Flaw("15 rows of replace_relation", "the caption equals the wrong caption", "counted"),
        Flaw("one row", "the hard positive equals the wrong caption", "counted"),
        Flaw("SWAP", "the authors' swapped captions are not in their repository", "read"),
    ),
)
