"""The row of a published file, and functions that the readers of all benchmarks use."""

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.files import csv_tables, json_lines
from compeval.base.files.untrusted import safe_name
from compeval.base.schemas.scene_graph import Box
from compeval.base.schemas.texts import Texts
from compeval.base.storage.crops import check_corners
from compeval.loaders.published import tables
from compeval.loaders.published.image_sets import ImageSet

NOT_TEXTS = "the negatives are not a list of texts"
BOX_COLUMNS = ("x", "y", "width", "height")


class Row(NamedTuple):
    """One row of a published file: images, true captions and wrong captions.

    How many there are depends on the schema: CHOICE_SCHEMA has one image and one caption, PARAPHRASE_SCHEMA two
    captions of one image, GROUP_SCHEMA two images with one caption each, image_choice_schema(K) one caption of the
    first of K images, video_schema(K) one caption of K frames, video_group_schema(K) two videos of K frames with one
    caption each, RETRIEVAL_SCHEMA all captions of an image, QUESTIONS_SCHEMA two images and four texts, TRUTH_SCHEMA
    and RATING_SCHEMA one image, one caption and a label.
    """

    config: str
    images: tuple[str, ...]
    """File names of the images in the source, with folders if the published file includes them."""
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    image_id: str = ""
    """Confidence intervals resample this id. By default the file name of the first image, without suffix."""
    split: str = "test"
    box: Box | None = None
    """Crop in pixels; None if the row uses the whole image."""
    swaps: bool = False
    """True if the negatives are meant to contain the caption's words in another order."""
    unordered: bool = False
    """True if the file stores the negatives as a set."""
    complexity: int = 0
    categories: tuple[tuple[str, str], ...] = ()
    """Pairs (by, name) as in CHOICE_SCHEMA."""
    label: int | None = None
    """1 if the caption is true, 0 if it is false, or the sum of the ratings; None if the schema has no label."""
    changed: bool = False
    """True if a caption or negative differs from the published one (``Benchmark.changes``)."""
    image_set: ImageSet | None = None
    """Source of the images. None: the source of the file."""

    def list_candidates(self) -> tuple[str, ...]:
        """Return the first true caption and the wrong ones."""
        return (self.captions[0], *self.hard_negatives)

    def texts(self) -> Texts:
        return Texts(
            self.captions[0],
            self.hard_negatives,
            (self.swaps,) * len(self.hard_negatives),
            self.unordered,
        )


class Unusable(NamedTuple):
    """A row that is dropped, and the reason."""

    reason: str


def parse_texts(literal: str) -> tuple[tuple[str, ...], bool]:
    """Parse a JSON list, or a Python list, tuple or set, of strings. Returns the strings, and True if they are a set.

    No code is executed. The strings of a set are sorted, because a set has no fixed order. Raises ValueError for
    anything else.
    """
    try:
        texts = json.loads(literal)
    except (ValueError, RecursionError):
        try:
            texts = ast.literal_eval(literal)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            texts = None
    if not isinstance(texts, (list, tuple, set)) or not all(
        isinstance(text, str) for text in texts
    ):
        raise ValueError(NOT_TEXTS)
    return (tuple(sorted(texts)), True) if isinstance(texts, set) else (tuple(texts), False)


def has_missing_comma(literal: str) -> bool:
    """Return True if two strings of a Python literal follow each other without a comma, as in numpy's lists. Python
    joins them."""
    with suppress(tokenize.TokenError, SyntaxError):
        kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(literal).readline)]
        return (tokenize.STRING, tokenize.STRING) in pairwise(kinds)
    return False


def check_text(text: Any) -> None:
    """Raise ValueError for a value that is not a text, or a text that no file can contain (lone surrogates)."""
    if not isinstance(text, str):
        raise ValueError("a caption or name is not a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            "a text has half of a surrogate pair, which no encoding can store"
        ) from None


def parse_box(*sides: Any) -> Box:
    """Make a box from x, y, width and height, as numbers or strings.

    Raises ValueError if one is not a number or the box has no whole pixel.
    """
    try:
        box = Box(*map(float, sides))
    except (TypeError, ValueError):
        box = Box(math.nan, 0, 0, 0)
    if not all(map(math.isfinite, box)):
        raise ValueError("the box is not four numbers")
    try:
        check_corners(box)
    except ValueError:
        raise ValueError("the box has no area") from None
    return box


def make_statement(question: str) -> str:
    """Return a text that is true if the answer to a question is yes: "Is there a cat in the image?" becomes "There is
    a cat in the image.", and "Yes" follows a question that does not begin with "Is there" or "Are there"."""
    match = re.fullmatch(r"(Is|Are) there (.+)\?", question)
    return f"There {match[1].lower()} {match[2]}." if match else f"{question} Yes"


