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

from compeval.loaders.published import PARAPHRASE_SCHEMA, VISUAL_GENOME, Benchmark, Row, Unusable
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
    items, swapped = read_json(path), read_json(companion)
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


BENCHMARK = Benchmark(
    images={f"data/{name}": VISUAL_GENOME for name in FILES},
    companions=tuple(f"swapped_data/{name}" for name in FILES),
    read_file=read,
    fields=("image_id", "true_caption", "false_caption", "image_path"),
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
)
