"""Read and write parquet files.

A damaged file raises the same ValueError in every function, with the path and the next step.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MAX_ROWS = 20_000_000
"""Rows of a file. A few bytes can declare any number."""
MAX_TABLE_BYTES = 1_000_000_000
"""Memory that the rows of a file may take that is read as a whole."""
MAX_FILE_BYTES = 100_000_000_000
"""Memory that the rows of a file may take that is read in batches."""
MAX_BATCH_BYTES = 200_000_000
NEEDED = re.compile(r"(?:caption|crop_id|image_id)(?:_\w+)?|captions|hard_negatives|label")
"""Columns of datasets that every row has to fill."""
LISTS = ("foils", "categories")
"""Columns whose cells may be empty, but not the elements of their lists."""
ROWS_PER_CHECK = 1000


def open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Open a dataset file for writing, with a page index and content-defined chunking.

    A reader can skip pages, and the Hub stores the equal parts of two versions once. Images are not collected in
    dictionaries, which would contain all images of a row group in one page.
    """
    pq.write_metadata(schema, no_rows := io.BytesIO())
    columns = pq.read_metadata(no_rows).schema
    names = [
        name
        for index in range(len(columns))
        if not (name := columns.column(index).path).endswith(".bytes")
    ]
    options: dict[str, Any] = {
        "use_dictionary": names,
        "write_page_index": True,
        "use_content_defined_chunking": True,
    }
    return pq.ParquetWriter(path, schema, compression="zstd", **options)


@contextmanager
def open_file(path: Path, metadata: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
    """Open a parquet file. Known ``metadata`` can be passed so that they are not read again.

    Raises FileNotFoundError if the file does not exist, and ValueError if the block cannot read it.
    """
    try:
        with pq.ParquetFile(path, metadata=metadata) as file:
            yield file
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file.") from None
    except pa.ArrowMemoryError:
        raise _too_large(path) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a text that is not in UTF-8
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path}: not a readable parquet file ({reason}). It is cut off or damaged. Delete it and download it "
            "again, or run `dvc repro` if the pipeline wrote it."
        ) from None


