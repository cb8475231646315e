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

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compeval.base.files.atomic import atomic_folder, check_replaceable
from compeval.base.files.hashes import hash_file
from compeval.base.files.untrusted import safe_name
from compeval.base.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from compeval.base.storage import parquet
from compeval.base.storage.crops import crop_id
from compeval.base.storage.dataset import write_config
from compeval.base.storage.image_ids import ImageIds
from compeval.loaders.cards.card import render, write_card
from compeval.loaders.datasets.stats import Stats, measure
from compeval.loaders.own_data.columns import UserColumns
from compeval.loaders.own_data.entries import (
    STANDARD_COLUMNS,
    Entry,
    check_is_table,
    find_table,
    list_categories,
    read_entries,
    read_upright,
)
from compeval.loaders.own_data.left_out import LeftOut

if TYPE_CHECKING:
    from compeval.loaders.own_data.options import NegativeOptions


def make(
    name: str,
    files: Sequence[Path],
    image_folder: Path | None,
    output: Path,
    columns: UserColumns = STANDARD_COLUMNS,
    negatives: NegativeOptions | None = None,
    *,
    drop_equal: bool = False,
    left_out: LeftOut | None = None,
) -> Stats:
    """Write the dataset folder ``output/name``, replacing an earlier one, and return its statistics.

    Image names are relative to ``image_folder``, by default the folder of each file. Nothing is written before all
    inputs are read. ``negatives``: the hard negatives to make, if any; then each image is stored once, and memory does
    not depend on the number of rows. ``drop_equal``: drop hard negatives that equal a caption or another negative of
    their row. ``left_out``: the split that is read, by default ``test``, and whether rows with errors are skipped.

    Raises ValueError, with the row number, for an invalid table, an unreadable image, or a hard negative that equals a
    caption, and FileNotFoundError for a missing image.
    """
    left_out = left_out or LeftOut()
    check_dataset_name(name)
    files = [find_table(file, left_out.split) for file in files]
    folder = output / name
    check_replaceable(folder)
    check_is_table(files, image_folder, columns)
    provenance = {"source": name, "captioner": "own", "seed": 0}
    with tempfile.TemporaryDirectory() as scratch:
        entries = _read_all(files, image_folder, Path(scratch), columns, drop_equal, left_out)
        first = [*islice(entries, 1)]  # a wrong column is an error before spaCy is imported
        if not first:
            skipped = left_out.describe_skipped()
            what = f"no rows are left. {skipped}" if skipped else "no rows found."
            raise ValueError(f"{', '.join(map(str, files))}: {what}")
        entries = chain(first, entries)
        if negatives is not None:
            from compeval.loaders.own_data.negatives import write_configs

            with atomic_folder(folder) as partial:
                build_counts = write_configs(entries, partial, Path(scratch), negatives, provenance)
                return _write_card(partial, name, {"negatives": build_counts})
        return _write_plain(folder, list(entries), provenance)


def check_dataset_name(name: str) -> None:
    """Raise ValueError if a name cannot be that of a dataset folder."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", safe_name(name)):
        raise ValueError(
            f"{name!r} cannot be the name of a dataset: use letters of the English alphabet, digits, '_', '-' and '.'."
        )


def _write_plain(folder: Path, entries: Sequence[Entry], provenance: Mapping[str, Any]) -> Stats:
    """Write a dataset folder without made negatives, with the images in its rows."""
    for entry in entries:
        read_upright(entry.image)
    with atomic_folder(folder) as partial:
        write_config(
            partial, "captions", {"test": caption_rows(entries, provenance)}, RETRIEVAL_SCHEMA
        )
        for count in sorted({len(entry.hard_negatives) for entry in entries} - {0}):
            write_config(
                partial,
                f"foils_{count}",
                {"test": foil_rows(entries, count, provenance)},
                CHOICE_SCHEMA,
            )
        return _write_card(partial, folder.name, {})


def _write_card(folder: Path, name: str, counts: Stats) -> Stats:
    stats = measure(folder) | {"source": name} | counts
    metadata = {"pretty_name": name, "language": ["en"], "tags": ["compositionality"]}
    chances = {config: _describe_chance(folder, config) for config in stats["rows"]}
    write_card(
        folder, metadata, render("user_files", name=name, stats=stats, chances=chances), stats
    )
    return stats


def _describe_chance(folder: Path, config: str) -> str:
    """Return the chance of Recall@1, from the first row: "1 / 5", or "1 / images"."""
    path = min((folder / config).glob("*.parquet"))
    if "hard_negatives" not in parquet.read_schema(path).names:
        return "1 / images"
    first = next(parquet.read_batches(path, 1, ["hard_negatives"]), None)
    return f"1 / {len(first['hard_negatives'][0]) + 1}" if first is not None else "-"


def _read_all(
    files: Sequence[Path],
    image_folder: Path | None,
    scratch: Path,
    columns: UserColumns,
    drop_equal: bool,
    left_out: LeftOut,
) -> Iterator[Entry]:
    """Yield the entries of all files. Different pictures have different ids, also if their names are equal.

    With several files, the name of a file is part of an image's id.
    """
    ids = ImageIds()
    hashes = dict[Path, str]()
    for file in files:
        for entry in read_entries(
            file,
            image_folder or file.parent,
            scratch,
            columns,
            drop_equal=drop_equal,
            left_out=left_out,
        ):
            name = entry.image_id if len(files) == 1 else f"{file.name}/{entry.image_id}"
            if entry.image not in hashes:
                hashes[entry.image] = hash_file(entry.image)
            yield entry._replace(image_id=ids.find(hashes[entry.image], name))


def caption_rows(
    entries: Iterable[Entry], provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield rows of RETRIEVAL_SCHEMA, one per image, with all distinct captions of the image."""
    by_image: defaultdict[Path, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_image[entry.image].append(entry)
    for first, *others in by_image.values():
        captions = dict.fromkeys(
            caption for entry in (first, *others) for caption in entry.captions
        )
        yield _image_columns(first, provenance) | {"captions": list(captions)}


def foil_rows(
    entries: Iterable[Entry], count: int, provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield rows of CHOICE_SCHEMA, one per entry with ``count`` hard negatives."""
    for entry in entries:
        if len(entry.hard_negatives) == count:
            texts = {"caption": entry.captions[0], "hard_negatives": list(entry.hard_negatives)}
            yield (
                _image_columns(entry, provenance)
                | texts
                | {"categories": list_categories(entry.kind)}
            )


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
