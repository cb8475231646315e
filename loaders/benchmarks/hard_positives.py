"""Hard positives of VL-CheckList and ARO: a caption, one with the same meaning, and a wrong caption.

    data/vl_checklist_{attributes,relations}.json with swapped_data/... -> replace_attribute, replace_relation
    data/visual_genome_attribution.json with swapped_data/...           -> swap_attribute

Source: Kamath et al. 2024 (arXiv:2409.17958), https://github.com/amitakamath/hard_positives. Row i of the file in
swapped_data has the hard positive as its true caption. The images are whole images of Visual Genome; those of
swap_attribute, whose captions are of ARO's VG-Attribution, are crops. The authors' original, augmented and brittleness
scores are ``caption_accuracy`` (chance 1/2), ``accuracy`` (1/3) and ``brittleness`` (1/3).

ARO has a file of the same name, so its import names the benchmark: `compeval import hard_positives FILE`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    PARAPHRASE_SCHEMA,
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import parse_box, read_each, read_json

FILES = {
    "vl_checklist_attributes.json": "replace_attribute",
    "vl_checklist_relations.json": "replace_relation",
    "visual_genome_attribution.json": "swap_attribute",
}


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of a file with the hard positives of its companion, in order.

    Raises ValueError if the companion is missing or has another number of rows.
    """
    config = FILES[Path(name).name]
    companion = path.parent.parent / "swapped_data" / path.name
    if not companion.is_file():
        raise ValueError(f"{path}: the hard positives are missing. Expected them in {companion}.")
    items = read_json(path)
    swapped = read_json(companion)
    if len(items) != len(swapped):
        raise ValueError(
            f"{companion}: {len(swapped):,} rows; expected {len(items):,}, as in {path}."
        )

    def make_row(pair: tuple[dict[str, Any], dict[str, Any]]) -> Row:
        item, positive = pair
        if any(item[field] != positive[field] for field in ("image_id", "false_caption")):
            raise ValueError("the hard positive belongs to another row")
        captions = (item["true_caption"], positive["true_caption"])
        is_crop = config == "swap_attribute"
        return Row(
            config,
            (item["image_path"],),
            captions,
            (item["false_caption"],),
            image_id=str(item["image_id"]),
            box=parse_box(*(item[f"bbox_{side}"] for side in "xywh")) if is_crop else None,
        )

    return read_each(zip(items, swapped, strict=True), make_row)


PINNED_FILES = (
    RemoteFile(name="data/vl_checklist_attributes.json", size=1522662, sha256="4c7d262e77e1a1fd5a89ee0de43191fe697d4cf1c044e76c496761f07d824950"),
    RemoteFile(name="data/vl_checklist_relations.json", size=2484434, sha256="f4aee47194df09f73c4bdb13e2f24c17901d71fbb15ab629b40c8667a841d535"),
    RemoteFile(name="swapped_data/vl_checklist_attributes.json", size=1535707, sha256="7f6d2f2614ff8a037780ab4b6243c6e1165ceabc5e4db506ad70c63fd95f6441"),
    RemoteFile(name="swapped_data/vl_checklist_relations.json", size=2499572, sha256="25174b3f0286c124cd7c2c844c1e57bb85179e37cdee0d55fc2857387dede9b5"),
    RemoteFile(name="data/visual_genome_attribution.json", git_blob="64f742c8106d0a0fc996b8ae6edecb09703e278f"),
    RemoteFile(name="swapped_data/visual_genome_attribution.json", git_blob="064e9409a45574acbf5b9c360969e43cda063e67"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Does a model still prefer a caption to a wrong one if a word is replaced by a "
    "synonym?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="Hard positives",
        homepage="https://github.com/amitakamath/hard_positives",
        licence="none stated; images CC BY 4.0 (Visual Genome)",
        citation="Kamath et al. 2024, The Hard Positive Truth about Vision-Language Compositionality, "
        "ECCV, arXiv:2409.17958",
        root="https://raw.githubusercontent.com/amitakamath/hard_positives/33addaae84b58d96dc8e9251b61d497c536ed23d",
        files=PINNED_FILES,
    ),
    images={f"data/{name}": VISUAL_GENOME for name in FILES},
    companions=tuple(f"swapped_data/{name}" for name in FILES),
    read_file=read,
    fields=("image_id", "true_caption", "false_caption", "image_path"),
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
    tested=True,
    unseen="the two files of swapped attributes",
    # swap_attribute: the 112,382 captions of the abstract are two for each row, so 56,191 - 10,575 - 16,868.
    rows={"replace_attribute": 10575, "replace_relation": 16868, "swap_attribute": 28748},
    # 8,041 of the counted files, and at most the 4,517 of ARO's VG-Attribution.
    image_count=12558,
    flaws=(
        Flaw(
            rows="15 rows of replace_relation",
            what="the caption equals the wrong caption",
            source="counted",
        ),
        Flaw(rows="one row", what="the hard positive equals the wrong caption", source="counted"),
    ),
)
