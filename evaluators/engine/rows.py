"""Read the rows of a task from its parquet files, one row group at a time.

Only the images of a few row groups are in memory at any time, so even a raw set of 370,000 rows needs little memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from evaluators import protocols
from evaluators.engine.tasks import Task
from evaluators.models import fingerprint
from evaluators.protocols.base import Protocol
from generators.files.untrusted import UnsafeNameError, resolve_image
from generators.schemas.corpus_names import CORPORA, parse_systematicity
from generators.schemas.rows import get_image_storage
from generators.schemas.scene_graph import Box
from generators.storage import parquet
from generators.storage.crops import Crop
from generators.storage.patches import Patches
from loaders.datasets import referenced_images
from loaders.datasets.folders import dataset_folder
from loaders.datasets.revisions import get_commit
from loaders.datasets.stats import Stats, read_stats
from loaders.datasets.verified import verify_files, verify_images

EXAMPLE_COLUMNS = ("image_id", "compound", "categories", "cell")
"""Columns that the examples table contains in addition to the columns of the protocol."""
ROWS_PER_BLOCK = 2048
ROW_GROUPS_IN_MEMORY = 4
MIN_FOLD_SIZE = 100
"""Smaller raw splits do not determine the fold size of other splits, unless all splits are smaller."""


class Reference(NamedTuple):
    """A crop that is not stored in the dataset but cut from an image file when it is needed."""

    crop: Crop
    crop_id: str
    """Hash of the crop when the dataset was built."""
    refusal: str | None = None
    """Why the image file must not be read: its path leads outside the folders that the dataset may reference."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one task. Texts are read in blocks, images by row number."""

    task: Task
    files: tuple[Path, ...]
    fingerprint: str
    """Digest of the files, the limit and the fold size."""
    count: int
    limit: int | None
    version: str
    """Version of the dataset, from its stats.json."""
    revision: str | None
    """Commit that the dataset was copied from; None for the files on disk."""
    fold_size: int | None
    """Number of rows per retrieval fold (CREPE, appendix B.2); None if the protocol has no folds."""

    def __len__(self) -> int:
        return self.count

    @cached_property
    def schema(self) -> pa.Schema:
        return parquet.read_schema(self.files[0])

    @cached_property
    def protocol(self) -> Protocol:
        return protocols.find_protocol(self.schema.names)

    @cached_property
    def classes(self) -> list[list[str]]:
        """Prompts of each class; empty if the protocol has no classes."""
        return self.protocol.classes(self.schema)

    @cached_property
    def source(self) -> str:
        """Source of the images, for example ``microworld``, or ``coco+visual_genome`` for images of both."""
        if "provenance" not in self.schema.names:
            return self.task.dataset
        sources: set[str] = set()
        for path in self.files:
            for batch in parquet.read_batches(path, columns=["provenance.source"]):
                sources |= set(batch["provenance"].field("source").unique().to_pylist())
        return "+".join(sorted(sources))

    @cached_property
    def set_size(self) -> int:
        """Number of candidates per query, including the correct one. Raises ValueError if it differs between rows."""
        if self.fold_size is not None or self.classes:
            return self.fold_size or len(self.classes)
        if len(self.protocol.images) != 1:
            return len(self.protocol.images)
        sizes = {size for block in self.texts() for size in map(len, block["hard_negatives"])}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                f"{self.task.name}: rows have {sorted(sizes)} hard negatives, one positive number expected."
            )
        return 1 + sizes.pop()

    def texts(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in blocks, with the columns that an evaluation needs except the images."""
        extra = [name for name in (*EXAMPLE_COLUMNS, "image_row", "patches") if name in self.schema.names]
        by_reference = [] if get_image_storage(self.schema) == "embedded" else referenced_images.COLUMNS
        remaining = self.count
        for path in self.files:
            columns = [*self.protocol.columns, *extra, *by_reference]
            for block in parquet.read_batches(path, min(ROWS_PER_BLOCK, remaining), columns):
                yield block.slice(0, remaining)
                remaining -= block.num_rows
                if remaining <= 0:
                    return

    @cached_property
    def folder(self) -> Path:
        """The dataset folder."""
        return self.files[0].parent.parent

    def reference(self, row: int, columns: Mapping[str, Any]) -> Reference | None:
        """Return the crop that a row references, given its ``columns``, or None if the dataset stores its crops."""
        if "image_path" not in columns:
            return None
        path = columns["image_path"] or ""
        box = Box(*(math.nan if columns[side] is None else columns[side] for side in Box._fields))
        try:
            return Reference(Crop(resolve_image(self.folder, path), box), columns["crop_id"])
        except UnsafeNameError as error:
            return Reference(Crop(Path(path), box), columns["crop_id"], str(error))

    def patches(self, row: int, columns: Mapping[str, Any]) -> Patches | None:
        """Return the order of the patches of a row's image. Raises ValueError, which names the row, if it is none."""
        try:
            return Patches.from_row(columns)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.task.name}, row {row}: {error}") from None

    def find_image(self, row: int, columns: Mapping[str, Any]) -> tuple[Rows, int]:
        """Return the rows and the row number whose ``image`` cell a row shows.

        These are the row itself, or a row of the config's first split if the config stores each image once.
        """
        if columns.get("image_row") is None or "image_path" in columns:
            return self, row
        return self._first_split, columns["image_row"]

    @cached_property
    def _first_split(self) -> Rows:
        folder = self.files[0].parent
        split = referenced_images.find_first_split(folder)
        task = Task.of(self.task.dataset, self.task.config, split)
        return replace(self, task=task, files=tuple(sorted(folder.glob(f"{split}-*.parquet"))))

    def images(self, cells: Sequence[tuple[int, str]]) -> list[bytes | OSError | ValueError]:
        """Return the bytes of the image file in each (row, column) cell, or the error if it cannot be read.

        If the rows are in increasing order, each row group is read once. Equal consecutive cells share their bytes.
        """
        images: list[bytes | OSError | ValueError] = []
        for cell, repetitions in groupby(cells):
            images += [self._read_image(*cell)] * len(list(repetitions))
        return images

    def _read_image(self, row: int, column: str) -> bytes | OSError | ValueError:
        group = bisect_right(self._row_groups, row, key=itemgetter(2)) - 1
        path, number, start = self._row_groups[group]
        cells = _image_column(path, number, column)
        if not 0 <= row - start < len(cells):
            return ValueError(f"there is no row {row}")
        cell = cells[row - start].as_py()
        try:
            return referenced_images.read_stored(cell or {"bytes": None, "path": None}, self.folder)
        except (OSError, ValueError) as error:
            return error

    @cached_property
    def _row_groups(self) -> list[tuple[Path, int, int]]:
        """File, number within the file and first row of each row group."""
        groups, start = [], 0
        for path in self.files:
            with parquet.open_file(path) as file:
                for group in range(file.num_row_groups):
                    groups.append((path, group, start))
                    start += file.metadata.row_group(group).num_rows
        return groups


