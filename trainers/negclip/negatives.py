"""Mine negative captions in chunks that survive an interruption, and hold them compactly.

Each chunk of captions is one parquet file, which is written atomically. COCO's 567,000 captions have about two million
negatives; as Python objects, they would need gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from generators.files.atomic import atomic_file
from generators.hard_negatives.negclip.negatives import Negative, make_negatives
from generators.pipeline.workers import map_with
from generators.storage import parquet

CAPTIONS_PER_CHUNK = 10_000
_TYPE = pa.list_(pa.struct([("text", pa.string()), ("kind", pa.string())]))
Chunk = tuple[Path, Sequence[str]]
"""A file, and the captions whose negatives it holds."""


class Negatives(Sequence[tuple[Negative, ...]]):
    """The negatives of C captions. ``count_C``: number of negatives of each caption."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column
        self.count_C = np.concatenate([np.diff(chunk.offsets) for chunk in column.chunks])

    @classmethod
    def of(cls, negatives: Sequence[Sequence[Negative]]) -> Negatives:
        """Convert one sequence of negatives per caption."""
        rows = [[negative._asdict() for negative in items] for items in negatives]
        return cls(pa.chunked_array([pa.array(rows, _TYPE)]))

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, caption: int) -> tuple[Negative, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return tuple(Negative(**item) for item in self._column[int(caption)].as_py())

    def get_text(self, caption: int, negative: int) -> str:
        """Return one negative of a caption."""
        return self._column[int(caption)].values[int(negative)]["text"].as_py()

    def select(self, keep_C: np.ndarray) -> Negatives:
        """Return the negatives of the captions for which ``keep_C`` (bool) is True."""
        return Negatives(self._column.filter(pa.array(keep_C)))


def mine_negatives(captions: Sequence[str], folder: Path, workers: int, report: Callable) -> Negatives:
    """Return the negatives of all captions. Chunks that are in ``folder`` already are read.

    Large data is mined by ``workers`` processes. Calls ``report("captions", done, total)`` after each chunk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(captions), CAPTIONS_PER_CHUNK)
    chunks = [(folder / f"{start:09d}.parquet", captions[start : start + CAPTIONS_PER_CHUNK]) for start in starts]
    missing = [chunk for chunk in chunks if not chunk[0].exists()]
    done = len(captions) - sum(len(texts) for _, texts in missing)
    for count in map_with(_no_state, _write_chunk, missing, max(1, min(workers, len(missing)))):
        done += count
        report("captions", done, len(captions))
    columns = [parquet.read_table(path)["negatives"] for path, _ in chunks]
    return Negatives(pa.chunked_array([part for column in columns for part in column.chunks], _TYPE))


def _no_state() -> None:
    """The parser is loaded on first use, once per process."""


def _write_chunk(_: None, chunk: Chunk) -> int:
    """Write the negatives of the captions of a chunk, and return the number of captions."""
    path, captions = chunk
    rows = [[negative._asdict() for negative in items] for items in make_negatives(captions)]
    with atomic_file(path) as partial_file:
        pq.write_table(pa.table({"negatives": pa.array(rows, _TYPE)}), partial_file, compression="zstd")
    return len(captions)
