"""ARO as its authors released it, and the training and validation captions of NegCLIP.

    visual_genome_{relation,attribution}.json -> vg_relation, vg_attribution   one swapped caption, a crop
    {coco_karpathy,flickr30k}_{val,test}.json -> coco_order, flickr30k_order   four shuffles of a caption, whole images
    {train,valid}_neg_clip.tsv                -> negclip_K, split train or valid   K swapped captions, whole images

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), https://github.com/mertyg/vision-language-models-are-bows.
Chance is 1/2, 1/5 for the order sets, and 1/(K + 1) for NegCLIP's captions with K negatives. `compeval train negclip`
trains on NegCLIP's file (trainers/negclip/published.py).

The shuffled captions of COCO-Order and Flickr30k-Order were never released: the authors' code draws them at random.
Here they are drawn by generators/hard_negatives/aro/word_order.py, with seed 0, and for the variants ``@s1`` to ``@s4``
with seeds 1 to 4 (section 2.3: five seeds).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compeval.base.draw_keys import make_source_key
from compeval.base.readers import karpathy
from compeval.base.texts import normalize_text
from compeval.generators.hard_negatives.aro.word_order import Tagger, make_wrong_captions
from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    FLICKR30K,
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import (
    get_fields,
    parse_box,
    parse_texts,
    read_csv,
    read_each,
    read_json,
)

ORDER_SEED, *FURTHER_SEEDS = range(5)


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    if name.endswith(".tsv"):
        return _negclip(path, name)
    if not name.startswith("visual_genome"):
        return _order(path, name)
    return _visual_genome(path, name)


def _visual_genome(path: Path, name: str) -> Iterator[Row | Unusable]:
    kind = Path(name).stem.removeprefix("visual_genome_").split(".")[0]

    def make_row(item: dict[str, Any]) -> Row:
        is_relation = kind == "relation"
        name = item["relation_name"] if is_relation else "_".join(item["attributes"][:2])
        return Row(
            f"vg_{kind}",
            (item["image_path"],),
            (item["true_caption"],),
            (item["false_caption"],),
            image_id=str(item["image_id"]),
            box=parse_box(*(item[f"bbox_{side}"] for side in "xywh")),
            swaps=True,
            categories=(("relation" if is_relation else "attribute pair", name),),
        )

    return read_each(read_json(path), make_row)


def _order(path: Path, name: str) -> Iterator[Row | Unusable]:
    source = name.split("_")[0]
    split = Path(name).stem.rsplit("_", 1)[-1]
    captions = [
        (item.image_id, caption)
        for item in karpathy.read_images(path, Path())
        for caption in item.captions
    ]
    entries = [(entry["image"], entry["caption"]) for entry in read_json(path)]
    texts = [
        (image, text)
        for image, entry in entries
        for text in ([entry] if isinstance(entry, str) else entry)
    ]
    # The reader of the captions returns their normal form: "Architects & Engineers" for "Architects &amp; Engineers".
    normalized = [(image, normalize_text(text).strip()) for image, text in texts]
    published = {
        key: text for key, (_, text) in zip(reversed(normalized), reversed(texts), strict=True)
    }
    source_key = make_source_key(caption for _, caption in captions)
    tagged = Tagger()(text for _, text in captions)
    for number, ((image, caption), words) in enumerate(zip(captions, tagged, strict=True)):
        shuffles = make_wrong_captions(words, f"{source_key}:{number}:{ORDER_SEED}")
        if shuffles is None:
            yield Unusable("a shuffle would leave the caption unchanged")
        else:
            yield Row(
                f"{source}_order",
                images=(image,),
                captions=(words.text,),
                hard_negatives=tuple(shuffles),
                split=split,
                swaps=True,
                changed=words.text != published[image, caption],
            )
    empty = sum(not text for _, text in normalized)
    yield from [Unusable("a caption is empty")] * empty
    yield from [Unusable("the image has this caption twice")] * (len(texts) - empty - len(captions))


def _draw_further_orders(rows: Mapping[tuple[str, str], Sequence[Row]]) -> Iterator[Row]:
    """Yield the rows of the order sets with captions that are shuffled with other seeds."""
    for (config, split), of_split in rows.items():
        if not config.endswith("_order"):
            continue
        captions = list(Tagger()(row.captions[0] for row in of_split))
        source_key = make_source_key(row.captions[0] for row in of_split)
        for seed in FURTHER_SEEDS:
            for number, (row, words) in enumerate(zip(of_split, captions, strict=True)):
                if shuffles := make_wrong_captions(words, f"{source_key}:{number}:{seed}"):
                    yield row._replace(hard_negatives=tuple(shuffles), split=f"{split}.s{seed}")


def _negclip(path: Path, name: str) -> Iterator[Row | Unusable]:
    split = name.split("_")[0]

    def make_row(item: dict[str, str]) -> Row:
        negatives, unordered = parse_texts(item.get("neg_caption", ""))
        if not negatives:
            raise ValueError("there are no negatives")
        return Row(
            f"negclip_{len(negatives)}",
            images=(item["filepath"],),
            captions=(item["title"],),
            hard_negatives=negatives,
            split=split,
            swaps=True,
            unordered=unordered,
        )

    return read_each(read_csv(path, ("title", "filepath", "neg_caption")), make_row)


def recognise(name: str, items: list[Any]) -> str | None:
    """The kind follows from the fields; the split of NegCLIP's captions from the folders of their images."""
    fields = get_fields(items)
    if name.endswith(".tsv") and {"title", "filepath", "neg_caption"} <= fields:
        split = "train" if any("train2014" in row.get("filepath", "") for row in items) else "valid"
        return f"{split}_neg_clip.tsv"
    if {"true_caption", "false_caption", "bbox_x"} <= fields:
        return f"visual_genome_{'attribution' if 'attributes' in fields else 'relation'}.json"
    if {"image", "caption"} <= fields and name.endswith(".json"):
        split = re.search(r"val|test", name)
        images = {str(row.get("image", "")) for row in items if isinstance(row, dict)}
        source = "flickr30k" if any("flickr30k" in image for image in images) else "coco_karpathy"
        has_source = source == "flickr30k" or any("val2014/" in image for image in images)
        return f"{source}_{split[0]}.json" if split and has_source else None
    return None