@lru_cache(maxsize=ROW_GROUPS_IN_MEMORY)
def _image_column(path: Path, group: int, column: str) -> pa.ChunkedArray:
    with parquet.open_file(path) as file:
        return file.read_row_group(group, [column])[column]


def load(
    tasks: Sequence[Task], data_dir: Path | None = None, limit: int | None = None, *, verify: bool = True
) -> list[Rows]:
    """Return the rows of each task, or its first ``limit`` rows.

    Raises ValueError if a task has no rows or its files differ from the stats.json of the dataset: in size or number of
    rows, and with ``verify`` also in their hashes.
    """
    folders = {name: dataset_folder(name, data_dir) for name in {task.dataset: None for task in tasks}}
    stats_by = {task: read_stats(folders[task.dataset], task.config, task.stored_split) for task in tasks}
    if verify:
        for dataset, stats in {task.dataset: stats for task, stats in stats_by.items()}.items():
            verify_images(folders[dataset], stats)
    return [_load(task, folders[task.dataset], stats_by[task], limit, verify) for task in tasks]


def _load(task: Task, folder: Path, stats: Stats, limit: int | None, verify: bool) -> Rows:
    prefix = f"{task.config}/{task.stored_split}-"
    files = {name: entry for name, entry in sorted(stats["files"].items()) if name.startswith(prefix)}
    if verify:
        verify_files(folder, stats, files)
    count = sum(entry["rows"] for entry in files.values())
    if not count:
        raise ValueError(f"{task.name}: the split has no rows.")
    count = count if limit is None else min(limit, count)
    paths = tuple(folder / name for name in files)
    fold_size = None
    if protocols.find_protocol(parquet.read_schema(paths[0]).names).name == "recall":
        fold_size = min(count, smallest_raw_split(task, stats["rows"])) if task.is_raw else count
    hashes = [entry["sha256"] for entry in files.values()]
    digest = fingerprint.of_json([hashes, limit, fold_size])
    return Rows(task, paths, digest, count, limit, stats["version"], get_commit(folder), fold_size)


def smallest_raw_split(task: Task, rows: dict[str, dict[str, int]]) -> int:
    """Return the fold size of a raw task: the number of rows of the smallest raw split that it is compared with.

    This is N in appendix B.2 of CREPE. The raw splits of systematicity are compared over the corpora of the paper, or
    within one other corpus; those of productivity are compared over all complexities. Splits with fewer than
    MIN_FOLD_SIZE rows are ignored if there is a larger one, splits with a single row always.
    """
    family = _get_raw_family(task.config)
    counts = [
        count
        for config, splits in rows.items()
        if config.endswith("_raw") and _get_raw_family(config) == family
        for count in splits.values()
        if count > 1
    ]
    return min([count for count in counts if count >= MIN_FOLD_SIZE] or counts, default=1)


def _get_raw_family(config: str) -> str | None:
    """Return what the raw configs that are compared with each other have in common. None: the paper's corpora."""
    parts = parse_systematicity(config)
    if parts is None:
        return config
    return None if parts.corpus in CORPORA else parts.corpus
