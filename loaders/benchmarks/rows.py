"""Rows of published files as they stand there, and what the readers of all families share."""

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
from generators.storage.crops import rounded
from loaders.audit import Texts


class Row(NamedTuple):
    """One row of a published file."""

    config: str
    split: str
    image_id: str
    image: str
    """The image's name in the source, with its folders if the file names them."""
    box: Box | None
    """The crop in pixels; None for the whole image."""
    caption: str
    hard_negatives: tuple[str, ...]
    swaps: bool = False
    """Whether the negatives are meant to have the caption's own words in another order."""
    unordered: bool = False
    """Whether the negatives were a set."""
    complexity: int = 0
    categories: tuple[tuple[str, str], ...] = ()
    """(by, name), see CHOICE_SCHEMA."""

    def texts(self) -> Texts:
        return Texts(self.caption, self.hard_negatives, (self.swaps,) * len(self.hard_negatives), self.unordered)


class Unusable(NamedTuple):
    """A row that is left out, and why."""

    reason: str


@dataclass(frozen=True)
class Family:
    """A published benchmark: how its files are called, read and cited."""

    name: str
    title: str
    files: Mapping[str, str]
    """Glob of file names -> where the images come from, which results are filed under."""
    read: Callable[[Path], Iterator[Row | Unusable]]
    """The rows of one file, in its order. ValueError if it is not what its name says."""
    schema: pa.Schema
    image_folders: tuple[str, ...]
    """Where images may lie below the folder that the user names."""
    licence: str
    url: str
    paper: str

    def source(self, path: Path) -> str | None:
        """Where the images of a file come from; None if the file is none of the family's."""
        return next((source for pattern, source in self.files.items() if fnmatchcase(path.name, pattern)), None)


def literal(text: str) -> tuple[tuple[str, ...], bool]:
    """The texts of a Python list, tuple or set literal, and whether they were a set; nothing is executed.

    A set has an order of its own in every run, so its texts are sorted. ValueError if it is no such literal.
    """
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("the negatives are not a list of texts") from None
    if not isinstance(found, (list, tuple, set)) or not all(isinstance(item, str) for item in found):
        raise ValueError("the negatives are not a list of texts")
    return (tuple(sorted(found)), True) if isinstance(found, set) else (tuple(found), False)


def box(x: Any, y: Any, width: Any, height: Any) -> Box:
    """A box of numbers or numerals. ValueError if it is none or has no area in whole pixels."""
    try:
        found = Box(float(x), float(y), float(width), float(height))
    except (TypeError, ValueError):
        raise ValueError("the box is not four numbers") from None
    if not all(map(math.isfinite, found)):
        raise ValueError("the box is not four numbers")
    left, upper, right, lower = rounded(found)
    if not (right > left and lower > upper):
        raise ValueError("the box has no area")
    return found


def each(items: Iterable[Any], read: Callable[[Any], Row]) -> Iterator[Row | Unusable]:
    """One row an item, an unusable one where ``read`` raises a ValueError, misses a key or finds no text."""
    for item in items:
        try:
            row = read(item)
            texts = (row.image, row.caption, *row.hard_negatives)
            yield row if all(isinstance(text, str) for text in texts) else Unusable("a caption or name is no text")
        except ValueError as error:
            yield Unusable(str(error))
        except (KeyError, IndexError, TypeError):
            yield Unusable("fields are missing")


def csv_rows(path: Path, columns: Iterable[str], delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a CSV or TSV file as texts, a short row without its last.

    ValueError if a column is missing, or if a field is longer than any text: a quote that is never closed.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter)
        found = reader.fieldnames or ()
        if missing := sorted(set(columns) - set(found)):
            raise ValueError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(found) or 'none'}.")
        try:
            for row in reader:
                yield {name: value for name, value in row.items() if value is not None}
        except csv.Error as error:
            raise ValueError(f"{path}, after line {reader.line_num}: no row of a table ({error}).") from None


def json_items(path: Path) -> list[Any]:
    """The items of a JSON list, or the values of an object. ValueError if it is neither."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    if not isinstance(found, (list, dict)):
        raise ValueError(f"{path}: a list or an object of items expected.")
    return list(found.values()) if isinstance(found, dict) else found