PINNED_FILES = (
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1kX2iCHEv0CADL8dSO1nMdW-V0NqIAiP3&export=download&confirm=t", name="visual_genome_relation.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=13tWvOrNOLHxl3Rm9cR3geAdHx2qR3-Tw&export=download&confirm=t", name="visual_genome_attribution.json"),
    RemoteFile(url="https://raw.githubusercontent.com/mertyg/vision-language-models-are-bows/81fdd20dc5b6f434aa5a4a971717bc80d1cedb0d/temp_data/valid_neg_clip.tsv", size=1018978, sha256="a9d00160062384faa2423df728ee3c15db05503fcbb28c212de11a6c8741eff4"),
    RemoteFile(url="https://storage.googleapis.com/sfr-vision-language-research/datasets/coco_karpathy_test.json"),
    RemoteFile(url="https://storage.googleapis.com/sfr-vision-language-research/datasets/flickr30k_test.json"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two captions with exchanged words, or of five word orders, describes the "
    "image?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="ARO as published",
        homepage="https://github.com/mertyg/vision-language-models-are-bows",
        licence="MIT; images and annotations CC BY 4.0 (Visual Genome)",
        citation="Yuksekgonul et al. 2023, When and why vision-language models behave like "
        "bags-of-words, ICLR, arXiv:2210.01936",
        files=PINNED_FILES,
    ),
    images={
        "visual_genome_relation*.json": VISUAL_GENOME,
        "visual_genome_attribution*.json": VISUAL_GENOME,
        "coco_karpathy_*.json": COCO,
        "flickr30k_*.json": FLICKR30K,
        "*_neg_clip*.tsv": COCO,
    },
    read_file=read,
    join=_draw_further_orders,
    recognise_file=recognise,
    item="the keys true_caption, false_caption and bbox_x (Visual Genome), image and caption (orders), or the columns "
    "title, filepath, neg_caption (NegCLIP)",
    schema=CHOICE_SCHEMA,
    chance={
        "vg_*": 1 / 2,
        "*_order": 1 / 5,
        **{f"negclip_{count}": 1 / (count + 1) for count in range(1, 6)},
    },
    changes={
        "*_order": "the shuffles are ours (seed 0, and 1 to 4 in @s1 to @s4), because the authors' were never "
        "released; a first word that is capitalised only because it starts the sentence is in lower case"
    },
    tested=True,
    unseen="vg_relation and vg_attribution as the authors serve them (rows of copies of both files were read)",
    rows={
        "vg_relation": 23937,
        "vg_attribution": 28748,
        "negclip_1/valid": 2891,
        "negclip_2/valid": 1418,
        "negclip_3/valid": 480,
        "negclip_4/valid": 47,
        "negclip_5/valid": 3,
    },
    flaws=(
        Flaw(
            rows="524 of 7,208 rows of vg_relation",
            what="the false caption is the true caption of another row of the same image",
            source="counted in a copy of the file",
        ),
    ),
)
