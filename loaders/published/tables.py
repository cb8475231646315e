"""Read published tables that contain their images: Parquet files, and Arrow files as ``datasets`` saves them.

An image has the name ``<file>/<row>_<column>``, for example ``test-00000-of-00002/000017_image_0``. The importer writes
it to a file of this name (loaders/importing/embedded.py), so that rows refer to it like to any other image.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from compeval.base.storage import parquet

ROWS_PER_BATCH = 64
"""Rows in memory at once. A row may contain images of several megabytes."""


def read_schema(path: Path) -> pa.Schema:
    """Return the schema of a table. Raises ValueError if the file is damaged."""
    if path.suffix != ".arrow":
        return parquet.read_schema(path)
    with _open_arrow(path) as stream:
        parts = [
            part for field in stream.schema if pa.types.is_struct(field.type) for part in field.type
        ]
        # UnicodeDecodeError for a name that is not in UTF-8.
        _ = [field.name for field in (*stream.schema, *parts)]
        return stream.schema


def read_batches(path: Path, columns: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a table in batches. Raises ValueError if one is missing or the file is damaged."""
    names = list(columns)
    schema = read_schema(path)
    if missing := [name for name in names if name not in schema.names]:
        raise ValueError(
            f"{path}: no column {', '.join(missing)}; its columns are {', '.join(schema.names)}."
        )
    is_arrow = path.suffix == ".arrow"
    for batch in (
        _read_arrow(path) if is_arrow else parquet.read_batches(path, ROWS_PER_BATCH, names)
    ):
        selected = batch.select(names)
        with _explain(path):  # Arrow checks neither offsets nor texts when it reads a file
            selected.validate(full=True)
        for start in range(0, selected.num_rows, ROWS_PER_BATCH):
            yield selected.slice(start, ROWS_PER_BATCH)


def read_table(path: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and some columns of each row. Raises ValueError if one is missing or the file is damaged."""
    return enumerate(row for batch in read_batches(path, columns) for row in batch.to_pylist())


def name_image(file: str, row: int, column: str) -> str:
    """Return the name of an image in a table, given the table's published name."""
    return f"{PurePosixPath(file).stem}/{row:06}_{column}"


def read_sample(path: Path, count: int) -> list[dict[str, Any]]:
    """Return the first rows of a table with all columns, of which those with images are None."""
    schema = read_schema(path)
    columns = [
        field.name
        for field in schema
        if not (pa.types.is_struct(field.type) or pa.types.is_binary(field.type))
    ]
    return [
        {**dict.fromkeys(schema.names), **row}
        for _, row in islice(read_table(path, columns), count)
    ]


def _read_arrow(path: Path) -> Iterator[pa.RecordBatch]:
    with _open_arrow(path) as stream:
        yield from stream


@contextmanager
def _open_arrow(path: Path) -> Iterator[pa.RecordBatchStreamReader]:
    """Open a file of ``datasets``. Raises ValueError if the block cannot read it."""
    with _explain(path), pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
        yield stream


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    """Raise ValueError if the block cannot read a table."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path}: not a readable table ({reason}). It is cut off or damaged. Download it again."
        ) from None
