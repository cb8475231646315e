"""Caption corpora as streams: parquet, csv, tsv, jsonl, txt and webdataset tars, plain or gzipped.

A corpus is a list of shards, a shard a file or a part of one that a worker reads on its own. Parquet is split by rows,
tsv, jsonl and txt by bytes at line ends. csv (its quoted fields may hold line ends), tar and gzipped files stay whole.
Memory is constant in the size of the corpus. A row that cannot be read is counted, not fatal.

tsv is unquoted, as Conceptual Captions and CC12M are published: one row a line, a tab between fields.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from generators.readers import shards as webdataset
from generators.storage import parquet

PARQUET_ROWS = 50_000
"""Rows in one shard of a parquet file."""
TEXT_BYTES = 4_000_000
"""Bytes in one shard of a line file: 40,000 captions or so."""


class Shard(NamedTuple):
    """Rows (parquet) or bytes (tsv, jsonl, txt) ``start`` to ``stop`` of a file; all of it where ``stop`` is None."""

    path: Path
    start: int = 0
    stop: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.stop is None else f"{self.path}[{self.start}:{self.stop}]"


@dataclass
class Skipped:
    """Counts the rows that had no readable caption."""

    rows: int = 0


Column = str | int
"""A column's name (csv, tsv, parquet), key (jsonl, a tar's json) or, in csv and tsv without a header, its position."""

_Reader = Callable[[Shard, Column, Skipped], Iterator[str]]


def shards(pattern: str) -> list[Shard]:
    """The shards of every file that the glob ``pattern`` finds, in order of path and position.

    FileNotFoundError where it finds none; ValueError for an empty file or an unknown kind of file.
    """
    paths = sorted(map(Path, glob.glob(pattern, recursive=True)))  # noqa: PTH207  (absolute patterns too)
    if not paths:
        raise FileNotFoundError(f"{pattern}: no caption file found.")
    return [shard for path in paths for shard in _split(path)]


def captions(shard: Shard, column: Column, skipped: Skipped | None = None) -> Iterator[str]:
    """The captions of one shard in file order, as they stand there; rows without a readable one go to ``skipped``.

    ``column`` is not used by txt, nor by a tar whose captions are .txt members (where both are there, .txt is read).
    ValueError for a column that the file does not have and for a file that is broken as a whole.
    """
    try:
        yield from _READERS[_kind(shard.path)](shard, column, skipped if skipped is not None else Skipped())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{shard.path}: the file is broken ({error}).") from None


def _kind(path: Path) -> str:
    suffixes = [suffix for suffix in path.suffixes[-2:] if suffix != ".gz"]
    if suffixes and (kind := suffixes[-1].lower()) in _READERS:
        return kind
    raise ValueError(f"{path}: unknown kind of caption file; known are {', '.join(_READERS)}, each also with .gz.")


def _split(path: Path) -> Iterator[Shard]:
    kind, size = _kind(path), path.stat().st_size
    if not size:
        raise ValueError(f"{path}: the file is empty.")
    if kind == ".parquet":
        length, step = parquet.count_rows(path), PARQUET_ROWS
    elif kind in (".csv", ".tar") or path.suffix == ".gz":
        yield Shard(path)
        return
    else:
        length, step = size, TEXT_BYTES
    for start in range(0, length, step):
        yield Shard(path, start, min(start + step, length))


def _lines(shard: Shard) -> Iterator[bytes]:
    """The lines that begin within the shard, without their ends."""
    with _open(shard.path) as file:
        if shard.start:
            file.seek(shard.start - 1)
            file.readline()  # the rest of a line that began in the shard before
        while (shard.stop is None or file.tell() < shard.stop) and (line := file.readline()):
            yield line.rstrip(b"\r\n")


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _decoded(line: bytes, skipped: Skipped) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        skipped.rows += 1
        return None


def _usable(value: object, skipped: Skipped) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        yield value
    else:
        skipped.rows += 1


def _txt(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    for line in _lines(shard):
        if (text := _decoded(line, skipped)) is not None:
            yield from _usable(text, skipped)


def _jsonl(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    for line in _lines(shard):
        try:
            row = json.loads(line)
        except ValueError:
            skipped.rows += 1
            continue
        yield from _usable(row.get(column) if isinstance(row, Mapping) else None, skipped)


def _tsv(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    with _open(shard.path) as file:
        header = file.readline()
    position = _position(header.decode().rstrip("\r\n").split("\t"), column, shard.path)
    lines = _lines(shard)
    if isinstance(column, str) and shard.start == 0:
        next(lines)
    for line in lines:
        if (text := _decoded(line, skipped)) is not None:
            fields = text.split("\t")
            yield from _usable(fields[position] if position < len(fields) else None, skipped)


def _csv(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    with io.TextIOWrapper(_open(shard.path), encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        position = column if isinstance(column, int) else _position(next(rows, []), column, shard.path)
        while True:
            try:
                fields = next(rows)
            except StopIteration:
                return
            except csv.Error:
                skipped.rows += 1
                continue
            if fields:
                yield from _usable(fields[position] if position < len(fields) else None, skipped)


def _position(header: list[str], column: Column, path: Path) -> int:
    if isinstance(column, int):
        return column
    if column in header:
        return header.index(column)
    raise ValueError(
        f"{path}: no column {column!r}; it has {', '.join(header)}. For a file without a header give the position."
    )


def _parquet_rows(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    with parquet.opened(shard.path) as file:
        _position(file.schema_arrow.names, column, shard.path)
        stop = file.metadata.num_rows if shard.stop is None else shard.stop
        first = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if shard.start >= first + rows:
                first += rows
                continue
            for batch in file.iter_batches(8192, [group], [str(column)]):
                if first >= stop:
                    return
                low, high = max(shard.start - first, 0), min(stop - first, batch.num_rows)
                for value in batch.column(0)[low:high].to_pylist() if low < high else ():
                    yield from _usable(value, skipped)
                first += batch.num_rows


def _tar(shard: Shard, column: Column, skipped: Skipped) -> Iterator[str]:
    """A sample's caption is its .txt member, else ``column`` of its .json member; members of a sample are adjacent."""
    for _, members in webdataset.samples(shard.path, ("txt", "json"), Counter()):
        if "txt" in members:
            text = _decoded(members["txt"].content or b"", skipped)
            yield from () if text is None else _usable(text, skipped)
        elif "json" in members:
            try:
                row = json.loads(members["json"].content or b"")
            except ValueError:
                row = None
            yield from _usable(row.get(column) if isinstance(row, Mapping) else None, skipped)
        else:
            skipped.rows += 1


_READERS: dict[str, _Reader] = {
    ".parquet": _parquet_rows,
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".txt": _txt,
    ".tar": _tar,
}
