"""CSV and TSV files, also those that people fill in with a spreadsheet.

The dialect is that of Python's csv and of pandas, in TSV files too: a field that begins with a double quote ends at the
next one that is not doubled, and may contain delimiters and line ends. Other quotes are part of the text. After a
closing quote, csv and pandas accept further text; :func:`read_rows` marks these rows. A quote that is never
closed is an error.

All readers of such files use this module. pandas and pyarrow read the same cells, but say nothing about text after a
closing quote; after a cell of several lines, pandas names a wrong line for a faulty row, and pyarrow never names one.

The byte-order mark of spreadsheets is not part of a name. A text that a spreadsheet would execute as a formula is
written with an apostrophe in front, which is removed when such a file is read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from compeval.base.files.atomic import atomic_file
from compeval.base.files.json_lines import MAX_LINE

_FORMULA = re.compile(r"(?![-+\d.,%\[\]()± ]+$)[-=+@\t\r]", re.DOTALL)
"""A text that a spreadsheet takes for a formula: it begins like one and is no number or interval."""
TableError = csv.Error
"""Raised for a text that is not a table."""
# The default, 131,072 characters, is less than a long list of texts.
csv.field_size_limit(10_000_000)


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the given columns of the rows atomically."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: quote_formula(value) for name, value in row.items()} for row in rows
        )


def quote_formula(value: object) -> object:
    """Return a text that is a formula for a spreadsheet with an apostrophe in front, any other value as it is."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value.lstrip("'")) else value


def _unquote_formula(value: str) -> str:
    is_quoted = value.startswith("'") and _FORMULA.match(value.lstrip("'"))
    return value[1:] if is_quoted else value


def read_rows(file: TextIO, delimiter: str = ",") -> Iterator[tuple[int, list[str], bool]]:
    """Yield the number of the last line of each row that is not blank, its cells, and True if a quote is misplaced.

    ``file`` is open with ``newline=""``. Raises TableError if a quote is not closed, or a line or field is too long.
    """
    consumed: list[str] = []
    reader = csv.reader(_read_lines(file, consumed), delimiter=delimiter)
    for cells in reader:
        is_misplaced = False
        if any('"' in line for line in consumed):
            try:
                next(csv.reader(iter(consumed), delimiter=delimiter, strict=True))
            except TableError:
                if len(list(csv.reader([*consumed, "next row"], delimiter=delimiter))) == 1:
                    raise TableError("a quote is not closed") from None
                is_misplaced = True
        consumed.clear()
        if cells:
            yield reader.line_num, cells, is_misplaced


def _read_lines(file: TextIO, consumed: list[str]) -> Iterator[str]:
    """Yield the lines of a file, and add each to ``consumed``."""
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise TableError(f"a line has {MAX_LINE:,} characters or more")
        consumed.append(line)
        yield line


def split_line(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line. Raises TableError for text after a closing quote, or a quote that is not closed."""
    return next(csv.reader([line], delimiter=delimiter, strict=True))


def fits(width: int, cells: Sequence[str]) -> bool:
    """Return True if a row has ``width`` cells. Empty cells may follow."""
    return len(cells) >= width and not any(cells[width:])


def count_extra_cells(header: Sequence[str], cells: Sequence[str]) -> int:
    """Return how many cells a row has beyond its header, up to the last that is not empty."""
    return max((number for number, cell in enumerate(cells[len(header) :], 1) if cell), default=0)


def check_header(path: Path, header: Sequence[str], columns: Collection[str]) -> None:
    """Raise ValueError if one of ``columns`` is missing or repeated; without ``columns``, if any column is repeated."""
    if missing := sorted(set(columns) - set(header)):
        raise ValueError(
            f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header) or 'none'}."
        )
    if repeated := [name for name in columns or filter(None, header) if header.count(name) > 1]:
        raise ValueError(
            f"{path}: two columns are called {repeated[0]}. Rename or delete one of them."
        )


def count_misplaced_quotes(path: Path, delimiter: str) -> int:
    """Return the number of rows of a readable file with text after a closing quote."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return sum(is_misplaced for _, _, is_misplaced in read_rows(file, delimiter))


def read(path: Path, columns: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the rows of a file. Raises ValueError as :func:`read_numbered` does."""
    return [row for _, row in read_numbered(path, columns)]


def read_numbered(
    path: Path, columns: Collection[str] = (), delimiter: str = ",", *, is_ours: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of the last line of each row, and the row.

    ``is_ours`` is True if :func:`write` may have written the file, so that apostrophes before formulas are removed.
    Raises ValueError if the file is not in UTF-8, is not a table, or lacks one of ``columns``, or if a row has fewer or
    more cells than the header, or text after a closing quote.
    """
    last = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = read_rows(file, delimiter)
            last, header, _ = next(rows, (0, [], False))
            check_header(path, header, columns)
            for number, cells, is_misplaced in rows:
                last = number
                if missing := header[len(cells) :]:
                    raise ValueError(f"{path}, line {number}: no cell for {', '.join(missing)}.")
                if count := count_extra_cells(header, cells):
                    raise ValueError(
                        f"{path}, line {number}: {len(header) + count} cells for {len(header)} columns. Put quotes "
                        f"around a cell that contains {delimiter!r}."
                    )
                if is_misplaced:
                    raise ValueError(
                        f"{path}, line {number}: text after a closing quote. Double the quotes within a cell in quotes."
                    )
                texts = map(_unquote_formula, cells) if is_ours else cells
                yield number, dict(zip(header, texts, strict=False))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8. Save it as CSV UTF-8.") from None
    except TableError as error:
        raise ValueError(
            f"{path}, the row from line {last + 1}: not a valid table ({error}). Is a quote not closed, or not doubled?"
        ) from None
