"""Plan of a run: the distinct crops and texts of all tasks, in an order that depends only on the tasks.

The chunks depend only on this order and not on what is already cached. Therefore a run that was killed and resumed
encodes the same items in the same batches and writes exactly the same results.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.engine.rows import Reference, Rows
from evaluators.protocols import recall
from generators.storage.patches import Patches

FOLD_SEED = 0


@dataclass(frozen=True, slots=True)
class CropSource:
    """Location of a crop's pixels: a row and column of a task, or the image file that the row names."""

    rows: Rows
    row: int
    column: str = "image"
    reference: Reference | None = None
    patches: Patches | None = None
    """Order of the image's patches; None for the image as it is."""

    @property
    def image_file(self) -> Path | None:
        """File that the crop is cut from; None if the dataset stores the crop itself."""
        return self.reference and self.reference.crop.path

    @property
    def refusal(self) -> str | None:
        """Why the image file must not be read; None if it may be read."""
        return self.reference and self.reference.refusal

    @property
    def image(self) -> Hashable:
        """Identity of the file or cell with the image, from which several crops can be made."""
        return self.image_file or (self.rows.files, self.row, self.column)

    def __str__(self) -> str:
        return f"{self.rows.task.name}, row {self.row}"


@dataclass(frozen=True)
class TaskPlan:
    """The scored rows of a task, with crops and texts given by their positions in the plan."""

    rows: Rows
    row_N: np.ndarray
    """Numbers of the scored rows in the split, in increasing order."""
    crop_NI: np.ndarray
    """Positions of each row's images in the plan's crops."""
    text_NT: np.ndarray
    """Positions of each row's texts in the plan's texts; -1 if a row has fewer than T texts."""
    fold_N: np.ndarray
    """Retrieval fold of each row; 0 for all rows if the protocol has no folds."""
    class_CP: np.ndarray
    """Positions of each class's prompts in the plan's texts; empty if the protocol has no classes."""
    label_N: np.ndarray
    """Class of each row; 0 for all rows if the protocol has no classes."""


@dataclass(frozen=True)
class Plan:
    tasks: tuple[TaskPlan, ...]
    crops: tuple[CropSource, ...]
    """Distinct crops in order of first use. Crops of one source image are consecutive."""
    texts: tuple[str, ...]
    """Distinct texts, sorted case-insensitively, so that texts with a common prefix are consecutive."""


def make(tasks: Sequence[Rows]) -> Plan:
    """Return the plan for scoring the rows of all tasks."""
    crops: list[CropSource] = []
    crop_number, text_number = _numbering(), _numbering()
    drafts = [_draft(rows, crops, crop_number, text_number) for rows in tasks]
    texts = list(text_number)
    text_order_T = np.array(sorted(range(len(texts)), key=lambda number: (texts[number].lower(), texts[number])), int)
    crop_order_C = _by_image(crops)
    crop_position_C = np.argsort(crop_order_C).astype(np.int32)
    text_position_T = np.append(np.argsort(text_order_T), -1).astype(np.int32)  # -1 (no text) is mapped to -1
    return Plan(
        tuple(
            replace(
                draft,
                crop_NI=crop_position_C[draft.crop_NI],
                text_NT=text_position_T[draft.text_NT],
                class_CP=text_position_T[draft.class_CP],
            )
            for draft in drafts
        ),
        tuple(crops[number] for number in crop_order_C),
        tuple(texts[number] for number in text_order_T),
    )


