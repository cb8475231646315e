"""Retrieval among captioned images, whole and perturbed, and pick-the-right-caption on the same captions.

    python -m generators.retrieval coco        # with the stage `aro`: retrieval/coco and aro/coco_order

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), sections 2.2 and 3.1, on Karpathy's test splits. All perturbations
are frozen in the dataset, one split each; a split ``test.x.s0`` is the task ``...@x-s0``.

- ``aro/<set>_order``: a caption and its four perturbations, splits ``test.s0`` to ``test.s4``; chance 1/5;
- ``retrieval/<set>``: an image and its captions; ``test`` as they are, ``test.<perturbation>.s0`` to ``s2`` with one of
  five perturbations of the captions or of three of the images.

A caption that a perturbation cannot change is left out of all splits, so that they have the same captions.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from generators.hard_negatives import word_order
from generators.hard_negatives.patch_order import GRIDS, shuffle_image_patches
from generators.hard_negatives.word_order import TEXT_PERTURBATIONS, Perturbation, Tagger, Words, perturb
from generators.readers.karpathy import CaptionedImage, read_images
from generators.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage import dataset, stage
from generators.storage.atomic import write_json
from generators.storage.crops import crop_id, read_size
from generators.storage.params import read_params

ORDER_SEEDS, RETRIEVAL_SEEDS = range(5), range(3)
"""Of pick-the-right-caption (section 2.2; Table 5 says three) and of perturbed retrieval (Tables 3 and 4)."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """An image with those of its captions that every perturbation changes."""

    image: CaptionedImage
    captions: tuple[Words, ...]

    @cached_property
    def picture(self) -> Row:
        """What the rows of all splits share: the file as it is. Read once, since an image is in thirty splits."""
        box = Box(0.0, 0.0, *map(float, read_size(self.image.path)))
        return {
            "image": {"bytes": self.image.path.read_bytes(), "path": None},
            "crop_id": crop_id(self.image.path, box),
            "image_id": self.image.image_id,
            **box._asdict(),
            "categories": [],
        }

    def row(self, provenance: Row) -> Row:
        """What the rows of all schemas have."""
        return self.picture | {"provenance": provenance}


def make_order_rows(found: Sequence[Entry], seed: int, provenance: Row) -> Iterator[Row]:
    """One row of CHOICE_SCHEMA a caption."""
    for entry in found:
        row = entry.row(provenance | {"seed": seed})
        for words in entry.captions:
            yield row | {"caption": words.text, "hard_negatives": word_order.make_wrong_captions(words, seed)}


def make_plain_rows(found: Sequence[Entry], provenance: Row) -> Iterator[Row]:
    """One row of RETRIEVAL_SCHEMA an image."""
    for entry in found:
        yield entry.row(provenance) | {"captions": [words.text for words in entry.captions]}


def make_perturbed_rows(
    found: Sequence[Entry], perturbation: Perturbation, seed: int, provenance: Row
) -> Iterator[Row]:
    """The same with the words of all captions in another order."""
    for entry in found:
        captions = [perturb(words, perturbation, seed) for words in entry.captions]
        yield entry.row(provenance | {"seed": seed}) | {"captions": captions}


def make_tiled_rows(found: Sequence[Entry], name: str, seed: int, provenance: Row) -> Iterator[Row]:
    """The same with the tiles of all images in another order."""
    for entry, row in zip(found, make_plain_rows(found, provenance | {"seed": seed}), strict=True):
        pixels = shuffle_image_patches(row["image"]["bytes"], name, entry.image.image_id, seed)
        tiled_id = hashlib.sha256(f"{row['crop_id']}:{name}:{seed}".encode()).hexdigest()[:16]
        yield row | {"image": {"bytes": pixels, "path": None}, "crop_id": tiled_id}


def make_retrieval_splits(found: Sequence[Entry], provenance: Row) -> dict[str, Iterator[Row]]:
    """Every split of ``retrieval/<set>``."""
    splits = {"test": make_plain_rows(found, provenance)}
    for seed in RETRIEVAL_SEEDS:
        for one in TEXT_PERTURBATIONS:
            splits[f"test.{one.__name__}.s{seed}"] = make_perturbed_rows(found, one, seed, provenance)
        for name in GRIDS:
            splits[f"test.{name}.s{seed}"] = make_tiled_rows(found, name, seed, provenance)
    return splits


def select_entries(images: Iterable[CaptionedImage], tagger: Tagger, dropped: Counter[str]) -> list[Entry]:
    """The images with a caption that every perturbation changes, each to another order, whatever the seed; ``dropped``
    counts what goes."""
    all_images = list(images)
    tagged = tagger(text for image in all_images for text in image.captions)
    found = []
    for image in all_images:
        captions = [next(tagged) for _ in image.captions]
        kept = tuple(words for words in captions if _has_other_orders(words))
        dropped["captions that some perturbation cannot change"] += len(captions) - len(kept)
        if kept:
            found.append(Entry(image, kept))
        else:
            dropped["images without a caption left"] += 1
    return found


def _has_other_orders(words: Words) -> bool:
    return all(word_order.make_wrong_captions(words, seed) for seed in ORDER_SEEDS) and all(
        perturb(words, one, seed) for one in TEXT_PERTURBATIONS for seed in RETRIEVAL_SEEDS
    )


def write(name: str, found: Sequence[Entry], provenance: Row, output: Path = Path()) -> dict[str, int]:
    """Write both configs; gives the number of captions and images."""
    splits = {f"test.s{seed}": make_order_rows(found, seed, provenance) for seed in ORDER_SEEDS}
    rows = dataset.write_config(output / "aro", f"{name}_order", splits, CHOICE_SCHEMA)
    images = dataset.write_config(
        output / "retrieval", name, make_retrieval_splits(found, provenance), RETRIEVAL_SCHEMA
    )
    return {"captions kept": rows["test.s0"], "images kept": images["test"]}


def main(name: str, source: Path | None = None, output: Path = Path()) -> None:
    """Build the sets of NAME, coco or flickr30k, in the folder OUTPUT, from the files that params.yaml names, or from
    those of the same names in SOURCE."""
    sets = read_params("retrieval")
    if name not in sets:
        raise ValueError(f"params.yaml, retrieval: no set {name!r}; it has {', '.join(sets)}.")
    captions, images = Path(sets[name]["captions"]), Path(sets[name]["images"])
    if source:
        captions, images = source / captions.name, source
    dropped = Counter[str]()
    found = select_entries(read_images(captions, images), Tagger(), dropped)
    provenance = {"source": read_params("source"), "captioner": "karpathy", "seed": 0}
    kept = write(name, found, provenance, output)
    funnels = {f"{name}: captions and images": dict(dropped) | kept}
    for dataset_name in ("aro", "retrieval"):
        write_json(output / "stats" / dataset_name / f"{name}.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
