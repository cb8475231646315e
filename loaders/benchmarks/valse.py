"""VALSE: eleven files of captions with a foil each, for six linguistic phenomena.

    {existence,plurals,counting-*,relations,action-replacement,actant-swap,coreference-*,foil-it}.json -> configs of the
    same names with _ in place of -; chance 1/2

Source: Parcalabescu et al. 2022 (arXiv:2112.07566), https://github.com/Heidelberg-NLP/VALSE. The files also contain
rows that the annotators rejected. As in the authors' evaluation, a row is used if at least two of its three annotators
chose the caption and not the foil. The images are whole images of five collections.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, COCO, SWIG, VISDIAL, VISUAL7W, Benchmark, Row

MIN_VOTES = 2


def make_row(item: dict[str, Any], file: str) -> Row:
    if item["mturk"]["caption"] < MIN_VOTES:
        raise ValueError(f"fewer than {MIN_VOTES} of three annotators chose the caption")
    config, image = Path(file).stem.replace("-", "_"), item["image_file"]
    caption, foil = (item["caption"],), (item["foil"],)
    image_set = {"SWiG": SWIG, "visual7w": VISUAL7W}.get(item["dataset"], COCO)
    if str(image).startswith("VisualDialog"):
        image_set = VISDIAL
    return Row(config, (image,), caption, foil, swaps=config == "actant_swap", image_set=image_set)


BENCHMARK = Benchmark(
    images=COCO,
    make_row=make_row,
    fields=("caption", "foil", "mturk", "image_file", "linguistic_phenomena"),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
)
