"""Read and write parquet files.

A damaged file raises the same ValueError in every function, with the path and the next step.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


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
    with open_file(path) as file:
        return file.metadata.num_rows


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return all rows of a file, with all columns or only ``columns``."""
    with open_file(path) as file:
        return file.read(columns)


def read_batches(
    path: Path, batch_size: int = 65_536, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches of at most ``batch_size`` rows."""
    with open_file(path) as file:
        yield from file.iter_batches(batch_size, columns=columns)
