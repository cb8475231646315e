"""Stream the captions of a corpus from parquet, csv, tsv, jsonl, txt or webdataset tar files, optionally gzipped.

A corpus is a list of shards, which workers read independently. Parquet files are split into shards by rows, and tsv,
jsonl and txt files by bytes at line ends. A csv file is one shard, because its quoted fields can contain line ends; so
is a tar or gzipped file. Memory does not depend on the size of the corpus. Rows that cannot be read are skipped and
counted.

csv files are read in the dialect of Python's csv and of pandas (base/files/csv_tables.py). tsv files have one row
per line and a tab between fields, as published by Conceptual Captions and CC12M. A line of a tsv file in which every
quote at the start of a field is closed at the end of a field is read like a line of csv; in other lines, quotes are
characters. Rows with more or fewer cells than the header, and texts that are not in UTF-8, cannot be read.
"""

from __future__ import annotations

import glob
import gzip
import io
import json
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

from compeval.base.files import csv_tables
from compeval.base.readers import shards as webdataset
from compeval.base.storage import parquet
from compeval.base.texts import normalize_text

PARQUET_ROWS = 50_000
"""Rows in one shard of a parquet file."""
TEXT_BYTES = 4_000_000
"""Bytes in one shard of a tsv, jsonl or txt file: about 40,000 captions."""
MAX_LINE_BYTES = 1 << 24
"""Longer lines of a tsv, jsonl or txt file are skipped, so that a file without line ends needs little memory."""


class Shard(NamedTuple):
    """Rows (parquet) or bytes (tsv, jsonl, txt) ``start`` to ``stop`` of a file; the whole file if ``stop`` is None."""

    path: Path
    start: int = 0
    stop: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.stop is None else f"{self.path}[{self.start}:{self.stop}]"


@dataclass
class Skipped:
    """The number of rows without a readable caption, and of rows of csv and tsv files that needed their dialect."""

    rows: int = 0
    quoted: int = 0
    """Number of rows of tsv files with a quoted field, and of rows of csv files with text after a closing quote."""


Column = str | int
"""A column name (csv, tsv, parquet), a key (jsonl, and json files in a tar), or the position of a column (csv and tsv
files without a header)."""


def list_shards(pattern: str) -> list[Shard]:
    """Return the shards of all files that match the glob ``pattern``, sorted by path and position.

    Raises FileNotFoundError if no file matches, and ValueError if a file is empty or has an unknown suffix.
    """
    paths = sorted(map(Path, glob.glob(pattern, recursive=True)))  # noqa: PTH207  (absolute patterns too)
    if not paths:
        raise FileNotFoundError(f"{pattern}: no caption file found.")
    return [shard for path in paths for shard in _split(path)]


def read_captions(shard: Shard, column: Column, skipped: Skipped | None = None) -> Iterator[str]:
    """Yield the captions of one shard in file order, in the normal form of texts (base/texts.py).

    Rows without a readable caption are counted in ``skipped``. ``column`` is ignored for txt files, and for tar samples
    with a .txt file. Raises ValueError if the file lacks the column or is damaged.
    """
    try:
        for value in _READERS[_kind(shard.path)](shard, column, skipped or Skipped()):
            caption = normalize_text(value) if isinstance(value, str) else ""
            if caption.strip():
                yield caption
            elif skipped is not None:
                skipped.rows += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{shard.path}: the file is damaged ({error}).") from None


def _kind(path: Path) -> str:
    suffixes = [suffix for suffix in path.suffixes[-2:] if suffix != ".gz"]
    if suffixes and (kind := suffixes[-1].lower()) in _READERS:
        return kind
    raise ValueError(
        f"{path}: unknown kind of caption file, expected {', '.join(_READERS)}, optionally with .gz."
    )


def _split(path: Path) -> Iterator[Shard]:
    kind = _kind(path)
    size = path.stat().st_size
    if not size:
        raise ValueError(f"{path}: the file is empty.")
    if kind == ".parquet":
        length = parquet.count_rows(path)
        step = PARQUET_ROWS
    elif kind in (".csv", ".tar") or path.suffix == ".gz":
        yield Shard(path)
        return
    else:
        length = size
        step = TEXT_BYTES
    for start in range(0, length, step):
        yield Shard(path, start, min(start + step, length))


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


# Each reader yields one value per row: the caption, or a value that is not a string if the row cannot be read.


