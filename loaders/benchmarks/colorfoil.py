"""ColorFoil: a caption of COCO with a colour, and the same caption with another one.

    captions_val2017.json -> config main; chance 1/2

Source: Samin et al. 2024 (arXiv:2405.11685), https://github.com/samin9796/ColorFoil. No file was published: a notebook
makes the set from COCO's captions, with foils drawn without a seed. This follows its rules (zero_shot_evaluation.ipynb
at 1020714): of each image, the first caption with a word that is one of CSS's colour names, in the order of the file;
the foil colour is one of ten. Of the 2,511 images, four are grey and left out by their number, as there. Differences:

- The foil is drawn by a hash of the image and the position of the word, so that it is the same everywhere.
- Whole words are replaced. The notebook replaces letters, so that "a red dog is tired" becomes "a blue dog is tiblue".
- The foil of "gray" is not "grey".

Scores on it are therefore not those of the same rows, but of the same procedure.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import ImageColor

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import read_json

FILE = "captions_val2017.json"
NAMES = frozenset(ImageColor.colormap) - {"rebeccapurple"}
"""The colour names of CSS 3, which the notebook takes from the package webcolors."""
FOILS = ("blue", "black", "red", "pink", "yellow", "grey", "orange", "white", "green", "brown")
IMAGES = 5_000
"""Number of images of COCO's validation set."""
GREY = frozenset({550, 1164, 1752, 2236})
"""Rows of the notebook whose images are grey."""


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    items = read_json(path)
    try:
        images = _find_list(items, "file_name")
        captions = _find_list(items, "caption")
        of_image: dict[int, list[str]] = {image["id"]: [] for image in images}
        for item in captions:
            of_image.setdefault(item["image_id"], []).append(item["caption"])
        files = {image["id"]: image["file_name"] for image in images}
    except (KeyError, TypeError):
        raise ValueError(f"{path}: not a file of COCO's captions.") from None
    number = 0
    for image, file in files.items():
        caption = next(filter(_has_color, of_image[image]), None)
        if caption is None:
            continue
        if len(files) == IMAGES and number in GREY:
            yield Unusable("the image is grey")
        else:
            yield Row("main", (file,), (caption,), (make_foil(caption, image),))
        number += 1


def _find_list(items: list[Any], key: str) -> list[dict[str, Any]]:
    """Return the list of a COCO file whose items have a key."""
    for item in items:
        if isinstance(item, list) and item and key in item[0]:
            return item
    raise KeyError(key)


def _has_color(caption: str) -> bool:
    return any(word in NAMES for word in caption.split(" "))


def make_foil(caption: str, image: int) -> str:
    """Return the caption with other colours."""
    return " ".join(
        _choose(word, f"{image} {position}") if word in NAMES else word
        for position, word in enumerate(caption.split(" "))
    )


def _choose(word: str, key: str) -> str:
    """Return a foil of a colour, chosen by a hash of ``key``."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4])
    others = [color for color in FOILS if color != word.replace("gray", "grey")]
    return others[number % len(others)]


def recognise(name: str, items: list[Any]) -> str | None:
    """Return the published name of COCO's captions, which have four parts."""
    try:
        _find_list(items, "caption")
        _find_list(items, "file_name")
    except (KeyError, TypeError):
        return None
    return FILE


BENCHMARK = Benchmark(
    description="Which of two captions that differ in a colour describes the image?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="ColorFoil",
        homepage="https://github.com/samin9796/ColorFoil",
        licence="code MIT; captions CC BY 4.0, images under their Flickr licences (COCO)",
        citation="Samin et al. 2024, ColorFoil, NAACL Student Research Workshop, arXiv:2405.11685",
        files=(
            RemoteFile(
                url="http://images.cocodataset.org/annotations/annotations_trainval2017.zip",
                makes="annotations",
            ),
        ),
    ),
    images={FILE: COCO},
    read_file=read,
    recognise_file=recognise,
    item="the parts images and annotations of COCO's captions",
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={"main": 2507},
    image_count=2507,
    flaws=(
        Flaw(
            rows="all rows",
            what="no file was published, and the foils of the authors are drawn without a seed: scores "
            "are of the same procedure, not of the same rows",
            source="the authors' notebook",
        ),
        Flaw(
            rows="rows without a colour",
            what="CSS names things as well, such as tomato, snow, salmon, chocolate and orange: the "
            '"colour" may be an object',
            source="the list of CSS",
        ),
    ),
)
