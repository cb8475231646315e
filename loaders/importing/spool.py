"""Rows that were read from a published file, kept in a temporary file instead of in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

from generators.schemas.scene_graph import Box
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row

MAX_BYTES_IN_MEMORY = 10_000_000


class RowSpool:
    """Rows in the order in which they were added. Iterate over them as often as needed, one iteration at a time."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](MAX_BYTES_IN_MEMORY)
        self._image_sets: list[ImageSet] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Row) -> None:
        if row.image_set is not None and row.image_set not in self._image_sets:
            self._image_sets.append(row.image_set)
        number = None if row.image_set is None else self._image_sets.index(row.image_set)
        self._file.seek(0, 2)
        self._file.write(json.dumps((*row[:-1], number)).encode() + b"\n")
        self._count += 1

    def __iter__(self) -> Iterator[Row]:
        self._file.seek(0)
        for line in self._file:
            *cells, number = json.loads(line)
            row = Row(*cells, image_set=None if number is None else self._image_sets[number])
            yield row._replace(
                images=tuple(row.images),
                captions=tuple(row.captions),
                hard_negatives=tuple(row.hard_negatives),
                box=row.box and Box(*row.box),
                categories=tuple((by, name) for by, name in row.categories),
            )
