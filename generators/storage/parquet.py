"""Parquet files, opened in one place, so that one that is cut off or damaged is one message wherever it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def open_file(path: Path, metadata: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
    """The open file; its ``metadata``, where they are known, are not read again.

    ValueError, with the path and the remedy, for all that the block cannot read of it. FileNotFoundError if there is no
    such file.
    """
    try:
        with pq.ParquetFile(path, metadata=metadata) as file:
            yield file
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file.") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path}: not a readable parquet file ({reason}). It is cut off or damaged: delete it, and make it again "
            "(`dvc repro` does, for what the pipeline made) or download it again."
        ) from None


def read_schema(path: Path) -> pa.Schema:
    """The columns of a file."""
    with open_file(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    with open_file(path) as file:
        return file.metadata.num_rows


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """All rows of a file, or some columns of them."""
    with open_file(path) as file:
        return file.read(columns)


def read_batches(path: Path, size: int = 65_536, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a file, at most ``size`` at a time."""
    with open_file(path) as file:
        yield from file.iter_batches(size, columns=columns)