def _txt(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str | None]:
    """Yield the lines that begin in the shard."""
    with _open(shard.path) as file:
        if shard.start:
            file.seek(shard.start - 1)
            _skip_line(file)  # the rest of a line that begins in the previous shard
        elif file.read(len(BOM_UTF8)) != BOM_UTF8:
            file.seek(0)
        while (shard.stop is None or file.tell() < shard.stop) and (
            line := file.readline(MAX_LINE_BYTES)
        ):
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                _skip_line(file)
                yield None
            else:
                yield _decode(line.rstrip(b"\r\n"))


def _skip_line(file: IO[bytes]) -> None:
    while (line := file.readline(MAX_LINE_BYTES)) and not line.endswith(b"\n"):
        pass


def _decode(data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _jsonl(shard: Shard, column: Column, skipped: Skipped) -> Iterator[Any]:
    return (_json_value(line or "", column) for line in _txt(shard, column, skipped))


def _json_value(data: str | bytes, column: Column) -> Any:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return record.get(column) if isinstance(record, Mapping) else None


def _tsv(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str | None]:
    with _open(shard.path) as file:
        first = _split_line(
            file.readline(MAX_LINE_BYTES).decode("utf-8-sig", "replace").rstrip("\r\n"), Skipped()
        )
    position = _position(first, column, shard.path)
    lines = _txt(shard, column, skipped)
    if isinstance(column, str) and shard.start == 0:
        next(lines)
    return (_field(_split_line(line or "", skipped), position, len(first)) for line in lines)


def _split_line(line: str, skipped: Skipped) -> list[str]:
    """Return the fields of a line of a tsv file. Counts a line with quoted fields in ``skipped``."""
    if line.startswith('"') or '\t"' in line:
        with suppress(csv_tables.TableError):
            fields = csv_tables.split_line(line, "\t")
            skipped.quoted += 1
            return fields
    return line.split("\t")


def _csv(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str | None]:
    with io.TextIOWrapper(
        _open(shard.path), encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as file:
        rows = csv_tables.read_rows(file)
        try:
            first = next(rows, None)
            header = first[1] if first else []
            position = _position(header, column, shard.path)
            if isinstance(column, int) and header:
                yield _field(header, position, len(header))
            for _, fields, is_misplaced in rows:
                skipped.quoted += is_misplaced
                yield _field(fields, position, len(header))
        except csv_tables.TableError as error:
            raise ValueError(f"{shard.path}: not a valid table ({error}).") from None


def _field(fields: list[str], position: int, width: int) -> str | None:
    """Return the field at ``position``; None if the row does not have ``width`` fields, or it is not in UTF-8."""
    if not csv_tables.fits(width, fields):
        return None
    with suppress(UnicodeEncodeError, IndexError):
        fields[position].encode()
        return fields[position]
    return None


def _position(header: list[str], column: Column, path: Path) -> int:
    if isinstance(column, int):
        return column
    if column in header:
        return header.index(column)
    raise ValueError(
        f"{path}: no column {column!r}; it has {', '.join(header)}. Without a header, pass the column's position."
    )


def _parquet_rows(shard: Shard, column: Column, skipped: Skipped) -> Iterator[Any]:
    with parquet.open_file(shard.path) as file:
        _position(file.schema_arrow.names, column, shard.path)
        stop = file.metadata.num_rows if shard.stop is None else shard.stop
        end = 0
        for group in range(file.num_row_groups):
            first = end
            end = end + file.metadata.row_group(group).num_rows
            if first < stop and shard.start < end:
                for batch in file.iter_batches(8192, [group], [str(column)]):
                    low = max(shard.start - first, 0)
                    high = max(stop - first, 0)
                    yield from _to_list(batch.column(0)[low:high])
                    first += batch.num_rows


def _to_list(column: pa.Array) -> list[Any]:
    """Return the values of a column, with None for a text that is not in UTF-8."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        if len(column) == 1:
            return [None]
        return [
            value for index in range(len(column)) for value in _to_list(column[index : index + 1])
        ]


def _tar(shard: Shard, column: Column, skipped: Skipped) -> Iterator[Any]:
    """Yield the .txt file of each sample, or ``column`` of its .json file."""
    reasons = Counter[str]()
    for _, members in webdataset.read_samples(shard.path, ("txt", "json"), reasons):
        if "txt" in members:
            yield _decode(members["txt"].content or b"")
        else:
            yield _json_value(members["json"].content or b"", column) if "json" in members else None
    skipped.rows += reasons.total()


_READERS: dict[str, Callable[[Shard, Column, Skipped], Iterator[Any]]] = {
    ".parquet": _parquet_rows,
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".txt": _txt,
    ".tar": _tar,
}