def read_schema(path: Path) -> pa.Schema:
    """Return the Arrow schema of a file."""
    with open_file(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """Return the number of rows that a file declares. Raises ValueError above ``MAX_ROWS``."""
    with open_file(path) as file:
        return _check_rows(file, path)


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return all rows of a file, with all columns or only ``columns``.

    Raises ValueError above ``MAX_ROWS`` and ``MAX_TABLE_BYTES``, whatever the file itself declares.
    """
    with open_file(path) as file:
        if _measure(file, path, columns, MAX_TABLE_BYTES) > MAX_TABLE_BYTES:
            raise _too_large(path)
        batches = []
        num_bytes = 0
        for batch in file.iter_batches(ROWS_PER_CHECK, columns=columns):
            num_bytes += batch.nbytes
            if num_bytes > MAX_TABLE_BYTES:
                raise _too_large(path)
            batches.append(batch)
        return pa.Table.from_batches(batches) if batches else file.read(columns)


def read_batches(
    path: Path, batch_size: int = 65_536, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches of at most ``batch_size`` rows, or fewer if they are large."""
    with open_file(path) as file:
        rows = file.metadata.num_rows
        num_bytes = _measure(file, path, columns, MAX_FILE_BYTES)
        if num_bytes > MAX_FILE_BYTES:
            raise _too_large(path)
        fitting = MAX_BATCH_BYTES * rows // max(1, num_bytes)
        yield from file.iter_batches(max(1, min(batch_size, fitting)), columns=columns)


def _too_large(path: Path) -> ValueError:
    return ValueError(
        f"{path}: its rows take more memory than is allowed ({MAX_TABLE_BYTES / 1e9:g} GB for a table, "
        f"{MAX_FILE_BYTES / 1e9:g} GB for a file of a dataset), though the file has {path.stat().st_size:,} bytes. "
        "Do not trust it."
    )


def _check_rows(file: pq.ParquetFile, path: Path) -> int:
    if file.metadata.num_rows > MAX_ROWS:
        raise ValueError(
            f"{path}: it declares {file.metadata.num_rows:,} rows, at most {MAX_ROWS:,} are read. Split the file."
        )
    return file.metadata.num_rows


def _measure(file: pq.ParquetFile, path: Path, columns: list[str] | None, limit: int) -> int:
    """Return the bytes that the rows take in memory, as the file declares them, or a number above ``limit``.

    A text that a page has once, and many rows refer to, is counted for each of them.
    """
    _check_rows(file, path)
    num_bytes = 0
    bounds = Counter[str]()
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for index in range(group.num_columns):
            chunk = group.column(index)
            name = chunk.path_in_schema
            if columns is not None and name.partition(".")[0] not in columns:
                continue
            num_bytes += chunk.total_uncompressed_size
            if chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page:
                # Each value may be a text as long as the whole dictionary.
                bounds[name] += chunk.num_values * chunk.total_uncompressed_size
    for name, bound in bounds.items():
        if num_bytes > limit:
            break
        if bound > MAX_BATCH_BYTES:
            num_bytes += _measure_repeated(path, name, limit)
    return num_bytes


def _measure_repeated(path: Path, name: str, limit: int) -> int:
    """Return the bytes of the texts of a column (``captions.list.element``), or a number above ``limit``."""
    try:
        return _measure_dictionary(path, name)
    except pa.ArrowNotImplementedError:
        # Arrow reads no nested column as a dictionary if its writer stopped using the dictionary half-way.
        return _measure_rows(path, name, limit)


def _measure_rows(path: Path, name: str, limit: int) -> int:
    """Return the bytes of the texts of a column, read row by row since one row may take a large part of the memory."""
    num_bytes = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1, columns=[name]):
            num_bytes += batch.nbytes
            if num_bytes > limit:
                break
    return num_bytes


def _measure_dictionary(path: Path, name: str) -> int:
    """Return the bytes of the texts of a column, each of which is read once."""
    num_bytes = 0
    with pq.ParquetFile(path, read_dictionary=[name]) as file:
        for batch in file.iter_batches(ROWS_PER_CHECK, columns=[name]):
            array: Any = batch.column(0)
            while not pa.types.is_dictionary(array.type):
                if not (pa.types.is_list(array.type) or pa.types.is_struct(array.type)):
                    return num_bytes
                array = array.flatten() if pa.types.is_list(array.type) else array.field(0)
            sizes = pc.binary_length(array.dictionary).take(array.indices)  # pyright: ignore
            num_bytes += pc.sum(sizes).as_py() or 0  # pyright: ignore
    return num_bytes


def read_filled(
    path: Path, batch_size: int = 65_536, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a dataset file as ``read_batches``.

    Raises ValueError, which names the row and the column, for an empty cell where a row needs a text, an
    id or a class, and for an empty element of a list.
    """
    start = 0
    for batch in read_batches(path, batch_size, columns):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            is_needed = NEEDED.fullmatch(name) is not None
            empty = _find_empty(column, is_needed) if is_needed or name in LISTS else None
            if empty is not None:
                raise ValueError(
                    f"{path}, row {start + empty}: the column {name!r} has an empty cell. Every row needs a value "
                    "there: build the dataset again."
                )
        yield batch
        start += batch.num_rows


def _find_empty(column: Any, is_needed: bool = True) -> int | None:
    """Return the first row with an empty cell (if it is needed), or with an empty element of a list."""
    if is_needed and column.null_count:
        return pc.index(column.is_null(), True).as_py()  # pyright: ignore
    if not pa.types.is_list(column.type):
        return None
    element = _find_empty(column.flatten())
    return None if element is None else column.value_parent_indices()[element].as_py()
