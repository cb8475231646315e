"""Create a dataset folder from your own images and captions.

    compeval make my_dataset pairs.csv --images photos

The input is a table (csv, tsv, jsonl, json) or a webdataset shard (tar) of images and .txt files. A table has the
columns ``image`` (a file name), ``caption`` or ``captions``, and optionally ``hard_negatives`` of the first caption; in
csv and tsv a list is JSON or a Python literal, ``["a red cup", "a blue cup"]``. Two kinds of configs are written:

- ``captions``: one row per image with all its captions, for retrieval in both directions;
- ``foils_K``: one row per caption that has K hard negatives; chance is 1 / (K + 1).
"""

from __future__ import annotations

import hashlib
import io
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from generators.files import csv_tables
from generators.files.atomic import atomic_folder, check_replaceable
from generators.files.untrusted import (
    UnsafeNameError,
    find_file,
    make_upright_rgb,
    read_file,
    resolve_below,
    safe_name,
)
from generators.readers import shards
from generators.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import crop_id, read_size
from generators.storage.dataset import write_config
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure
from loaders.published.rows import check_text, parse_texts, read_items

FILE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".tar")
MISSING = frozenset({"nan", "NaN", "null", "None", "<NA>"})
"""How programs write a missing value."""


class Entry(NamedTuple):
    """An image with its captions, read from a row or a shard of the input."""

    image_id: str
    """Name of the image in the input, unique for each image."""
    image: Path
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    """Hard negatives of ``captions[0]``; the other captions have none."""


def make(name: str, files: Sequence[Path], image_folder: Path | None, output: Path) -> Stats:
    """Write the dataset folder ``output/name``, replacing an earlier one, and return its statistics.

    Image names are relative to ``image_folder``, by default the folder of each file. Nothing is written before all
    inputs are read. Raises ValueError, with the row number, for an invalid table or an unreadable image, and
    FileNotFoundError for a missing image.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", safe_name(name)):
        raise ValueError(
            f"{name!r} cannot be the name of a dataset: use letters of the English alphabet, digits, '_', '-' and '.'."
        )
    folder = output / name
    check_replaceable(folder)
    with tempfile.TemporaryDirectory() as scratch:
        entries = [
            entry._replace(image_id=entry.image_id if len(files) == 1 else f"{file.name}/{entry.image_id}")
            for file in files
            for entry in read_entries(file, image_folder or file.parent, Path(scratch))
        ]
        if not entries:
            raise ValueError(f"{', '.join(map(str, files))}: no rows found.")
        for entry in entries:
            _check_image(entry.image)
        provenance = {"source": name, "captioner": "own", "seed": 0}
        with atomic_folder(folder) as partial:
            write_config(partial, "captions", {"test": caption_rows(entries, provenance)}, RETRIEVAL_SCHEMA)
            for count in sorted({len(entry.hard_negatives) for entry in entries} - {0}):
                write_config(partial, f"foils_{count}", {"test": foil_rows(entries, count, provenance)}, CHOICE_SCHEMA)
            stats = measure(partial) | {"source": name}
            metadata = {"pretty_name": name, "language": ["en"], "tags": ["compositionality"]}
            write_card(partial, metadata, render("user_files", name=name, stats=stats), stats)
    return stats


def read_entries(file: Path, image_folder: Path, scratch: Path) -> Iterator[Entry]:
    """Yield the rows of one file, in order; images of a shard are written to a folder in ``scratch``."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    if file.suffix not in FILE_SUFFIXES:
        raise ValueError(f"{file}: unknown file type; supported: {', '.join(FILE_SUFFIXES)}.")
    if file.suffix == ".tar":
        yield from _read_shard(file, scratch / hashlib.sha256(str(file).encode()).hexdigest()[:8])
        return
    for number, row in enumerate(_read_table(file), 1):
        try:
            captions = _parse_texts(row.get("captions") or row["caption"])
            negatives = _parse_texts(row.get("hard_negatives") or [])
            image = _locate(str(row["image"]), image_folder)
        except UnsafeNameError as error:
            raise ValueError(f"{file}, row {number}: {error}") from None
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file}, row {number}: {error}. Required columns: image, and caption or captions. Optional: "
                "hard_negatives."
            ) from None
        path = find_file(image)
        if path is None:
            raise FileNotFoundError(f"{file}, row {number}: image {image} not found. Set the folder with --images.")
        yield Entry(str(row["image"]), path, captions, negatives)


def _locate(name: str, image_folder: Path) -> Path:
    """Return the path of an image, which may be absolute if it is below the folder."""
    if Path(name).is_absolute() and Path(name).is_relative_to(image_folder.absolute()):
        name = str(Path(name).relative_to(image_folder.absolute()))
    return resolve_below(image_folder, name)


def _read_table(file: Path) -> Iterable[Any]:
    if file.suffix in (".json", ".jsonl"):
        return read_items(file, file.name, ())
    delimiter = "\t" if file.suffix == ".tsv" else ","
    return (row for _, row in csv_tables.read_numbered(file, ("image",), delimiter, is_ours=False))


def _parse_texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a string, a list of strings, or a string that holds a list. Raises ValueError."""
    if isinstance(value, str):
        value = parse_texts(value)[0] if value.lstrip().startswith("[") else [value]
    if not isinstance(value, (list, tuple)):
        raise ValueError("texts are a string or a list of strings")
    for text in value:
        check_text(text)
        if not text.strip() or text.strip() in MISSING:
            raise ValueError(f"a text is {text.strip() or 'empty'}; leave the cell empty if there is none")
    return tuple(text.strip() for text in value)


def _read_shard(file: Path, folder: Path) -> Iterator[Entry]:
    """Yield the readable pairs of a shard. Their images are written to ``folder`` as ``0``, ``1`` and so on."""
    folder.mkdir(parents=True)
    skipped = Counter[str]()
    for number, (pair, _) in enumerate(shards.read_decoded_pairs(file, skipped)):
        image = folder / str(number)
        image.write_bytes(pair.image.content or b"")
        yield Entry(pair.key, image, (pair.caption,))
    shards.print_skipped(file, skipped)


def caption_rows(entries: Iterable[Entry], provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield rows of RETRIEVAL_SCHEMA, one per image, with all distinct captions of the image."""
    by_image: defaultdict[Path, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_image[entry.image].append(entry)
    for first, *others in by_image.values():
        captions = dict.fromkeys(caption for entry in (first, *others) for caption in entry.captions)
        yield _image_columns(first, provenance) | {"captions": list(captions)}


def foil_rows(entries: Iterable[Entry], count: int, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield rows of CHOICE_SCHEMA, one per entry with ``count`` hard negatives."""
    for entry in entries:
        if len(entry.hard_negatives) == count:
            texts = {"caption": entry.captions[0], "hard_negatives": list(entry.hard_negatives)}
            yield _image_columns(entry, provenance) | texts


def _check_image(path: Path) -> None:
    """Raise ValueError, with the path, if an image cannot be decoded or brought to 8 bits."""
    read_size(path)
    try:
        make_upright_rgb(read_file(path))
    except ValueError as error:
        raise ValueError(f"{path}: not a readable image ({error}).") from None


def _image_columns(entry: Entry, provenance: Mapping[str, Any]) -> dict[str, Any]:
    data = make_upright_rgb(entry.image.read_bytes())
    box = Box(0.0, 0.0, *map(float, Image.open(io.BytesIO(data)).size))
    return {
        "image": {"bytes": data, "path": None},
        "crop_id": crop_id(entry.image, box),
        "image_id": entry.image_id,
        **box._asdict(),
        "categories": [],
        "provenance": dict(provenance),
    }
