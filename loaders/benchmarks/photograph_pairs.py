"""ControlledImCaps of photographs: a file of pairs, published or accepted by a person, becomes a dataset.

    python -m loaders.benchmarks.photograph_pairs pairs.csv sources/coco/val2017     # writes
    controlledimcaps_photographs/

The file is a CSV with the columns ``type, image_0, image_1, caption_0, caption_1`` (Kamath, Hessel and Chang 2023,
section 2.2: six types, captions that differ in one word); with a column ``accepted``, as
generators/hard_negatives/pair_candidates.py
writes it, only its rows with ``yes`` count. An image is named by its file, with or without its ending.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from generators.storage import csv_tables, dataset, stage
from generators.storage.atomic import atomic_folder
from loaders.cards.card import Stats, measure, table, write_card
from loaders.cards.controlledimcaps import PROBED_BY

FOLDER = Path("controlledimcaps_photographs")
NEEDED = ("type", "image_0", "image_1", "caption_0", "caption_1")
ENDINGS = ("", ".jpg", ".png", ".jpeg")


def read(path: Path) -> list[dict[str, str]]:
    """The accepted pairs. ValueError with the line for a type, a caption or an answer that cannot be."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    found = [row for line, row in csv_tables.numbered(path, NEEDED) if _accepted(path, line, row)]
    if not found:
        raise ValueError(f"{path}: no accepted pair. Write yes into the column accepted of those that are right.")
    return found


def _accepted(path: Path, line: int, row: Mapping[str, str | None]) -> bool:
    answer = (row.get("accepted", "yes") or "").strip().lower()
    if answer not in ("yes", "no", ""):
        raise ValueError(f"{path}, line {line}: accepted is {answer!r}; yes, no or nothing expected.")
    if answer != "yes":
        return False
    if row["type"] not in PROBED_BY:
        raise ValueError(f"{path}, line {line}: unknown type {row['type']!r}; known are {', '.join(PROBED_BY)}.")
    if words_apart(row["caption_0"] or "", row["caption_1"] or "") != 1:
        raise ValueError(f"{path}, line {line}: the captions do not differ in exactly one word.")
    return True


def words_apart(one: str, other: str) -> int:
    """In how many places two captions have different words; all of the longer one's where they are not as long."""
    a, b = one.split(), other.split()
    return sum(x != y for x, y in zip(a, b, strict=True)) if len(a) == len(b) else max(len(a), len(b))


def find(images: Path, name: str) -> Path:
    """The file of an image. FileNotFoundError if it is not in the folder."""
    for ending in ENDINGS:
        if (path := images / f"{Path(name).name}{ending}").is_file():
            return path
    raise FileNotFoundError(f"{images}: no image {name}, with or without an ending.")


def rows(pairs: list[dict[str, str]], images: Path, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of GROUP_SCHEMA."""
    for number, pair in enumerate(pairs):
        files = [find(images, pair[f"image_{place}"]).read_bytes() for place in (0, 1)]
        yield dataset.group_cells(files, (pair["caption_0"], pair["caption_1"])) | {
            "image_id": f"{pair['type']}-{number}",
            "categories": [{"by": "type", "name": pair["type"]}],
            "provenance": dict(provenance),
        }


def body(stats: Stats, path: str) -> str:
    """The card's text."""
    counts = [(kind, splits["test"]) for kind, splits in stats["rows"].items()]
    return f"""# ControlledImCaps on photographs

Pairs of photographs whose captions differ in exactly one word, from `{path}`; dataset version `{stats["version"]}`.
After Kamath, Hessel and Chang 2023 ([arXiv:2305.14897](https://arxiv.org/abs/2305.14897)), section 2.2. The licence is
that of the photographs.

Text score: both pictures prefer their own caption. Image score: both captions prefer their own picture. Group: both.
A tie is a loss. Chance: 1/4, 1/4, 1/6.

{table(("type", "pairs"), counts)}"""


def main(pairs: Path, images: Path, output: Path = FOLDER) -> None:
    """Make the dataset folder OUTPUT of the PAIRS file and the folder of IMAGES."""
    by_type: dict[str, list[dict[str, str]]] = defaultdict(list)
    for pair in read(pairs):
        by_type[pair["type"]].append(pair)
    provenance = {"source": "photographs", "captioner": "by hand", "seed": 0}
    with atomic_folder(output) as scratch:
        for kind, found in by_type.items():
            dataset.write_config(scratch, kind, {"test": rows(found, images, provenance)}, GROUP_SCHEMA)
    stats: Stats = measure(output) | {"source": "photographs"}
    metadata = {"pretty_name": "ControlledImCaps (photographs)", "license": "other", "language": ["en"]}
    write_card(output, metadata, body(stats, pairs.name), stats)


if __name__ == "__main__":
    stage.run(main)
