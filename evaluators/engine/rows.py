"""The rows of a task, read from its parquet files a row group at a time.

Their columns say which protocol they are for. Nothing is kept in memory but some row groups' pixels, so that a raw set
of 370,000 rows is read in constant memory.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import loaders
from evaluators import protocols
from evaluators.engine.tasks import Task
from evaluators.models import fingerprint
from evaluators.protocols.base import Protocol
from generators.storage import parquet
from generators.storage.crops import Crop
from generators.storage.dataset import pixels_of
from loaders import pixels

ABOUT_COLUMNS = ("image_id", "compound", "categories", "cell")
"""What a table of examples shows beside the protocol's own columns."""
_ROWS_A_BLOCK = 2048
_GROUPS_AT_HAND = 4


class Reference(NamedTuple):
    """A crop that its row does not hold."""

    crop: Crop
    crop_id: str
    """The hash that the crop had when the dataset was built."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one task: texts in blocks, pixels by row number."""

    task: Task
    files: tuple[Path, ...]
    fingerprint: str
    """Over the files, the limit and the size of a fold."""
    count: int
    limit: int | None
    fold_size: int | None
    """Rows of a retrieval fold (appendix B.2); None where rows are not retrieved among each other."""

    def __len__(self) -> int:
        return self.count

    @cached_property
    def schema(self) -> pa.Schema:
        return parquet.read_schema(self.files[0])

    @cached_property
    def protocol(self) -> Protocol:
        return protocols.find(self.schema.names)

    @cached_property
    def classes(self) -> list[list[str]]:
        """The prompts of each class, where all rows share classes."""
        return self.protocol.classes(self.schema)

    @cached_property
    def source(self) -> str:
        """Where the images come from: ``microworld``, ``visual_genome``."""
        if "provenance" not in self.schema.names:
            return self.task.dataset
        first = next(parquet.batches(self.files[0], 1, ["provenance"]))
        return first["provenance"][0].as_py()["source"]

    @cached_property
    def set_size(self) -> int:
        """Candidates of a query, the truth included. ValueError if the rows of a choice differ in it."""
        if self.fold_size is not None or self.classes:
            return self.fold_size or len(self.classes)
        if len(self.protocol.images) != 1:
            return len(self.protocol.images)
        sizes = {size for block in self.texts() for size in map(len, block["hard_negatives"])}
        if len(sizes) != 1:
            raise ValueError(f"{self.task.name}: rows have {sorted(sizes)} hard negatives, one number expected.")
        return 1 + sizes.pop()

    def texts(self) -> Iterator[pa.RecordBatch]:
        """All columns but pixels and what no evaluation needs, of all rows, in blocks."""
        about = [name for name in ABOUT_COLUMNS if name in self.schema.names]
        referred = [] if pixels_of(self.schema) == "embedded" else pixels.COLUMNS
        columns = [*self.protocol.columns, *about, *referred]
        left = self.count
        for path in self.files:
            for block in parquet.batches(path, min(_ROWS_A_BLOCK, left), columns):
                yield block.slice(0, left)
                left -= block.num_rows
                if left <= 0:
                    return

    def reference(self, row: Mapping[str, Any]) -> Reference | None:
        """Where the crop of a row of :meth:`texts` is to be cut from; None if the dataset holds it."""
        if "image_path" not in row:
            return None
        crop = pixels.place(row, self.files[0].parent.parent)
        return Reference(crop._replace(path=self._paths.setdefault(crop.path, crop.path)), row["crop_id"])

    @cached_property
    def _paths(self) -> dict[Path, Path]:
        """One object for each path, since an image's crops may be many."""
        return {}

    def images(self, cells: Sequence[tuple[int, str]]) -> list[bytes | OSError]:
        """The encoded images that some rows and columns hold, or why a file of theirs cannot be read.

        Reads each row group once if the rows come in order.
        """
        found: list[bytes | OSError] = []
        for row, column in cells:
            path, group, start = self._groups[bisect_right(self._groups, row, key=itemgetter(2)) - 1]
            cell = self._image_group(path, group, column)[row - start].as_py()
            found.append(read_file(Path(cell["path"])) if cell["bytes"] is None else cell["bytes"])
        return found

    @cached_property
    def _groups(self) -> list[tuple[Path, int, int]]:
        """File, row group and its first row."""
        groups, start = [], 0
        for path in self.files:
            with parquet.opened(path) as file:
                for group in range(file.num_row_groups):
                    groups.append((path, group, start))
                    start += file.metadata.row_group(group).num_rows
        return groups

    @cached_property
    def _image_group(self) -> Callable[[Path, int, str], pa.ChunkedArray]:
        """Reads one column's images of a row group; the last ones stay at hand."""

        def read(path: Path, group: int, column: str) -> pa.ChunkedArray:
            with parquet.opened(path) as file:
                return file.read_row_group(group, [column])[column]

        return lru_cache(maxsize=_GROUPS_AT_HAND)(read)


def read_file(path: Path) -> bytes | OSError:
    """The bytes of a file, or why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        return error


def load(tasks: Sequence[Task], data_dir: Path | None = None, limit: int | None = None) -> list[Rows]:
    """The rows of tasks, the first ``limit`` of each if one is given. ValueError if there are none."""
    folders = {name: loaders.dataset_folder(name, data_dir) for name in {task.dataset: None for task in tasks}}
    stats = {name: loaders.read_stats(folder) for name, folder in folders.items()}
    return [_load(task, folders[task.dataset], stats[task.dataset], limit) for task in tasks]


def _load(task: Task, folder: Path, stats: dict[str, Any], limit: int | None) -> Rows:
    prefix = f"{task.config}/{task.stored_split}-"
    files = {name: entry for name, entry in sorted(stats["files"].items()) if name.startswith(prefix)}
    count = sum(entry["rows"] for entry in files.values())
    if not count:
        raise ValueError(f"{task.name}: the split has no rows.")
    count = count if limit is None else min(limit, count)
    fold_size = None
    if protocols.find(parquet.read_schema(folder / next(iter(files))).names).name == "recall":
        fold_size = min(count, smallest_raw_split(task, stats["rows"])) if task.is_raw else count
    hashes = [entry["sha256"] for entry in files.values()]
    identity = fingerprint.of_json([hashes, limit, fold_size])
    return Rows(task, tuple(folder / name for name in files), identity, count, limit, fold_size)


def smallest_raw_split(task: Task, rows: dict[str, dict[str, int]]) -> int:
    """N of appendix B.2: the smallest raw split over all corpora, or all complexities; empty ones do not count."""
    family = r"prod_raw" if task.config.startswith("prod_") else r"(?!prod_).*_raw"
    return min(
        count for config, splits in rows.items() if re.fullmatch(family, config) for count in splits.values() if count
    )