def find_option(letter: str, count: int) -> int:
    """Return the index of the option that a letter names, "B" or "(B)".

    Raises ValueError if it names none of ``count`` options.
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
    if (bare := letter.strip("()")) not in [*letters]:
        raise ValueError(f"the answer {letter!r} is none of {', '.join(letters)}")
    return letters.index(bare)


def read_each(
    items: Iterable[Any], make_row: Callable[..., Row], *arguments: Any
) -> Iterator[Row | Unusable]:
    """Yield ``make_row(item, *arguments)`` for each item, or Unusable if a row cannot be made.

    That is if ``make_row`` raises ValueError, if a field is missing or not a string, or if the config or split cannot
    be the name of a folder or file.
    """
    for item in items:
        try:
            row = make_row(item, *arguments)
            for name in (row.config, row.split):
                safe_name(name)
            for text in (*row.images, *row.captions, *row.hard_negatives):
                check_text(text)
            yield row
        except ValueError as error:
            yield Unusable(str(error))
        except (KeyError, IndexError, TypeError, AttributeError):
            yield Unusable("fields are missing")


class TooLongRow(dict[str, str]):
    """A row with more cells than the header has columns. Nobody knows which cells belong together."""

    def __missing__(self, name: str) -> str:
        raise ValueError("the row has more cells than the header")


def find_delimiter(path: Path) -> str:
    """Return the delimiter of a table by its header: a tab if there is one, or else a comma."""
    with path.open(encoding="utf-8-sig") as file:
        return "\t" if "\t" in file.readline(json_lines.MAX_LINE) else ","


def read_csv(
    path: Path, columns: Iterable[str], delimiter: str | None = None
) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV or TSV file. A row that is too short lacks its last columns, one that is too long all.

    None: :func:`find_delimiter`. The dialect is that of csv and pandas (base/files/csv_tables.py), which the
    authors' code uses: text may follow a closing quote. Raises ValueError if a column is missing or repeated, if the
    file is not in UTF-8, or if a quote is not closed.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv_tables.read_rows(file, delimiter or find_delimiter(path))
            _, header, _ = next(rows, (0, [], False))
            if columns := list(columns):  # without names, the rows are only looked at
                csv_tables.check_header(path, header, columns)
            for number, cells, _ in rows:  # noqa: B007  (used in the message)
                is_too_long = csv_tables.count_extra_cells(header, cells) > 0
                yield TooLongRow() if is_too_long else dict(zip(header, cells, strict=False))
    except (csv_tables.TableError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}, after line {number}: not a valid table row ({error}).") from None


def read_json(path: Path) -> list[Any]:
    """Return the items of a JSON list, the values of a JSON object, or of a file of JSON Lines, as POPE's are.

    Raises ValueError for anything else."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        first, _, rest = text.partition("\n")
        is_lines = first.startswith("{") and first.rstrip().endswith("}") and bool(rest.strip())
        items = (
            [value for _, value in json_lines.read_numbered(path)] if is_lines else json.loads(text)
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    if not isinstance(items, (list, dict)):
        raise ValueError(f"{path}: expected a list or an object of items.")
    return list(items.values()) if isinstance(items, dict) else items


def read_items(
    path: Path, name: str, fields: Iterable[str], image_columns: Collection[str] = ()
) -> Iterator[Any]:
    """Yield the items of a file in the format of its suffix, given its published name.

    Tables need to have the columns ``fields``. Images inside a file (``image_columns``), of a JSON file or of a text
    table in base64, are replaced by their names.
    Raises ValueError if the file is damaged or lacks a column.
    """
    match path.suffix:
        case ".parquet" | ".arrow":
            for number, row in tables.read_table(
                path, [field for field in fields if field not in image_columns]
            ):
                yield row | {
                    column: tables.name_image(name, number, column) for column in image_columns
                }
        case _:
            items = _read_texts(path, fields)
            if not image_columns:
                yield from items
                return
            for number, item in enumerate(items):
                names = {
                    column: tables.name_image(name, number, column) for column in image_columns
                }
                yield item | names if isinstance(item, dict) else item


def _read_texts(path: Path, fields: Iterable[str]) -> Iterable[Any]:
    """Return the items of a file of texts: CSV, TSV, JSON or JSON Lines."""
    match path.suffix:
        case ".csv" | ".tsv":
            return read_csv(path, fields)
        case ".jsonl":
            return (value for _, value in json_lines.read_numbered(path))
        case _:
            return read_json(path)


def is_table(suffix: str) -> bool:
    """Return True if files with this suffix have columns."""
    return suffix in (".csv", ".tsv", ".parquet", ".arrow")


def get_fields(items: list[Any]) -> set[str]:
    """Return the fields of the first of some items; empty if it is not an object."""
    return set(items[0]) if items and isinstance(items[0], dict) else set()
