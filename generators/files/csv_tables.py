"""CSV and TSV files with a header, as people fill them in with a spreadsheet.

The byte-order mark of spreadsheets is not part of a name. A text that a spreadsheet would execute as a formula is
written with an apostrophe in front, which is removed when such a file is read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.files.atomic import atomic_file

_FORMULA = re.compile(r"(?![-+\d.,%\[\]()± ]+$)[-=+@\t\r]", re.DOTALL)
"""A text that a spreadsheet takes for a formula: it begins like one and is no number or interval."""
csv.field_size_limit(10_000_000)  # the default, 131,072 characters, is less than a long list of texts


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the given columns of the rows atomically."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: quote_formula(value) for name, value in row.items()} for row in rows)


def quote_formula(value: object) -> object:
    """Return a text that is a formula for a spreadsheet with an apostrophe in front, any other value as it is."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value.lstrip("'")) else value


def _unquote_formula(value: str) -> str:
    return value[1:] if value and value.startswith("'") and _FORMULA.match(value.lstrip("'")) else value


def count_extra_cells(row: Mapping[Any, Any]) -> int:
    """Return how many cells a row of csv.DictReader has beyond its header, up to the last that is not empty."""
    extra = row.get(None) or []
    return max((number for number, cell in enumerate(extra, 1) if cell), default=0)


def read(path: Path, columns: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the rows of a file. Raises ValueError as :func:`read_numbered` does."""
    return [row for _, row in read_numbered(path, columns)]


def read_numbered(
    path: Path, columns: Collection[str] = (), delimiter: str = ",", *, is_ours: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of the last line of each row, and the row.

    ``is_ours`` is True if :func:`write` may have written the file, so that apostrophes before formulas are removed.
    Raises ValueError if the file is not in UTF-8, is not a table (a quote is not closed), or lacks one of ``columns``,
    or if a row has fewer or more cells than the header.
    """
    last = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=delimiter, strict=True)
            header = reader.fieldnames or ()
            if missing := [name for name in columns if name not in header]:
                raise ValueError(
                    f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header) or 'none'}."
                )
            last = reader.line_num
            for row in reader:
                last = reader.line_num
                if missing := [name for name in header if row[name] is None]:
                    raise ValueError(f"{path}, line {reader.line_num}: no cell for {', '.join(missing)}.")
                if count := count_extra_cells(row):
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {len(header) + count} cells for {len(header)} columns. Put "
                        f"quotes around a cell that contains {delimiter!r}."
                    )
                cells = {name: row[name] for name in header}
                yield (
                    reader.line_num,
                    {name: _unquote_formula(cell) for name, cell in cells.items()} if is_ours else cells,
                )
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8. Save it as CSV UTF-8.") from None
    except csv.Error as error:
        raise ValueError(
            f"{path}, the row from line {last + 1}: not a valid table ({error}). Is a quote not closed, or not doubled?"
        ) from None
