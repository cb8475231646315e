"""What'sUp: captions that differ in a preposition.

    controlled_{images,clevr}_dataset.json -> controlled_a, controlled_b   sets of four images with one caption each
    {coco,vg}_qa_{one,two}_obj.json        -> configs of the same names    an image, a caption and a wrong one

Source: Kamath, Hessel and Chang 2023 (arXiv:2310.19785), https://github.com/amitakamath/whatsup_vlms. The images of a
set show the same two objects on the left, on the right, on (in front) and under (behind); a row is a set. Chance of the
accuracy 1/4 for the sets and 1/2 for the others. The authors choose the highest score, and a tie goes to the caption
that is first in the file, which is always the true one.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    VISUAL_GENOME,
    AuthorsRule,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
)
from compeval.loaders.published.declaration import hit_with_ties
from compeval.loaders.published.rows import Unusable, get_fields, read_each, read_json
from compeval.loaders.published.schemas import set_schema

CONTROLLED = {
    "controlled_images_dataset.json": ("controlled_a", ("left", "right", "on", "under")),
    "controlled_clevr_dataset.json": ("controlled_b", ("left", "right", "in-front", "behind")),
}
"""Config and order of the prepositions of each file of sets; the first two and the last two are opposites."""
PREPOSITIONS = ("left", "right", "above", "below", "front", "behind", "top", "bottom")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows or sets of one file, in order."""
    if name in CONTROLLED:
        return _sets(read_json(path), *CONTROLLED[name])
    config = Path(name).stem

    def make_row(item: list[Any]) -> Row:
        image, caption, wrong_caption = item
        image_name = f"{image:0>12}.jpg" if config.startswith("coco") else f"{image}.jpg"
        words = caption.lower().rstrip(".").split()
        # The last word about one object, else the first known word.
        prepositions = (
            [word for word in words if word in PREPOSITIONS] if "two_obj" in config else []
        )
        categories = (("preposition", (prepositions or words[-1:])[0]),)
        return Row(config, (image_name,), (caption,), (wrong_caption,), categories=categories)

    return read_each(read_json(path), make_row)


def _sets(
    items: Sequence[Any], config: str, prepositions: Sequence[str]
) -> Iterator[Row | Unusable]:
    """Yield a row for each set of images. Images are named <object>_<preposition>..._<other object>."""
    sets: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for item in items:
        try:
            first, preposition, *_, last = PurePosixPath(item["image_path"]).stem.split("_")
            sets.setdefault((first, last), {})[preposition] = item
        except (KeyError, TypeError, ValueError):
            yield Unusable("fields are missing")

    def make_row(entry: tuple[tuple[str, str], dict[str, dict[str, Any]]]) -> Row:
        objects, by_preposition = entry
        members = [
            by_preposition[preposition]
            for preposition in prepositions
            if preposition in by_preposition
        ]
        captions = tuple(member["caption_options"][0] for member in members)
        if len(members) != len(prepositions) or len(by_preposition) != len(prepositions):
            raise ValueError("the set does not have one image for each preposition")
        if any(sorted(member["caption_options"]) != sorted(captions) for member in members):
            raise ValueError("the images of the set have different captions")
        return Row(
            config,
            tuple(member["image_path"] for member in members),
            captions,
            image_id="_".join(objects),
        )

    yield from read_each(sets.items(), make_row)


def recognise(name: str, items: list[Any]) -> str | None:
    """Recognise renamed files. The numbers of COCO's images do not differ from those of Visual Genome's, nor the
    captions of one object surely from those of two, so the name has to contain coco or vg, and one or two."""
    if get_fields(items) >= {"image_path", "caption_options"}:
        kind = "clevr" if "clevr" in str(items[0]["image_path"]) else "images"
        return f"controlled_{kind}_dataset.json"
    if not (
        items
        and isinstance(items[0], list)
        and [type(part) for part in items[0]] == [int, str, str]
    ):
        return None
    source = re.search("coco|vg", name.lower())
    count = re.search("one|two", name.lower())
    return f"{source[0]}_qa_{count[0]}_obj.json" if source and count else None


