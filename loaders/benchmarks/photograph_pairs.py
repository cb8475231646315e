"""Build ControlledImCaps on photographs from a file of pairs that were published or accepted by a person.

    # writes controlledimcaps_photographs/
    python -m compeval.loaders.benchmarks.photograph_pairs pairs.csv sources/coco/val2017

The file is a CSV with the columns ``type, image_0, image_1, caption_0, caption_1`` (Kamath, Hessel and Chang 2023,
section 2.2: six types, captions that differ in one word). If it has a column ``accepted``, as written by
generators/hard_negatives/photograph_pairs.py, only rows with ``yes`` are used. Images are given by file name, with or
without suffix.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.base.files import csv_tables
from compeval.base.files.atomic import atomic_folder
from compeval.base.files.untrusted import is_file
from compeval.base.pipeline import stage
from compeval.base.schemas.rows import GROUP_SCHEMA
from compeval.base.storage import dataset
from compeval.loaders.cards.card import render, write_card
from compeval.loaders.datasets.stats import Stats, measure
from compeval.loaders.papers.figures import figures

COLUMNS = ("type", "image_0", "image_1", "caption_0", "caption_1")
SUFFIXES = ("", ".jpg", ".png", ".jpeg")


def read(path: Path) -> list[dict[str, str]]:
    """Return the accepted pairs. Raises ValueError, with the line, if a type, caption or answer is invalid."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    pairs: list[dict[str, str]] = []
    types = figures("controlledimcaps")["types"]
    for line, row in csv_tables.read_numbered(path, COLUMNS):
        answer = (row.get("accepted", "yes") or "").strip().lower()
        if answer not in ("yes", "no", ""):
            raise ValueError(
                f"{path}, line {line}: accepted is {answer!r}; expected yes, no or an empty cell."
            )
        if answer != "yes":
            continue
        if row["type"] not in types:
            raise ValueError(
                f"{path}, line {line}: unknown type {row['type']!r}; known: {', '.join(types)}."
            )
        if count_different_words(row["caption_0"], row["caption_1"]) != 1:
            raise ValueError(
                f"{path}, line {line}: the captions do not differ in exactly one word."
            )
        pairs.append(row)
    if not pairs:
        raise ValueError(
            f"{path}: no accepted pair. Write yes into the column accepted of each correct pair."
        )
    return pairs


def count_different_words(caption_0: str, caption_1: str) -> int:
    """Return the number of word positions at which two captions differ, or the longer length if the lengths differ."""
    a = caption_0.split()
    b = caption_1.split()
    return (
        sum(x != y for x, y in zip(a, b, strict=True)) if len(a) == len(b) else max(len(a), len(b))
    )


def find_image(folder: Path, name: str) -> Path:
    """Return the path of an image. Raises FileNotFoundError if the image is not in the folder."""
    for suffix in SUFFIXES:
        if is_file(path := folder / f"{Path(name).name}{suffix}"):
            return path
    raise FileNotFoundError(f"{folder}: no image {name}, with or without a suffix.")


def make_rows(pairs: list[dict[str, str]], image_folder: Path) -> Iterator[dict[str, Any]]:
    """Yield rows of GROUP_SCHEMA, one per pair."""
    for number, pair in enumerate(pairs):
        files = [
            find_image(image_folder, pair[f"image_{position}"]).read_bytes() for position in (0, 1)
        ]
        yield dataset.make_group_cells(files, (pair["caption_0"], pair["caption_1"])) | {
            "image_id": f"{pair['type']}-{number}",
            "categories": [{"by": "type", "name": pair["type"]}],
            "provenance": {"source": "photographs", "captioner": "by hand", "seed": 0},
        }


def main(pairs: Path, images: Path, output: Path = Path("controlledimcaps_photographs")) -> None:
    """Build the dataset folder OUTPUT from the file PAIRS and the folder IMAGES."""
    by_type: dict[str, list[dict[str, str]]] = defaultdict(list)
    for pair in read(pairs):
        by_type[pair["type"]].append(pair)
    with atomic_folder(output) as scratch:
        for pair_type, type_pairs in by_type.items():
            dataset.write_config(
                scratch, pair_type, {"test": make_rows(type_pairs, images)}, GROUP_SCHEMA
            )
    stats: Stats = measure(output) | {"source": "photographs"}
    metadata = {
        "pretty_name": "ControlledImCaps (photographs)",
        "license": "other",
        "language": ["en"],
    }
    write_card(
        output,
        metadata,
        render("controlledimcaps_photographs", stats=stats, file=pairs.name, figures=figures),
        stats,
    )


if __name__ == "__main__":
    stage.run(main)
