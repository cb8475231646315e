"""CSV files with a header, as people fill them in: the byte-order mark of spreadsheets is no part of a name."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from generators.storage.atomic import atomic_file


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the ``columns`` of rows atomically."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path, columns: Collection[str] = ()) -> list[dict[str, str]]:
    """The rows of a file. ValueError as in :func:`numbered`."""
    return [row for _, row in read_numbered(path, columns)]


def read_numbered(path: Path, columns: Collection[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows, each after the line that it ends in.

    ValueError if the file is not in UTF-8, if it lacks one of ``columns``, or a row a cell of these (of all, if none
    are named).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            found = reader.fieldnames or ()
            if missing := [name for name in columns if name not in found]:
                told = ", ".join(found) or "none"
                raise ValueError(f"{path}: no column {', '.join(missing)}; its columns are {told}.")
            for row in reader:
                if missing := [name for name in columns or found if row[name] is None]:
                    raise ValueError(f"{path}, line {reader.line_num}: no cell for {', '.join(missing)}.")
                yield reader.line_num, row
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8. Save it as CSV UTF-8.") from None
