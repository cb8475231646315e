"""Read and write CSV files with a header. The byte-order mark that spreadsheet programs write is ignored."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from generators.storage.atomic import atomic_file


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the given columns of the rows atomically."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path, columns: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the rows of a file. Raises ValueError like :func:`read_numbered`."""
    return [row for _, row in read_numbered(path, columns)]


def read_numbered(path: Path, columns: Collection[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) pairs; the line is the last line of the row.

    Raises ValueError if the file is not in UTF-8, if one of ``columns`` is missing, or if a row has no cell for one of
    ``columns`` (default: all columns).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = reader.fieldnames or ()
            if missing := [name for name in columns if name not in header]:
                raise ValueError(
                    f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header) or 'none'}."
                )
            for row in reader:
                if missing := [name for name in columns or header if row[name] is None]:
                    raise ValueError(f"{path}, line {reader.line_num}: no cell for {', '.join(missing)}.")
                yield reader.line_num, row
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8. Save it as CSV UTF-8.") from None
