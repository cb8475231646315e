"""Create a dataset folder from your own images and captions.

    compeval make my_dataset pairs.csv --images photos
    compeval make my_dataset pairs.csv --images photos --negatives atom,swap,negation --corpus training.tsv

The input is a table (csv, tsv, jsonl, json) or a webdataset shard (tar) of images and .txt files. A table has the
columns ``image`` (a file name), ``caption`` or ``captions``, and optionally ``hard_negatives`` of the first caption, or
those that :class:`UserColumns` names; in csv and tsv a list is JSON or a Python literal, ``["a red cup", "a cup"]``.
These configs are written:

- ``captions``: one row per image with all its captions, for retrieval in both directions;
- ``foils_K``: one row per caption that has K hard negatives of its own; chance is 1 / (K + 1);
- with ``--negatives``, one config for each kind of hard negatives that are made (own_data/negatives.py).
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from PIL import Image

from generators.files import csv_tables
from generators.files.atomic import atomic_folder, check_replaceable
from generators.files.untrusted import find_file, make_upright_rgb, read_file, resolve_below, safe_name
from generators.language.texts import fold_case_and_space
from generators.readers import karpathy, shards
from generators.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage import parquet
from generators.storage.crops import crop_id, read_size
from generators.storage.dataset import write_config
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure
from loaders.own_data.columns import UserColumns, UserTexts
from loaders.published.rows import read_items

if TYPE_CHECKING:
    from loaders.own_data.options import NegativeOptions

SHARD_SUFFIXES = (".tar", ".tar.gz")
FILE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", *SHARD_SUFFIXES)
STANDARD_COLUMNS = UserColumns()


class Entry(NamedTuple):
    """An image with its captions, read from a row or a shard of the input."""

    image_id: str
    """Name of the image in the input, unique for each image."""
    image: Path
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    """Hard negatives of ``captions[0]``; the other captions have none."""
    kind: str = ""
    """The kind of the hard negatives, or ""."""


def make(
    name: str,
    files: Sequence[Path],
    image_folder: Path | None,
    output: Path,
    columns: UserColumns = STANDARD_COLUMNS,
    negatives: NegativeOptions | None = None,
    *,
    drop_equal: bool = False,
) -> Stats:
    """Write the dataset folder ``output/name``, replacing an earlier one, and return its statistics.

    Image names are relative to ``image_folder``, by default the folder of each file. Nothing is written before all
    inputs are read. ``negatives``: the hard negatives to make, if any; then each image is stored once, and memory does
    not depend on the number of rows. ``drop_equal``: drop hard negatives that equal a caption or another negative of
    their row.

    Raises ValueError, with the row number, for an invalid table, an unreadable image, or a hard negative that equals a
    caption, and FileNotFoundError for a missing image.
    """
    _check_name(name)
    folder = output / name
    check_replaceable(folder)
    check_is_table(files, image_folder, columns)
    provenance = {"source": name, "captioner": "own", "seed": 0}
    with tempfile.TemporaryDirectory() as scratch:
        entries = _read_all(files, image_folder, Path(scratch), columns, drop_equal)
        first = [*islice(entries, 1)]  # a wrong column is an error before spaCy is imported
        if not first:
            raise ValueError(f"{', '.join(map(str, files))}: no rows found.")
        entries = chain(first, entries)
        if negatives is not None:
            from loaders.own_data.negatives import write_configs

            with atomic_folder(folder) as partial:
                made = write_configs(entries, partial, Path(scratch), negatives, provenance)
                return _write_card(partial, name, {"negatives": made})
        return _write_plain(folder, list(entries), provenance)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", safe_name(name)):
        raise ValueError(
            f"{name!r} cannot be the name of a dataset: use letters of the English alphabet, digits, '_', '-' and '.'."
        )


def _write_plain(folder: Path, entries: Sequence[Entry], provenance: Mapping[str, Any]) -> Stats:
    """Write a dataset folder without made negatives, with the images in its rows."""
    for entry in entries:
        read_upright(entry.image)
    with atomic_folder(folder) as partial:
        write_config(partial, "captions", {"test": caption_rows(entries, provenance)}, RETRIEVAL_SCHEMA)
        for count in sorted({len(entry.hard_negatives) for entry in entries} - {0}):
            write_config(partial, f"foils_{count}", {"test": foil_rows(entries, count, provenance)}, CHOICE_SCHEMA)
        return _write_card(partial, folder.name, {})


def check_is_table(files: Sequence[Path], image_folder: Path | str | None, columns: UserColumns) -> None:
    """Raise ValueError if columns or a folder of images are given, but no file is a table."""
    if (image_folder or columns != STANDARD_COLUMNS) and all(file.name.endswith(SHARD_SUFFIXES) for file in files):
        raise ValueError(
            f"{files[0]}: a shard has neither columns nor a folder of images: it contains the images, with their "
            "captions in .txt files. Leave out these options."
        )


def _write_card(folder: Path, name: str, counts: Stats) -> Stats:
    stats = measure(folder) | {"source": name} | counts
    metadata = {"pretty_name": name, "language": ["en"], "tags": ["compositionality"]}
    chances = {config: _describe_chance(folder, config) for config in stats["rows"]}
    write_card(folder, metadata, render("user_files", name=name, stats=stats, chances=chances), stats)
    return stats


def _describe_chance(folder: Path, config: str) -> str:
    """Return the chance of Recall@1, from the first row: "1 / 5", or "1 / images"."""
    path = min((folder / config).glob("*.parquet"))
    if "hard_negatives" not in parquet.read_schema(path).names:
        return "1 / images"
    first = next(parquet.read_batches(path, 1, ["hard_negatives"]), None)
    return f"1 / {len(first['hard_negatives'][0]) + 1}" if first is not None else "-"


def _read_all(
    files: Sequence[Path], image_folder: Path | None, scratch: Path, columns: UserColumns, drop_equal: bool
) -> Iterator[Entry]:
    """Yield the entries of all files. With several files, the name of a file is part of an image's id."""
    for file in files:
        for entry in read_entries(file, image_folder or file.parent, scratch, columns, drop_equal=drop_equal):
            yield entry._replace(image_id=entry.image_id if len(files) == 1 else f"{file.name}/{entry.image_id}")


