"""Read the rows of a task from its parquet files, one row group at a time.

Only the images of a few row groups are in memory at any time, so even a raw set of 370,000 rows needs little memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from compeval.base.schemas.corpus_names import CORPORA, parse_systematicity
from compeval.base.schemas.rows import get_image_storage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage import parquet
from compeval.base.storage.patches import Patches
from compeval.evaluators import protocols
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.models import fingerprint
from compeval.evaluators.protocols.base import Protocol
from compeval.loaders.datasets import referenced_images
from compeval.loaders.datasets.folders import dataset_folder
from compeval.loaders.datasets.image_sources import UNKNOWN
from compeval.loaders.datasets.revisions import get_commit
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.datasets.verified import verify_files, verify_images

EXAMPLE_COLUMNS = ("image_id", "compound", "categories", "cell")
"""Columns that the examples table contains in addition to the columns of the protocol."""
ROWS_PER_BLOCK = 2048
ROW_GROUPS_IN_MEMORY = 4
MIN_FOLD_SIZE = 100
"""Smaller raw splits do not determine the fold size of other splits, unless all splits are smaller."""


class Reference(NamedTuple):
    """A crop that is not stored in the dataset but cut from an image file when it is needed."""

    name: str
    """Path of the image file as the row states it. Whether the file may be read is checked when it is read."""
    path: Path
    box: Box
    crop_id: str
    """Hash of the crop when the dataset was built."""


@dataclass(frozen=True, slots=True)
class CropSource:
    """Location of a crop's pixels: a row and column of a task, or the image file that the row names."""

    dataset: TaskDataset
    row: int
    column: str = "image"
    reference: Reference | None = None
    patches: Patches | None = None
    """Order of the image's patches; None for the image as it is."""

    @property
    def image(self) -> Hashable:
        """Identity of the file or cell with the image, from which several crops can be made."""
        return (
            self.reference.path if self.reference else (self.dataset.files, self.row, self.column)
        )

    def __str__(self) -> str:
        return f"{self.dataset.task.name}, row {self.row}"


