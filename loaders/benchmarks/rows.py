"""Rows of published files, and the readers that all benchmark families share."""

from __future__ import annotations

import ast
import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from generators.schemas.scene_graph import Box
from generators.storage.crops import round_corners
from loaders.audit import Texts

BOX_COLUMNS = ("x", "y", "width", "height")


class Row(NamedTuple):
    """One row of a published file."""

    config: str
    split: str
    image_id: str
    image: str
    """The image's name in the source, with folders if the file includes them."""
    box: Box | None
    """The crop in pixels; None for the whole image."""
    caption: str
    hard_negatives: tuple[str, ...]
    swaps: bool = False
    """True if the negatives are meant to contain the caption's words in another order."""
    unordered: bool = False
    """True if the file stores the negatives as a set."""
    complexity: int = 0
    categories: tuple[tuple[str, str], ...] = ()
    """(by, name), see CHOICE_SCHEMA."""

    def texts(self) -> Texts:
        return Texts(self.caption, self.hard_negatives, (self.swaps,) * len(self.hard_negatives), self.unordered)


class Unusable(NamedTuple):
    """A row that is dropped."""

    reason: str


@dataclass(frozen=True)
class Family:
    """A published benchmark: file names, reader and citation."""

    name: str
    title: str
    files: Mapping[str, str]
    """File name pattern -> source of the images, which becomes the source of the results."""
    read: Callable[[Path], Iterator[Row | Unusable]]
    """Yields the rows of one file in order. ValueError if the content does not match the file name."""
    schema: pa.Schema
    image_folders: tuple[str, ...]
    """Usual locations of the images below the folder that the user names."""
    licence: str
    url: str
    paper: str

    def source(self, path: Path) -> str | None:
        """The source of a file's images; None if the file does not belong to this family."""
        return next((source for pattern, source in self.files.items() if fnmatchcase(path.name, pattern)), None)


def parse_texts(literal: str) -> tuple[tuple[str, ...], bool]:
    """The texts of a Python list, tuple or set literal, and True if it is a set. The literal is not executed.

    The texts of a set are sorted, because its order differs between runs. ValueError for any other text.
    """
    try:
        texts = ast.literal_eval(literal)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        texts = None
    if not isinstance(texts, (list, tuple, set)) or not all(isinstance(text, str) for text in texts):
        raise ValueError("the negatives are not a list of texts")
    return (tuple(sorted(texts)), True) if isinstance(texts, set) else (tuple(texts), False)


def parse_box(x: Any, y: Any, width: Any, height: Any) -> Box:
    """A box from numbers or numerals. ValueError for non-numbers and for a box without area in whole pixels."""
    try:
        box = Box(float(x), float(y), float(width), float(height))
    except (TypeError, ValueError):
        box = None
    if box is None or not all(map(math.isfinite, box)):
        raise ValueError("the box is not four numbers")
    try:
        round_corners(box)
    except ValueError:
        raise ValueError("the box has no area") from None
    return box


def read_each(items: Iterable[Any], read: Callable[[Any], Row]) -> Iterator[Row | Unusable]:
    """``read(item)`` for each item, Unusable where it raises a ValueError or a field is missing or not a text."""
    for item in items:
        try:
            row = read(item)
            texts = (row.image, row.caption, *row.hard_negatives)
            yield row if all(isinstance(text, str) for text in texts) else Unusable("a caption or name is not a text")
        except ValueError as error:
            yield Unusable(str(error))
        except (KeyError, IndexError, TypeError):
            yield Unusable("fields are missing")


def csv_rows(path: Path, columns: Iterable[str], delimiter: str = ",") -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV or TSV file; a short row lacks its last columns.

    Raises ValueError if a column is missing, if the file is not in UTF-8, and for a field that exceeds csv's limit,
    usually because a quote is not closed.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter)
        try:
            header = reader.fieldnames or ()
            if missing := sorted(set(columns) - set(header)):
                raise ValueError(
                    f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header) or 'none'}."
                )
            for row in reader:
                yield {name: value for name, value in row.items() if name is not None and value is not None}
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}, after line {reader.line_num}: not a valid table row ({error}).") from None


def json_items(path: Path) -> list[Any]:
    """The items of a JSON list or the values of a JSON object. ValueError for anything else."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    if not isinstance(items, (list, dict)):
        raise ValueError(f"{path}: expected a list or an object of items.")
    return list(items.values()) if isinstance(items, dict) else items