def _numbering() -> defaultdict[Any, int]:
    """Return a dictionary that assigns consecutive numbers to keys when they are first used."""
    numbers: defaultdict[Any, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _draft(
    rows: Rows,
    crops: list[CropSource],
    crop_number: defaultdict[Any, int],
    text_number: defaultdict[Any, int],
) -> TaskPlan:
    """Return the plan of one task, in which crops and texts are numbered in order of first use.

    Appends new crops to ``crops``. A crop is identified by its id and its dataset folder, since two datasets may store
    the same crop with different pixels or use the same id for different crops. Identical files of two datasets are
    recognised later by their bytes. Raises ValueError if the rows cannot be scored.
    """
    protocol = rows.protocol
    row_N, fold_N = list_scored_rows(rows)
    crop_NI = np.empty((len(row_N), len(protocol.images)), dtype=np.int32)
    label_N = np.zeros(len(row_N), dtype=np.int32)
    text_J, texts_N = array("i"), array("i")
    for index, (row, item) in enumerate(_items(rows, row_N)):
        for position, (column, id_column) in enumerate(zip(protocol.images, protocol.crop_ids, strict=True)):
            crop_NI[index, position] = crop_number[rows.folder, item[id_column]]
            if len(crop_number) > len(crops):
                image_rows, image_row = rows.find_image(row, item)
                reference, patches = rows.reference(row, item), rows.patches(row, item)
                crops.append(CropSource(image_rows, image_row, column, reference, patches))
        if protocol.label:
            label_N[index] = _label(rows, row, item[protocol.label])
        numbers = [text_number[text] for text in _texts(item, protocol.texts)]
        text_J.extend(numbers)
        texts_N.append(len(numbers))
    class_CP = np.array([[text_number[prompt] for prompt in prompts] for prompts in rows.classes], dtype=np.int32)
    is_text_NT = np.arange(max(texts_N, default=0)) < np.array(texts_N)[:, None]
    text_NT = np.full(is_text_NT.shape, -1, dtype=np.int32)
    text_NT[is_text_NT] = text_J
    if rows.fold_size is not None:
        for fold in np.unique(fold_N):
            if not recall.is_measurable(crop_NI[fold_N == fold, 0], text_NT[fold_N == fold]):
                raise ValueError(
                    f"{rows.task.name}: retrieval needs a wrong candidate for each image and each caption, and some "
                    f"image or caption of the {(fold_N == fold).sum():,} rows has none. Use more images with different "
                    "captions."
                )
    return TaskPlan(rows, row_N, crop_NI, text_NT, fold_N, class_CP, label_N)


def _label(rows: Rows, row: int, label: Any) -> int:
    """Return the class of a row. Raises ValueError if there is no such class."""
    if not isinstance(label, int) or not 0 <= label < len(rows.classes):
        raise ValueError(f"{rows.task.name}, row {row}: label {label!r}, expected 0 to {len(rows.classes) - 1}.")
    return label


def _by_image(crops: Sequence[CropSource]) -> np.ndarray:
    """Return an order (C,) of the crops in which all crops of a source image follow the first of them."""
    first: dict[Hashable, int] = {}
    first_C = [first.setdefault(crop.image, position) for position, crop in enumerate(crops)]
    return np.argsort(np.array(first_C, int), kind="stable")


def chunks(num_items: int, size: int) -> list[slice]:
    """Return consecutive chunks of ``size`` items. The last chunk may be shorter."""
    return [slice(start, min(start + size, num_items)) for start in range(0, num_items, size)]


def crop_chunks(crops: Sequence[CropSource], size: int) -> list[slice]:
    """Return chunks of ``size`` crops, each extended by the remaining crops of its last source image."""
    images = [crop.image for crop in crops]
    chunk_slices, start = [], 0
    while start < len(crops):
        stop = min(start + size, len(crops))
        while stop < len(crops) and images[stop] == images[stop - 1]:
            stop += 1
        chunk_slices.append(slice(start, stop))
        start = stop
    return chunk_slices


def _texts(item: Mapping[str, Any], columns: Iterable[str]) -> Iterator[str]:
    """Yield all texts of a row, column by column."""
    for column in columns:
        yield from [item[column]] if isinstance(item[column], str) else item[column]


def list_scored_rows(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the scored rows in increasing order, and the retrieval fold of each."""
    if rows.fold_size is None:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int32)
    folds = list(recall.make_folds(len(rows), rows.fold_size, FOLD_SEED))
    row_N = np.concatenate(folds)
    fold_N = np.repeat(np.arange(len(folds), dtype=np.int32), rows.fold_size)
    order_N = np.argsort(row_N, kind="stable")
    return row_N[order_N], fold_N[order_N]


def _items(rows: Rows, row_N: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the columns of each scored row."""
    start = 0
    for block in rows.texts():
        row_B = row_N[(row_N >= start) & (row_N < start + block.num_rows)]
        yield from zip(row_B.tolist(), block.take(row_B - start).to_pylist(), strict=True)
        start += block.num_rows
