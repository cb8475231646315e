"""Read the rows of a task from its parquet files, one row group at a time.

Only the images of a few row groups are in memory at any time, so even a raw set of 370,000 rows needs little memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from compeval.base.schemas.corpus_names import CORPORA, parse_systematicity
from compeval.base.schemas.rows import get_image_storage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage import parquet
from compeval.base.storage.patches import Patches
from compeval.evaluators import protocols
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.models import fingerprint
from compeval.evaluators.protocols import authors
from compeval.evaluators.protocols.base import Protocol
from compeval.loaders.datasets import referenced_images
from compeval.loaders.datasets.folders import dataset_folder
from compeval.loaders.datasets.image_sources import UNKNOWN
from compeval.loaders.datasets.revisions import get_commit
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.datasets.verified import verify_files, verify_images

OTHER_COLUMNS = ("image_id", "compound", "categories", "cell", "image_row", "patches")
"""Columns that are read in addition to the columns of the protocol: those that the examples table contains, and those
that say which image a row shows."""
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
    column: str
    image: Hashable
    """Identity of the file or cell with the image, from which several crops can be made."""
    reference: Reference | None = None
    patches: Patches | None = None
    """Order of the image's patches; None for the image as it is."""

    def __str__(self) -> str:
        return f"{self.dataset.task.name}, row {self.row}"


@dataclass(frozen=True, eq=False)
class TaskDataset:
    """The rows of one task. Texts are read in blocks, images by row number."""

    task: Task
    files: tuple[Path, ...]
    schema: pa.Schema
    """Schema of the files."""
    protocol: Protocol
    """Protocol that the columns determine."""
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
    def authors_rule(self) -> authors.Rule | None:
        """The rule of a published benchmark's authors, if it differs from ours."""
        return authors.find_rule(self.task.dataset, self.task.config)

    @cached_property
    def set_size(self) -> int:
        """Number of candidates per query, including the correct one. Raises ValueError if it differs between rows."""
        if self.fold_size is not None or self.classes:
            return self.fold_size or len(self.classes)
        if "hard_negatives" not in self.protocol.texts and len(self.protocol.images) != 1:
            return len(
                self.protocol.texts if len(self.protocol.texts) > 1 else self.protocol.images
            )
        sizes: set[int] = set()
        for block in self.texts():
            sizes.update(pc.list_value_length(block["hard_negatives"]).unique().to_pylist())  # pyright: ignore
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                f"{self.task.name}: rows have {sorted(sizes)} hard negatives, one positive number expected."
            )
        return 1 + sizes.pop()

    @cached_property
    def _text_columns(self) -> list[str]:
        """The columns that an evaluation needs, except the images."""
        names = [*self.protocol.columns]
        names += [name for name in OTHER_COLUMNS if name in self.schema.names]
        if get_image_storage(self.schema) == "by_reference":
            names += referenced_images.COLUMNS
        return names

    def texts(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in blocks, with the columns that an evaluation needs except the images."""
        remaining = self.count
        for path in self.files:
            block_size = min(ROWS_PER_BLOCK, remaining)
            for block in parquet.read_filled(path, block_size, self._text_columns):
                yield block.slice(0, remaining)
                remaining -= block.num_rows
                if remaining <= 0:
                    return

    @cached_property
    def folder(self) -> Path:
        """The dataset folder."""
        return self.files[0].parent.parent

    @cached_property
    def first_split(self) -> TaskDataset:
        """The first split of the config, which contains the images if the config stores each image once."""
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
        """Return what worker processes need to read images. A protocol has functions that cannot be pickled."""
        omitted = ("schema", "protocol")
        return {
            name: self.__dict__[name] for name in self.__dataclass_fields__ if name not in omitted
        }


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
    schema = parquet.read_schema(paths[0])
    protocol = protocols.find_protocol(schema.names)
    fold_size = None
    if protocol.name == "recall":
        fold_size = count
        if task.is_raw:
            fold_size = min(count, find_smallest_raw_split(task, stats["rows"]))
    hashes = [entry["sha256"] for entry in files.values()]
    return TaskDataset(
        task=task,
        files=paths,
        schema=schema,
        protocol=protocol,
        fingerprint=fingerprint.of_json([hashes, limit, fold_size]),
        count=count,
        limit=limit,
        version=stats["version"],
        revision=get_commit(folder),
        fold_size=fold_size,
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
