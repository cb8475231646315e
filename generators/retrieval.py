"""ARO's caption order tasks, and image-caption retrieval with original and perturbed images or captions.

    python -m generators.retrieval coco        # stage `aro`: writes retrieval/coco and aro/coco_order

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), sections 2.2 and 3.1, on the test images of Karpathy's splits. The
perturbed texts and images are part of the datasets. A dataset split ``test.x.s0`` is the task ``...@x-s0``: the
perturbation ``x`` with the random seed 0.

- ``aro/<set>_order``: choose the caption among the caption and its four perturbations. Splits ``test.s0`` to
  ``test.s4``, one per seed. Chance: 1/5.
- ``retrieval/<set>``: retrieve images by captions and captions by images. The split ``test`` has the original images
  and captions. ``test.<perturbation>.s0`` to ``test.<perturbation>.s2`` have one of five perturbations of the captions
  or one of three perturbations of the images.

A caption that one of the perturbations cannot change is left out of all splits, so all splits have the same captions.
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
from generators.storage.input_sources import MICROWORLD, read_sources
from generators.storage.params import read_params

ORDER_SEEDS = range(5)
"""Seeds of the order tasks, as in section 2.2 (Table 5 says three)."""
RETRIEVAL_SEEDS = range(3)
"""Seeds of perturbed retrieval (Tables 3 and 4)."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """An image and its captions that every perturbation changes."""

    image: CaptionedImage
    captions: tuple[Words, ...]

    @cached_property
    def image_cells(self) -> Row:
        """The columns that the image's rows have in every split. Cached, because an image is in thirty splits."""
        box = Box(0.0, 0.0, *map(float, read_size(self.image.path)))
        return {
            "image": {"bytes": self.image.path.read_bytes(), "path": None},
            "crop_id": crop_id(self.image.path, box),
            "image_id": self.image.image_id,
            **box._asdict(),
            "categories": [],
        }

    def make_row(self, provenance: Row) -> Row:
        """Return the columns that CHOICE_SCHEMA and RETRIEVAL_SCHEMA share."""
        return self.image_cells | {"provenance": provenance}


def make_order_rows(entries: Sequence[Entry], seed: int, provenance: Row) -> Iterator[Row]:
    """Yield one row of CHOICE_SCHEMA per caption."""
    for entry in entries:
        row = entry.make_row(provenance | {"seed": seed})
        for words in entry.captions:
            yield row | {"caption": words.text, "hard_negatives": word_order.make_wrong_captions(words, seed)}


def make_plain_rows(entries: Sequence[Entry], provenance: Row) -> Iterator[Row]:
    """Yield one row of RETRIEVAL_SCHEMA per image, with the original captions."""
    for entry in entries:
        yield entry.make_row(provenance) | {"captions": [words.text for words in entry.captions]}


def make_perturbed_rows(
    entries: Sequence[Entry], perturbation: Perturbation, seed: int, provenance: Row
) -> Iterator[Row]:
    """Yield one row of RETRIEVAL_SCHEMA per image, with perturbed captions."""
    for entry in entries:
        captions = [perturb(words, perturbation, seed) for words in entry.captions]
        yield entry.make_row(provenance | {"seed": seed}) | {"captions": captions}


def make_shuffled_rows(entries: Sequence[Entry], grid: str, seed: int, provenance: Row) -> Iterator[Row]:
    """Yield one row of RETRIEVAL_SCHEMA per image, with the image's patches in another order (a key of ``GRIDS``)."""
    for entry, row in zip(entries, make_plain_rows(entries, provenance | {"seed": seed}), strict=True):
        data = shuffle_image_patches(row["image"]["bytes"], grid, entry.image.image_id, seed)
        shuffled_id = hashlib.sha256(f"{row['crop_id']}:{grid}:{seed}".encode()).hexdigest()[:16]
        yield row | {"image": {"bytes": data, "path": None}, "crop_id": shuffled_id}


def make_retrieval_splits(entries: Sequence[Entry], provenance: Row) -> dict[str, Iterator[Row]]:
    """Return split name -> rows for ``retrieval/<set>``."""
    splits = {"test": make_plain_rows(entries, provenance)}
    for seed in RETRIEVAL_SEEDS:
        for perturbation in TEXT_PERTURBATIONS:
            rows = make_perturbed_rows(entries, perturbation, seed, provenance)
            splits[f"test.{perturbation.__name__}.s{seed}"] = rows
        for grid in GRIDS:
            splits[f"test.{grid}.s{seed}"] = make_shuffled_rows(entries, grid, seed, provenance)
    return splits


def select_entries(images: Iterable[CaptionedImage], tagger: Tagger, dropped: Counter[str]) -> list[Entry]:
    """Return the images with at least one caption that every perturbation changes, with every seed.

    Adds the numbers of removed captions and images to ``dropped``.
    """
    all_images = list(images)
    tagged_captions = tagger(text for image in all_images for text in image.captions)
    entries = []
    for image in all_images:
        captions = [next(tagged_captions) for _ in image.captions]
        selected = tuple(words for words in captions if _can_be_perturbed(words))
        dropped["captions that some perturbation cannot change"] += len(captions) - len(selected)
        if selected:
            entries.append(Entry(image, selected))
        else:
            dropped["images without a caption left"] += 1
    return entries


def _can_be_perturbed(words: Words) -> bool:
    return all(word_order.make_wrong_captions(words, seed) for seed in ORDER_SEEDS) and all(
        perturb(words, perturbation, seed) for perturbation in TEXT_PERTURBATIONS for seed in RETRIEVAL_SEEDS
    )


def write(name: str, entries: Sequence[Entry], provenance: Row, output: Path = Path()) -> dict[str, int]:
    """Write both configs; return the number of captions and images."""
    splits = {f"test.s{seed}": make_order_rows(entries, seed, provenance) for seed in ORDER_SEEDS}
    captions = dataset.write_config(output / "aro", f"{name}_order", splits, CHOICE_SCHEMA)
    retrieval_splits = make_retrieval_splits(entries, provenance)
    images = dataset.write_config(output / "retrieval", name, retrieval_splits, RETRIEVAL_SCHEMA)
    return {"captions kept": captions["test.s0"], "images kept": images["test"]}


def main(name: str, source: Path | None = None, output: Path = Path()) -> None:
    """Build the datasets of NAME (coco or flickr30k) in the folder OUTPUT.

    The caption file and the image folder are set in params.yaml. With SOURCE, files of the same names in the
    micro-world folder SOURCE are used instead.
    """
    sources, sets = read_sources(), read_params("retrieval")
    if name not in sets:
        raise ValueError(f"params.yaml, retrieval: no set {name!r}; it has {', '.join(sets)}.")
    caption_file, image_folder = Path(sets[name]["captions"]), Path(sets[name]["images"])
    if source:
        caption_file, image_folder = source / caption_file.name, source
    dropped = Counter[str]()
    entries = select_entries(read_images(caption_file, image_folder), Tagger(), dropped)
    provenance = {"source": MICROWORLD if source else sources[f"retrieval.{name}"], "captioner": "karpathy", "seed": 0}
    counts = write(name, entries, provenance, output)
    funnels = {f"{name}: captions and images": dict(dropped) | counts}
    for dataset_name in ("aro", "retrieval"):
        write_json(output / "stats" / dataset_name / f"{name}.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