@dataclass(frozen=True, eq=False)
class TaskDataset:
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
                names = batch["provenance"].field("source").unique().to_pylist()
                sources |= {name or UNKNOWN for name in names}
        return "+".join(sorted(sources))

    @cached_property
    def set_size(self) -> int:
        """Number of candidates per query, including the correct one. Raises ValueError if it differs between rows."""
        if self.fold_size is not None or self.classes:
            return self.fold_size or len(self.classes)
        if "hard_negatives" not in self.protocol.texts and len(self.protocol.images) != 1:
            return len(
                self.protocol.texts if len(self.protocol.texts) > 1 else self.protocol.images
            )
        sizes = {size for block in self.texts() for size in map(len, block["hard_negatives"])}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                f"{self.task.name}: rows have {sorted(sizes)} hard negatives, one positive number expected."
            )
        return 1 + sizes.pop()

    def texts(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in blocks, with the columns that an evaluation needs except the images."""
        extra = [
            name for name in (*EXAMPLE_COLUMNS, "image_row", "patches") if name in self.schema.names
        ]
        by_reference = (
            [] if get_image_storage(self.schema) == "embedded" else referenced_images.COLUMNS
        )
        columns = [*self.protocol.columns, *extra, *by_reference]
        remaining = self.count
        for path in self.files:
            for block in parquet.read_filled(path, min(ROWS_PER_BLOCK, remaining), columns):
                yield block.slice(0, remaining)
                remaining -= block.num_rows
                if remaining <= 0:
                    return

    @cached_property
    def folder(self) -> Path:
        """The dataset folder."""
        return self.files[0].parent.parent

    def find_crop(self, row: int, columns: Mapping[str, Any], column: str) -> CropSource:
        """Return the location of the image in a column of a row, given all ``columns`` of the row.

        It is the image file that the row references, or the cell of the row itself, or the cell of a row of the
        config's first split if the config stores each image once. Raises ValueError for an invalid order of patches.
        """
        try:
            patches = Patches.from_row(columns)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.task.name}, row {row}: {error}") from None
        if "image_path" in columns:
            name = columns["image_path"] or ""
            box = Box(
                *(math.nan if columns[side] is None else columns[side] for side in Box._fields)
            )
            reference = Reference(
                name, self.folder.absolute().parent / name, box, columns["crop_id"]
            )
            return CropSource(self, row, column, reference, patches)
        shared_row = columns.get("image_row")
        dataset, row = (self, row) if shared_row is None else (self._first_split, shared_row)
        return CropSource(dataset, row, column, None, patches)

    @cached_property
    def _first_split(self) -> TaskDataset:
        folder = self.files[0].parent
        split = referenced_images.find_first_split(folder)
        task = Task.of(self.task.dataset, self.task.config, split)
        return replace(self, task=task, files=tuple(sorted(folder.glob(f"{split}-*.parquet"))))

    def read_image(self, row: int, column: str) -> bytes:
        """Return the bytes of the image file in a cell. In increasing order of rows, each row group is read once.

        Raises OSError or ValueError if it cannot be read.
        """
        groups = _list_row_groups(self.files, self.fingerprint)
        path, number, start = groups[bisect_right(groups, row, key=itemgetter(2)) - 1]
        cells = _read_image_column(path, self.fingerprint, number, column)
        if not 0 <= row - start < len(cells):
            raise ValueError(f"there is no row {row}")
        return referenced_images.read_stored(
            cells[row - start].as_py() or {"bytes": None, "path": None}, self.folder
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without the cached properties."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


@lru_cache
def _list_row_groups(files: tuple[Path, ...], fingerprint: str) -> list[tuple[Path, int, int]]:
    """Return file, number within the file and first row of each row group."""
    groups = []
    start = 0
    for path in files:
        metadata = _read_metadata(path, fingerprint)
        for group in range(metadata.num_row_groups):
            groups.append((path, group, start))
            start += metadata.row_group(group).num_rows
    return groups


@lru_cache(maxsize=ROW_GROUPS_IN_MEMORY)
def _read_image_column(path: Path, fingerprint: str, group: int, column: str) -> pa.ChunkedArray:
    """Return the images of a row group. ``fingerprint`` changes with the file, which may be written again."""
    with parquet.open_file(path, _read_metadata(path, fingerprint)) as file:
        return file.read_row_group(group, [column])[column]


@lru_cache
def _read_metadata(path: Path, fingerprint: str) -> pq.FileMetaData:
    """Return the footer of a file, which takes long to read if there are many row groups."""
    with parquet.open_file(path) as file:
        return file.metadata


def load(
    task: Task, data_dir: Path | str | None = None, limit: int | None = None, *, verify: bool = True
) -> TaskDataset:
    """Return the rows of a task, or its first ``limit`` rows.

    Raises ValueError if the task has no rows or its files differ from the stats.json of the dataset: in size or number
    of rows, and with ``verify`` also in their hashes.
    """
    folder = dataset_folder(task.dataset, data_dir)
    stats = read_stats(folder, task.config, task.stored_split)
    prefix = f"{task.config}/{task.stored_split}-"
    files = {
        name: entry for name, entry in sorted(stats["files"].items()) if name.startswith(prefix)
    }
    if verify:
        verify_images(folder, stats)
        verify_files(folder, stats, files)
    count = sum(entry["rows"] for entry in files.values())
    if not count:
        raise ValueError(f"{task.name}: the split has no rows.")
    count = count if limit is None else min(limit, count)
    paths = tuple(folder / name for name in files)
    fold_size = None
    if protocols.find_protocol(parquet.read_schema(paths[0]).names).name == "recall":
        fold_size = (
            min(count, find_smallest_raw_split(task, stats["rows"])) if task.is_raw else count
        )
    hashes = [entry["sha256"] for entry in files.values()]
    digest = fingerprint.of_json([hashes, limit, fold_size])
    return TaskDataset(
        task, paths, digest, count, limit, stats["version"], get_commit(folder), fold_size
    )


def find_smallest_raw_split(task: Task, rows: dict[str, dict[str, int]]) -> int:
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
