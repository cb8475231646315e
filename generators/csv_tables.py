"""CSV files with a header, as people fill them in: the byte-order mark of spreadsheets is no part of a name."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the ``columns`` of rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.partial")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    scratch.replace(path)


def read(path: Path, columns: Collection[str] = ()) -> list[dict[str, str]]:
    """The rows of a file. ValueError if it lacks one of ``columns``."""
    return [row for _, row in numbered(path, columns)]


def numbered(path: Path, columns: Collection[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows, each after the line that it ends in. ValueError if the file lacks one of ``columns``."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        found = reader.fieldnames or ()
        if missing := [name for name in columns if name not in found]:
            raise ValueError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(found) or 'none'}.")
        for row in reader:
            yield reader.line_num, row