def read_entries(
    file: Path,
    image_folder: Path,
    scratch: Path,
    columns: UserColumns = STANDARD_COLUMNS,
    *,
    drop_equal: bool = False,
) -> Iterator[Entry]:
    """Yield the rows of one file, in order; images of a shard are written to a folder in ``scratch``."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    if not file.name.endswith(FILE_SUFFIXES):
        raise ValueError(f"{file}: unknown file type; supported: {', '.join(FILE_SUFFIXES)}.")
    if file.name.endswith(SHARD_SUFFIXES):
        yield from _read_shard(file, scratch / hashlib.sha256(str(file).encode()).hexdigest()[:8])
        return
    for number, row in enumerate(_read_table(file), 1):
        try:
            if not isinstance(row, Mapping):
                raise ValueError(f"got {type(row).__name__}, expected an object with the columns of a row.")
            texts = columns.read(row)
            if number == 1 and (unread := columns.find_unread(row)):
                print(
                    f"{file}: not read: the columns {', '.join(unread)}. Hard negatives are read from hard_negatives; "
                    "--negative-columns names other columns.",
                    file=sys.stderr,
                )
            negatives = _select_distinct(texts, drop_equal=drop_equal)
            image = _locate(texts.image, image_folder)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file}, row {number}: {error}") from None
        path = find_file(image)
        if path is None:
            reason = "not found. Restore it, or" if image.parent.is_dir() else f"not found: no folder {image.parent};"
            raise FileNotFoundError(f"{file}, row {number}: image {image} {reason} set the folder with --images.")
        yield Entry(texts.image, path, texts.captions, negatives, texts.kind)


def _select_distinct(texts: UserTexts, *, drop_equal: bool) -> tuple[str, ...]:
    """Return the hard negatives that differ from the captions and from each other.

    Raises ValueError, unless ``drop_equal``, if one equals a caption, or is there twice.
    """
    captions, distinct = {_fold(caption) for caption in texts.captions}, dict[str, str]()
    for text in texts.negatives:
        key = _fold(text)
        if not drop_equal and (key in captions or key in distinct):
            what = "equals a caption" if key in captions else "is there twice"
            raise ValueError(f"the hard negative {text!r} {what}. Correct it, or drop such texts: --drop-equal.")
        if key not in captions:
            distinct.setdefault(key, text)
    return tuple(distinct.values())


def _fold(text: str) -> str:
    """Return a text without differences of case, spaces and the final stop."""
    return fold_case_and_space(text).rstrip(" .")


def _locate(name: str, image_folder: Path) -> Path:
    """Return the path of an image, which may be absolute if it is below the folder."""
    if Path(name).is_absolute() and Path(name).is_relative_to(image_folder.absolute()):
        name = str(Path(name).relative_to(image_folder.absolute()))
    return resolve_below(image_folder, name)


def _read_table(file: Path) -> Iterable[Any]:
    if file.suffix == ".json":
        return karpathy.read_entries(file)
    if file.suffix == ".jsonl":
        return read_items(file, file.name, ())
    delimiter = "\t" if file.suffix == ".tsv" else ","
    return (row for _, row in csv_tables.read_numbered(file, (), delimiter, is_ours=False))


def _read_shard(file: Path, folder: Path) -> Iterator[Entry]:
    """Yield the readable pairs of a shard. Their images are written to ``folder`` as ``0``, ``1`` and so on."""
    folder.mkdir(parents=True)
    skipped = Counter[str]()
    keys = set[str]()
    for number, (pair, _) in enumerate(shards.read_decoded_pairs(file, skipped)):
        if pair.key in keys:
            skipped["with the key of an earlier sample"] += 1
            continue
        keys.add(pair.key)
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
            yield _image_columns(entry, provenance) | texts | {"categories": list_categories(entry.kind)}


def list_categories(kind: str) -> list[dict[str, str]]:
    """Return the column ``categories`` of a row whose hard negatives have a kind, or none."""
    return [{"by": "kind", "name": kind}] if kind else []


def read_upright(path: Path) -> tuple[bytes, Box]:
    """Return an image file with upright 8-bit pixels, and its area.

    Raises FileNotFoundError or ValueError, with the path, if it is missing or cannot be decoded.
    """
    read_size(path)
    try:
        data = make_upright_rgb(read_file(path))
    except ValueError as error:
        raise ValueError(f"{path}: not a readable image ({error}).") from None
    return data, Box(0.0, 0.0, *map(float, Image.open(io.BytesIO(data)).size))


def _image_columns(entry: Entry, provenance: Mapping[str, Any]) -> dict[str, Any]:
    data, box = read_upright(entry.image)
    return {
        "image": {"bytes": data, "path": None},
        "crop_id": crop_id(entry.image, box),
        "image_id": entry.image_id,
        **box._asdict(),
        "categories": [],
        "provenance": dict(provenance),
    }