def _choose_first(score_NIT: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits of the authors in sets: the true caption has the highest score or shares it."""
    hit_NI = np.diagonal(score_NIT, axis1=1, axis2=2) >= score_NIT.max(axis=2)
    return {
        "": hit_NI,
        "pair": hit_NI.reshape(len(hit_NI), -1, 2).all(axis=2),
        "set": hit_NI.all(axis=1),
    }


TIES = "A tie goes to the caption that is first in the file, which is the true one."
IMAGE_ARCHIVES = (
    RemoteFile(
        url="https://drive.usercontent.google.com/download?id=19KGYVQjrV3syb00GgcavB2nZTW5NXX0H&export=download&confirm=t",
        name="controlled_images.tar.gz",
        makes="controlled_images",
    ),
    RemoteFile(
        url="https://drive.usercontent.google.com/download?id=13jdBpg8t3NqW3jrL6FK8HO93vwsUjDxG&export=download&confirm=t",
        name="controlled_clevr.tar.gz",
        makes="controlled_clevr",
    ),
)
IMAGES_A, IMAGES_B = (
    ImageSet(f"whatsup_{archive.makes}", (archive.final_name,), archives=(archive,))
    for archive in IMAGE_ARCHIVES
)
PINNED_FILES = (
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1ap8mmmpQjLIjPGuplkpBgc1hoEHCj4hm&export=download&confirm=t", name="controlled_images_dataset.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1unNNosLbdy9NDjgj4l8fsQP3WiAAGA6z&export=download&confirm=t", name="controlled_clevr_dataset.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1RsMdpE9mmwnK4zzMPpC1-wTU_hNis-dq&export=download&confirm=t", name="coco_qa_one_obj.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1TCEoM0mgFmz8T4cF7PQ3XJmO6JjtiQ-s&export=download&confirm=t", name="coco_qa_two_obj.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1ARMRzRdohs9QTr1gpIfzyUzvW20wYp_p&export=download&confirm=t", name="vg_qa_one_obj.json"),
    RemoteFile(url="https://drive.usercontent.google.com/download?id=1sjVG5O3QMY8s118k7kQM8zzDZH12i_95&export=download&confirm=t", name="vg_qa_two_obj.json"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which preposition, such as left, right, on or under, describes the image?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="What'sUp",
        homepage="https://github.com/amitakamath/whatsup_vlms",
        licence="MIT; images: the authors', COCO and Visual Genome, under their own licences",
        citation='Kamath, Hessel and Chang 2023, What\'s "up" with vision-language models?, EMNLP, '
        "arXiv:2310.19785",
        files=PINNED_FILES,
        image_archives=IMAGE_ARCHIVES,
    ),
    images={
        "controlled_images_dataset.json": IMAGES_A,
        "controlled_clevr_dataset.json": IMAGES_B,
        "coco_qa_*_obj.json": COCO,
        "vg_qa_*_obj.json": VISUAL_GENOME,
    },
    read_file=read,
    recognise_file=recognise,
    item="the keys image_path and caption_options, or lists [image number, caption, wrong caption]",
    schema=CHOICE_SCHEMA,
    other_schemas={"controlled_*": set_schema(4)},
    chance={"controlled_*": 1 / 4, "*_qa_*": 1 / 2},
    authors={
        "controlled_*": AuthorsRule(
            TIES, _choose_first, {"": 1 / 4, "pair": 1 / 16, "set": 1 / 256}
        ),
        "*_qa_*": AuthorsRule(TIES, hit_with_ties, {"": 1 / 2}),
    },
    rows={
        "controlled_a": 103,
        "controlled_b": 102,
        "coco_qa_one_obj": 2247,
        "coco_qa_two_obj": 440,
        "vg_qa_one_obj": 1160,
        "vg_qa_two_obj": 291,
    },
    flaws=(
        Flaw(
            rows="all rows",
            what="the true caption is the first; an argmax of equal scores chooses it",
            source="the authors",
        ),
    ),
)
