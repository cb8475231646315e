"""ARO as its authors released it, and NegCLIP's training and validation captions.

    visual_genome_{relation,attribution}.json -> vg_relation, vg_attribution   one swapped caption, a crop
    {train,valid}_neg_clip.tsv                -> negclip, split train or valid   one row a negative, whole images

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936),
https://github.com/mertyg/vision-language-models-are-bows. Chance is 1/2.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.dataset import CHOICE_SCHEMA
from loaders.published.rows import Family, Row, Unusable, box, csv_rows, each, json_items, literal


def read(path: Path) -> Iterator[Row | Unusable]:
    """The rows of one file, in its order; a caption of NegCLIP's comes once for each of its negatives."""
    if path.name.endswith(".tsv"):
        return _negclip(path)
    return _visual_genome(path)


def _visual_genome(path: Path) -> Iterator[Row | Unusable]:
    kind = path.stem.removeprefix("visual_genome_").split(".")[0]

    def row(item: dict[str, Any]) -> Row:
        if kind == "relation":
            category = ("relation", item["relation_name"])
        else:
            category = ("attribute pair", "_".join(item["attributes"][:2]))
        return Row(
            f"vg_{kind}",
            "test",
            str(item["image_id"]),
            item["image_path"],
            box(*(item[f"bbox_{side}"] for side in "xywh")),
            item["true_caption"],
            (item["false_caption"],),
            swaps=True,
            categories=(category,),
        )

    return each(json_items(path), row)


def _negclip(path: Path) -> Iterator[Row | Unusable]:
    split = path.name.split("_")[0]
    for row in csv_rows(path, ("title", "filepath", "neg_caption"), "\t"):
        try:
            negatives, unordered = literal(row["neg_caption"])
        except (ValueError, KeyError):
            yield Unusable("the negatives are not a list of texts")
            continue
        image_id = Path(row["filepath"]).stem
        for negative in negatives:
            yield Row(
                "negclip", split, image_id, row["filepath"], None, row["title"], (negative,), swaps=True,
                unordered=unordered,
            )  # fmt: skip


FAMILY = Family(
    name="aro_published",
    title="ARO as published",
    files={
        "visual_genome_relation*.json": "visual_genome",
        "visual_genome_attribution*.json": "visual_genome",
        "*_neg_clip*.tsv": "coco",
    },
    read=read,
    schema=CHOICE_SCHEMA,
    image_folders=("images", "VG_100K", "VG_100K_2", "val2014", "train2014"),
    licence="mit",
    url="https://github.com/mertyg/vision-language-models-are-bows",
    paper="Yuksekgonul et al. 2023, arXiv:2210.01936",
)
