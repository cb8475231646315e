"""Read ARO as its authors released it, and the training and validation captions of NegCLIP.

    visual_genome_{relation,attribution}.json -> vg_relation, vg_attribution   one swapped caption, a crop
    {coco_karpathy,flickr30k}_{val,test}.json -> coco_order, flickr30k_order   four shuffles of a caption, whole images
    {train,valid}_neg_clip.tsv                -> negclip_K, split train or valid   K swapped captions, whole images

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), https://github.com/mertyg/vision-language-models-are-bows.
Chance is 1/2, 1/5 for the order sets, and 1/(K + 1) for NegCLIP's captions with K negatives. `compeval train negclip`
trains on NegCLIP's file (trainers/negclip/published.py).

The shuffled captions of COCO-Order and Flickr30k-Order were never released: the authors' code draws them at random.
Here they are drawn by generators/hard_negatives/word_order.py with seed 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.hard_negatives.word_order import Tagger, make_wrong_captions
from generators.readers import karpathy
from generators.schemas.rows import CHOICE_SCHEMA
from loaders.benchmarks.rows import Family, Row, Unusable, parse_box, parse_texts, read_csv, read_each, read_json

ORDER_SEED = 0


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    if name.endswith(".tsv"):
        return _negclip(path, name)
    if not name.startswith("visual_genome"):
        return _order(path, name)
    return _visual_genome(path, name)


def _visual_genome(path: Path, name: str) -> Iterator[Row | Unusable]:
    kind = Path(name).stem.removeprefix("visual_genome_").split(".")[0]

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
            parse_box(*(item[f"bbox_{side}"] for side in "xywh")),
            item["true_caption"],
            (item["false_caption"],),
            swaps=True,
            categories=(category,),
        )

    return read_each(read_json(path), row)


def _order(path: Path, name: str) -> Iterator[Row | Unusable]:
    source, split = name.split("_")[0], Path(name).stem.rsplit("_", 1)[-1]
    captions = [(item.image_id, caption) for item in karpathy.read_images(path, Path()) for caption in item.captions]
    for (image, _), words in zip(captions, Tagger()(caption for _, caption in captions), strict=True):
        shuffles = make_wrong_captions(words, ORDER_SEED)
        if shuffles is None:
            yield Unusable("a shuffle would leave the caption unchanged")
        else:
            yield Row(f"{source}_order", split, Path(image).stem, image, None, words.text, tuple(shuffles), swaps=True)


def _negclip(path: Path, name: str) -> Iterator[Row | Unusable]:
    split = name.split("_")[0]
    for row in read_csv(path, ("title", "filepath", "neg_caption"), "\t"):
        try:
            negatives, unordered = parse_texts(row["neg_caption"])
        except (ValueError, KeyError):
            yield Unusable("the negatives are not a list of texts")
            continue
        image = row["filepath"]
        if not negatives:
            yield Unusable("there are no negatives")
            continue
        yield Row(
            f"negclip_{len(negatives)}", split, Path(image).stem, image, None, row["title"], negatives, swaps=True,
            unordered=unordered,
        )  # fmt: skip


FAMILY = Family(
    name="aro_published",
    title="ARO as published",
    files={
        "visual_genome_relation*.json": "visual_genome",
        "visual_genome_attribution*.json": "visual_genome",
        "coco_karpathy_*.json": "coco",
        "flickr30k_*.json": "flickr30k",
        "*_neg_clip*.tsv": "coco",
    },
    read=read,
    schema=CHOICE_SCHEMA,
    image_folders=("images", "VG_100K", "VG_100K_2", "val2014", "train2014", "flickr30k-images"),
    licence="mit",
    url="https://github.com/mertyg/vision-language-models-are-bows",
    paper="Yuksekgonul et al. 2023, arXiv:2210.01936",
)
