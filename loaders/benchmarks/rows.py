"""The row of a published file, and functions that the readers of all benchmark families use."""

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
from generators.storage.crops import check_corners
from loaders.audit import Texts

BOX_COLUMNS = ("x", "y", "width", "height")


class Row(NamedTuple):
    """One row of a published file."""

    config: str
    split: str
    image_id: str
    image: str
    """File name of the image in the source, with folders if the published file includes them."""
    box: Box | None
    """Crop in pixels; None if the row uses the whole image."""
    caption: str
    hard_negatives: tuple[str, ...]
    swaps: bool = False
    """True if the negatives are meant to contain the caption's words in another order."""
    unordered: bool = False
    """True if the file stores the negatives as a set."""
    complexity: int = 0
    categories: tuple[tuple[str, str], ...] = ()
    """Pairs (by, name) as in CHOICE_SCHEMA."""

    def texts(self) -> Texts:
        return Texts(self.caption, self.hard_negatives, (self.swaps,) * len(self.hard_negatives), self.unordered)


class Unusable(NamedTuple):
    """A row that is dropped, and the reason."""

    reason: str


@dataclass(frozen=True)
class Family:
    """A published benchmark: its file names, its reader and its citation."""

    name: str
    title: str
    files: Mapping[str, str]
    """Source of the images, which is also the source of the results, by file name pattern."""
    read: Callable[[Path, str], Iterator[Row | Unusable]]
    """Function that yields the rows of one file in order, given its path and its published name.

    Raises ValueError if the file has an unexpected format."""
    schema: pa.Schema
    image_folders: tuple[str, ...]
    """Subfolders of the user's image folder in which the images are usually stored."""
    licence: str
    url: str
    paper: str

    def source(self, path: Path) -> str | None:
        """Return the source of a file's images, or None if the file does not belong to this family."""
        return next((source for pattern, source in self.files.items() if fnmatchcase(path.name, pattern)), None)


def parse_texts(literal: str) -> tuple[tuple[str, ...], bool]:
    """Parse a Python list, tuple or set of strings. Returns the strings, and True if they are a set.

    No code is executed. The strings of a set are sorted, because a set has no fixed order. Raises ValueError for
    anything else.
    """
    try:
        texts = ast.literal_eval(literal)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        texts = None
    if not isinstance(texts, (list, tuple, set)) or not all(isinstance(text, str) for text in texts):
        raise ValueError("the negatives are not a list of texts")
    return (tuple(sorted(texts)), True) if isinstance(texts, set) else (tuple(texts), False)


def parse_box(x: Any, y: Any, width: Any, height: Any) -> Box:
    """Make a box from numbers or strings. Raises ValueError if one is not a number or the box has no whole pixel."""
    try:
        box = Box(float(x), float(y), float(width), float(height))
    except (TypeError, ValueError):
        box = None
    if box is None or not all(map(math.isfinite, box)):
        raise ValueError("the box is not four numbers")
    try:
        check_corners(box)
    except ValueError:
        raise ValueError("the box has no area") from None
    return box


def read_each(items: Iterable[Any], read: Callable[[Any], Row]) -> Iterator[Row | Unusable]:
    """Yield ``read(item)`` for each item, or Unusable if ``read`` fails or a field is missing or not a string."""
    for item in items:
        try:
            row = read(item)
            texts = (row.image, row.caption, *row.hard_negatives)
            yield row if all(isinstance(text, str) for text in texts) else Unusable("a caption or name is not a text")
        except ValueError as error:
            yield Unusable(str(error))
        except (KeyError, IndexError, TypeError):
            yield Unusable("fields are missing")


def read_csv(path: Path, columns: Iterable[str], delimiter: str = ",") -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV or TSV file. A row that is too short lacks its last columns.

    Raises ValueError if a column is missing, if the file is not in UTF-8, or if a field is too long for csv, usually
    because of an unclosed quote.
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


def read_json(path: Path) -> list[Any]:
    """Return the items of a JSON list or the values of a JSON object. Raises ValueError for anything else."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    if not isinstance(items, (list, dict)):
        raise ValueError(f"{path}: expected a list or an object of items.")
    return list(items.values()) if isinstance(items, dict) else items
