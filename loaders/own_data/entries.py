"""Read your own images and captions, from tables or webdataset shards (docs/my-own-data.md)."""

from __future__ import annotations

import hashlib
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from compeval.base.files import csv_tables
from compeval.base.files.untrusted import (
    IMAGES_VARIABLE,
    find_file,
    is_inside,
    make_upright_rgb,
    read_file,
    resolve_below,
)
from compeval.base.readers import karpathy, shards
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import read_size
from compeval.base.texts import fold_case_and_space
from compeval.loaders.own_data.columns import UserColumns, UserTexts
from compeval.loaders.own_data.left_out import ALL, LeftOut
from compeval.loaders.published.rows import read_items

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


def check_is_table(
    files: Sequence[Path], image_folder: Path | str | None, columns: UserColumns
) -> None:
    """Raise ValueError if columns or a folder of images are given, but no file is a table."""
    if (image_folder or columns != STANDARD_COLUMNS) and all(
        file.name.endswith(SHARD_SUFFIXES) for file in files
    ):
        raise ValueError(
            f"{files[0]}: a shard has neither columns nor a folder of images: it contains the images, with their "
            "captions in .txt files. Leave out these options."
        )


def read_entries(
    file: Path,
    image_folder: Path,
    scratch: Path,
    columns: UserColumns = STANDARD_COLUMNS,
    *,
    drop_equal: bool = False,
    left_out: LeftOut | None = None,
) -> Iterator[Entry]:
    """Yield the rows of one file, in order; images of a shard are written to a folder in ``scratch``.

    ``left_out`` selects the rows; by default, those of all splits are read, and an error ends the reading.
    """
    left_out = left_out or LeftOut(ALL)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    if not file.name.endswith(FILE_SUFFIXES):
        raise ValueError(f"{file}: unknown file type; supported: {', '.join(FILE_SUFFIXES)}.")
    if file.name.endswith(SHARD_SUFFIXES):
        yield from _read_shard(file, scratch / hashlib.sha256(str(file).encode()).hexdigest()[:8])
        return
    for number, row in left_out.select_split(file, _read_table(file)):
        try:
            entry = _read_row(file, number, row, image_folder, columns, drop_equal=drop_equal)
            if left_out.skips_errors:
                read_upright(entry.image)  # an image that cannot be decoded is an error of its row
        except (ValueError, OSError) as error:
            if not left_out.skip(error):
                raise
            continue
        yield entry


def _read_row(
    file: Path,
    number: int,
    row: Any,
    image_folder: Path,
    columns: UserColumns,
    *,
    drop_equal: bool,
) -> Entry:
    """Return the entry of a row. Raises ValueError or FileNotFoundError, with the number of the row."""
    try:
        if not isinstance(row, Mapping):
            raise ValueError(
                f"got {type(row).__name__}, expected an object with the columns of a row."
            )
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
        reason = (
            "not found. Restore it, or"
            if image.parent.is_dir()
            else f"not found: no folder {image.parent};"
        )
        raise FileNotFoundError(
            f"{file}, row {number}: image {image} {reason} set the folder with --images."
        )
    if not is_inside(path, image_folder):
        raise ValueError(
            f"{file}, row {number}: image {image} is a link that leads outside {image_folder}. If you trust the "
            f"table, name the folder of the file: {IMAGES_VARIABLE}=FOLDER."
        )
    return Entry(texts.image, path, texts.captions, negatives, texts.kind)


def find_table(path: Path, split: str) -> Path:
    """Return the table of an image folder of Hugging Face's layout (``imagefolder``); other paths are returned as is.

    The table is metadata.csv or metadata.jsonl in the folder, or in its subfolder of the split. Raises ValueError if
    there is none.
    """
    if not path.is_dir():
        return path
    places = [path, *(path / name.strip() for name in split.split(","))]
    names = ("metadata.csv", "metadata.jsonl")
    table = next((p / name for p in places for name in names if (p / name).is_file()), None)
    if table is None:
        splits = sorted(p.parent.name for name in names for p in path.glob(f"*/{name}"))
        others = f" It has the splits {', '.join(splits)}: choose with --split." if splits else ""
        raise ValueError(
            f"{path}: a folder without metadata.csv or metadata.jsonl, in itself or in {split}.{others}"
        )
    return table


def _select_distinct(texts: UserTexts, *, drop_equal: bool) -> tuple[str, ...]:
    """Return the hard negatives that differ from the captions and from each other.

    Raises ValueError, unless ``drop_equal``, if one equals a caption, or is there twice.
    """
    captions = {_fold(caption) for caption in texts.captions}
    distinct = dict[str, str]()
    for text in texts.negatives:
        key = _fold(text)
        if not drop_equal and (key in captions or key in distinct):
            what = "equals a caption" if key in captions else "is there twice"
            raise ValueError(
                f"the hard negative {text!r} {what}. Correct it, or drop such texts: --drop-equal."
            )
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
