"""A dataset folder from a user's own images and captions.

    compeval make mine pairs.csv --images photos

A file is a table (csv, tsv, jsonl, json) with the columns ``image`` (a file name), ``caption`` or ``captions``, and
optionally ``hard_negatives`` of the caption (in csv and tsv, lists are Python literals); or a webdataset shard (tar) of
images and .txt files. Configs: ``captions``, an image and all its captions, for retrieval in both directions; and
``foils_K``, a caption and K hard negatives, chance 1 / (K + 1).
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from generators.readers import shards
from generators.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import crop_id, read_size
from generators.storage.dataset import write_config
from loaders.benchmarks.rows import json_items, parse_texts
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure

FILE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".tar")


class Entry(NamedTuple):
    image_id: str
    image: Path
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    """Negatives of the first caption."""


def make(name: str, files: Sequence[Path], images: Path | None, output: Path) -> Stats:
    """Write ``output/name`` and return its statistics.

    Image names are relative to ``images``, or to the folder of each file.
    ValueError, with the row number, for an invalid table or an unreadable image; FileNotFoundError for a missing image.
    All rows are read before anything is written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        entries = [entry for file in files for entry in read_entries(file, images or file.parent, Path(scratch))]
        if not entries:
            raise ValueError(f"{', '.join(map(str, files))}: no row.")
        for entry in entries:
            read_size(entry.image)
        provenance = {"source": name, "captioner": "own", "seed": 0}
        folder = output / name
        write_config(folder, "captions", {"test": caption_rows(entries, provenance)}, RETRIEVAL_SCHEMA)
        for count in sorted({len(entry.hard_negatives) for entry in entries} - {0}):
            write_config(folder, f"foils_{count}", {"test": foil_rows(entries, count, provenance)}, CHOICE_SCHEMA)
    stats = measure(folder) | {"source": name}
    metadata = {"pretty_name": name, "language": ["en"], "tags": ["compositionality"]}
    write_card(folder, metadata, render("user_files", name=name, stats=stats), stats)
    return stats


def read_entries(file: Path, images: Path, scratch: Path) -> Iterator[Entry]:
    """The rows of one file, in order; images of a shard are written below ``scratch``."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    if file.suffix not in FILE_SUFFIXES:
        raise ValueError(f"{file}: unknown file type; supported: {', '.join(FILE_SUFFIXES)}.")
    if file.suffix == ".tar":
        yield from _read_shard(file, scratch / hashlib.sha256(str(file).encode()).hexdigest()[:8])
        return
    for number, row in enumerate(_read_table(file), 1):
        try:
            captions = _texts(row.get("captions") or row["caption"])
            negatives = _texts(row.get("hard_negatives") or [])
            image = images / str(row["image"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file}, row {number}: {error}. A row has image, caption or captions, and optionally hard_negatives."
            ) from None
        if not image.is_file():
            raise FileNotFoundError(f"{file}, row {number}: no image {image}. --images names the folder of the images.")
        yield Entry(image.stem, image, captions, negatives)


def _read_table(file: Path) -> Iterable[Any]:
    if file.suffix == ".json":
        return json_items(file)
    text = file.read_text(encoding="utf-8-sig")
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return csv.DictReader(text.splitlines(keepends=True), delimiter="\t" if file.suffix == ".tsv" else ",")


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """The texts of one text, a list of texts, or the literal of a list."""
    if isinstance(value, str):
        value = parse_texts(value)[0] if value.lstrip().startswith("[") else [value]
    texts = tuple(text.strip() for text in value)
    if not all(texts):
        raise ValueError("a text is empty")
    return texts


def _read_shard(file: Path, folder: Path) -> Iterator[Entry]:
    """The readable pairs of a shard, with their images in ``folder`` under numbers instead of the shard's names."""
    folder.mkdir(parents=True)
    skipped = Counter[str]()
    for number, (pair, _) in enumerate(shards.read_decoded_pairs(file, skipped)):
        image = folder / str(number)
        image.write_bytes(pair.image.content or b"")
        yield Entry(PurePosixPath(pair.key).name, image, (pair.caption,))
    shards.print_skipped(file, skipped)


def caption_rows(entries: Iterable[Entry], provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of RETRIEVAL_SCHEMA, one per image with its distinct captions."""
    by_image: dict[Path, list[Entry]] = {}
    for entry in entries:
        by_image.setdefault(entry.image, []).append(entry)
    for of_image in by_image.values():
        captions = dict.fromkeys(caption for entry in of_image for caption in entry.captions)
        yield _image_columns(of_image[0], provenance) | {"captions": list(captions)}


def foil_rows(entries: Iterable[Entry], count: int, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of CHOICE_SCHEMA, one per entry with ``count`` hard negatives."""
    for entry in entries:
        if len(entry.hard_negatives) == count:
            texts = {"caption": entry.captions[0], "hard_negatives": list(entry.hard_negatives)}
            yield _image_columns(entry, provenance) | texts


def _image_columns(entry: Entry, provenance: Mapping[str, Any]) -> dict[str, Any]:
    box = Box(0.0, 0.0, *map(float, read_size(entry.image)))
    return {
        "image": {"bytes": entry.image.read_bytes(), "path": None},
        "crop_id": crop_id(entry.image, box),
        "image_id": entry.image_id,
        **box._asdict(),
        "categories": [],
        "provenance": dict(provenance),
    }
