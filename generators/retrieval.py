"""ARO's caption order tasks, and image-caption retrieval with original and perturbed images or captions.

    python -m compeval.generators.retrieval coco        # stage `test_split`; writes to parts/retrieval and parts/aro

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), sections 2.2 and 3.1, on the test images of Karpathy's splits. A
dataset split ``test.x.s0`` is the task ``...@x-s0``: the perturbation ``x`` with the random seed 0.

- ``aro/<set>_order``: choose the caption among the caption and its four perturbations. Splits ``test.s0`` to
  ``test.s4``, one per seed. Chance: 1/5. A caption without four different perturbations is left out.
- ``retrieval/<set>``: retrieve images by captions and captions by images. The split ``test`` ("No shuffling") has all
  images with all captions. ``test.<perturbation>.s0`` to ``test.<perturbation>.s2`` have one of five perturbations of
  the captions or one of three perturbations of the images. All splits have the same images and captions: as in the
  paper, a caption that a perturbation cannot change stays as it is. These captions are counted.

Perturbed captions are part of the dataset. Perturbed images are made when a row is read, from the order of the patches
in the column ``patches``. Each image is stored once: by reference, or in the first row of the config that shows it, to
which ``image_row`` points.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.draw_keys import make_source_key
from compeval.base.files.atomic import write_json
from compeval.base.files.untrusted import read_file
from compeval.base.pipeline import stage
from compeval.base.pipeline.input_sources import MICROWORLD, read_sources
from compeval.base.pipeline.params import OURS, PAPER, read_params, read_rules
from compeval.base.readers.karpathy import CaptionedImage, read_images
from compeval.base.schemas.rows import (
    CHOICE_SCHEMA,
    RETRIEVAL_SCHEMA,
    ImageStorage,
    add_patches,
    use_shared_images,
)
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage import dataset
from compeval.base.storage.crops import Crop, make_crop_id, read_sha256, read_size
from compeval.base.storage.patches import Patches
from compeval.generators.hard_negatives.aro import word_order
from compeval.generators.hard_negatives.aro.patch_order import GRIDS, draw_patches
from compeval.generators.hard_negatives.aro.word_order import (
    TEXT_PERTURBATIONS,
    Tagger,
    Words,
    perturb,
)

ORDER_SEEDS = range(5)
"""Seeds of the order tasks, as in section 2.3 (Table 5 says three)."""
RETRIEVAL_SEEDS = range(3)
"""Seeds of perturbed retrieval (Tables 3 and 4)."""

Row = dict[str, Any]


class RetrievalRules(NamedTuple):
    """Functions that clean the captions, and crop an image before its patches are put in another order."""

    clean_captions: Callable[[CaptionedImage], CaptionedImage]
    crop: Callable[[Box], Box]


def _clean_captions(image: CaptionedImage) -> CaptionedImage:
    texts = dict.fromkeys(map(word_order.clean_caption, image.captions))
    return image._replace(captions=tuple(text for text in texts if text))


def crop_centre(box: Box) -> Box:
    """Return the central square of an image, which CLIP's preprocessing crops."""
    side = min(box.width, box.height)
    return Box(float((box.width - side) // 2), float((box.height - side) // 2), side, side)


RULES = {
    OURS: RetrievalRules(lambda image: image, lambda box: box),
    PAPER: RetrievalRules(_clean_captions, crop_centre),
}
"""By the value of ``rules``. The authors clean captions, and shuffle the patches of an image after it was resized and
cropped. Here the central square is cut into patches before it is resized, so only the pixels between two patches
differ. Embedded images are stored whole, so their patches are those of the whole image."""


class Entry(NamedTuple):
    """A readable image with its captions, of which there is at least one."""

    image: CaptionedImage
    captions: tuple[Words, ...]
    sha256: str
    """Hash of the image file."""
    box: Box
    """The whole image."""
    key: str = ""
    """Seeds the orders of the captions (base/draw_keys.py)."""

    def make_key(self, index: int, seed: int) -> str:
        """Return the key of one caption for a seed."""
        return f"{self.key}:{index}:{seed}"

    def make_row(self, provenance: Row, patches: Patches | None = None) -> Row:
        """Return the columns that CHOICE_SCHEMA and RETRIEVAL_SCHEMA share, except for the image."""
        return {
            "crop_id": make_crop_id(self.sha256, self.box, patches),
            "image_id": self.image.image_id,
            **self.box._asdict(),
            "categories": [],
            "patches": patches and patches._asdict(),
            "provenance": provenance,
        }

    def make_image_cells(self, image_row: int, is_first: bool, storage: ImageStorage) -> Row:
        """Return the image of a row: a reference, or the file's bytes if the row is the first that shows it."""
        if storage == "by_reference":
            return {"image": Crop(self.image.path, self.box), "image_row": image_row}
        image = {"bytes": read_file(self.image.path), "path": None} if is_first else None
        return {"image": image, "image_row": image_row}


def make_order_rows(
    entries: Iterable[Entry], seed: int, provenance: Row, storage: ImageStorage
) -> Iterator[Row]:
    """Yield one row of CHOICE_SCHEMA per caption that has four different perturbations with every seed."""
    image_row = 0
    for entry in entries:
        row = entry.make_row(provenance | {"seed": seed})
        indices = [
            index
            for index, words in enumerate(entry.captions)
            if has_wrong_captions(words, tuple(entry.make_key(index, seed) for seed in ORDER_SEEDS))
        ]
        for index in indices:
            words = entry.captions[index]
            negatives = word_order.make_wrong_captions(words, entry.make_key(index, seed))
            texts = {"caption": words.text, "hard_negatives": negatives}
            is_first = seed == ORDER_SEEDS[0] and index == indices[0]
            yield row | texts | entry.make_image_cells(image_row, is_first, storage)
        image_row += len(indices)


@lru_cache(maxsize=1 << 17)
def has_wrong_captions(words: Words, keys: tuple[str, ...]) -> bool:
    """Return True if the caption has four different perturbations with every key."""
    return all(word_order.make_wrong_captions(words, key) for key in keys)


def make_retrieval_key(words: Words, name: str, seed: int) -> str:
    """Return the seed of a perturbed caption. It may contain the caption: the true one is not among the texts."""
    return f"{seed}:{name}:{words.text}"


def make_retrieval_rows(
    entries: Iterable[Entry], name: str, seed: int, provenance: Row, storage: ImageStorage
) -> Iterator[Row]:
    """Yield one row of RETRIEVAL_SCHEMA per image. ``name``: a perturbation, or "" for the original."""
    perturbation = {function.__name__: function for function in TEXT_PERTURBATIONS}.get(name)
    for number, entry in enumerate(entries):
        patches = draw_patches(name, entry.image.image_id, seed) if name in GRIDS else None
        captions = [
            (perturbation and perturb(words, perturbation, make_retrieval_key(words, name, seed)))
            or words.text
            for words in entry.captions
        ]
        row = entry.make_row(provenance | {"seed": seed}, patches) | {"captions": captions}
        yield row | entry.make_image_cells(number, not name, storage)


def make_retrieval_splits(
    entries: Sequence[Entry], provenance: Row, storage: ImageStorage, rules: RetrievalRules
) -> dict[str, Iterator[Row]]:
    """Return split name -> rows for ``retrieval/<set>``."""
    splits = {"test": make_retrieval_rows(entries, "", 0, provenance, storage)}
    for name, seed in product(
        [*(function.__name__ for function in TEXT_PERTURBATIONS), *GRIDS], RETRIEVAL_SEEDS
    ):
        is_cropped = name in GRIDS and storage == "by_reference"
        shown = (
            [entry._replace(box=rules.crop(entry.box)) for entry in entries]
            if is_cropped
            else entries
        )
        splits[f"test.{name}.s{seed}"] = make_retrieval_rows(shown, name, seed, provenance, storage)
    return splits


def read_entries(
    images: Iterable[CaptionedImage], tagger: Tagger, skipped: Counter[str]
) -> list[Entry]:
    """Return the images that have captions and can be read. The others are counted in ``skipped``."""
    readable: list[tuple[CaptionedImage, str, Box]] = []
    for image in images:
        if not image.captions:
            skipped["images without captions"] += 1
            continue
        try:
            readable.append(
                (image, read_sha256(image.path), Box(0.0, 0.0, *map(float, read_size(image.path))))
            )
        except (OSError, ValueError) as error:
            if not skipped["unreadable images"]:
                print(f"Unreadable images are left out. The first: {error}", file=sys.stderr)
            skipped["unreadable images"] += 1
    tagged = tagger(text for image, _, _ in readable for text in image.captions)
    source_key = make_source_key(text for image, _, _ in readable for text in image.captions)
    return [
        Entry(
            image,
            tuple(islice(tagged, len(image.captions))),
            sha256,
            box,
            f"{source_key}:{image.image_id}",
        )
        for image, sha256, box in readable
    ]


def count_unchanged(entries: Iterable[Entry]) -> dict[str, int]:
    """Return the number of captions that each perturbation leaves as they are, with some seed."""
    captions = [words for entry in entries for words in entry.captions]
    return {
        f"captions that {perturbation.__name__} leaves as they are": sum(
            any(
                perturb(words, perturbation, make_retrieval_key(words, perturbation.__name__, seed))
                is None
                for seed in RETRIEVAL_SEEDS
            )
            for words in captions
        )
        for perturbation in TEXT_PERTURBATIONS
    }


def write(
    name: str,
    entries: Sequence[Entry],
    provenance: Row,
    storage: ImageStorage,
    output: Path = Path(),
    rules: RetrievalRules = RULES[OURS],
) -> dict[str, dict[str, int]]:
    """Write both configs; return dataset -> counts of images and captions."""
    splits = {
        f"test.s{seed}": make_order_rows(entries, seed, provenance, storage) for seed in ORDER_SEEDS
    }
    schema = add_patches(use_shared_images(CHOICE_SCHEMA))
    rows = dataset.write_config(
        output / dataset.PARTS / "aro", f"{name}_order", splits, schema, storage
    )["test.s0"]
    splits = make_retrieval_splits(entries, provenance, storage, rules)
    schema = add_patches(use_shared_images(RETRIEVAL_SCHEMA))
    dataset.write_config(output / dataset.PARTS / "retrieval", name, splits, schema, storage)
    counts = {"images": len(entries), "captions": sum(len(entry.captions) for entry in entries)}
    dropped = {
        "captions without four different perturbations": counts["captions"] - rows,
        "captions kept": rows,
    }
    return {"aro": counts | dropped, "retrieval": counts | count_unchanged(entries)}


def main(name: str, source: Path | None = None, output: Path = Path()) -> None:
    """Build the datasets of NAME (coco or flickr30k) in the folder OUTPUT.

    The caption file and the image folder are set in params.yaml. With SOURCE, files of the same names in the
    micro-world folder SOURCE are used instead.
    """
    sources = read_sources()
    sets = read_params("retrieval")
    if name not in sets:
        raise ValueError(f"params.yaml, retrieval: no set {name!r}; it has {', '.join(sets)}.")
    caption_file = Path(sets[name]["captions"])
    image_folder = Path(sets[name]["images"])
    if source:
        caption_file = source / caption_file.name
        image_folder = source
    rules = RULES[read_rules()]
    skipped = Counter[str]()
    images = map(rules.clean_captions, read_images(caption_file, image_folder, ("test",)))
    entries = read_entries(images, Tagger(), skipped)
    if not entries:
        raise ValueError(
            f"{caption_file}: there is no readable image with captions ({dict(skipped)})."
        )
    storage = dataset.read_image_storage()
    provenance = {
        "source": MICROWORLD if source else sources[f"retrieval.{name}"],
        "captioner": "karpathy",
        "seed": 0,
    }
    for dataset_name, counts in write(name, entries, provenance, storage, output, rules).items():
        funnels = {f"{name}: captions and images": dict(skipped) | counts}
        write_json(output / "stats" / dataset_name / f"{name}.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
