"""Plan of a run: the distinct crops and texts of all tasks, in an order that depends only on the tasks.

The chunks depend only on this order and not on what is already cached. Therefore a run that was killed and resumed
encodes the same items in the same batches and writes exactly the same results.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import round_corners
from compeval.base.storage.patches import Patches
from compeval.evaluators.engine.task_dataset import CropSource, Reference, TaskDataset
from compeval.evaluators.protocols import recall

FOLD_SEED = 0


@dataclass(frozen=True)
class TaskPlan:
    """The scored rows of a task, with crops and texts given by their positions in the plan."""

    dataset: TaskDataset
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


class Draft(NamedTuple):
    """The plan of one task, whose positions are those in its own crops and texts."""

    task: TaskPlan
    crops: dict[Hashable, CropSource]
    """Distinct crops in order of first use, by dataset folder and crop id.

    The folder is needed because two datasets may use the same id for different crops. Identical files of two datasets
    are recognised later by their bytes.
    """
    texts: list[str]
    """Distinct texts in order of first use."""


def build_plan(datasets: Iterable[TaskDataset]) -> Plan:
    """Return the plan for scoring the rows of all tasks. Raises ValueError if the rows of a task cannot be scored."""
    return merge_plans([plan_task(dataset) for dataset in datasets])


def plan_task(dataset: TaskDataset) -> Draft:
    """Return the plan of one task. Raises ValueError if its rows cannot be scored."""
    protocol = dataset.protocol
    row_N, fold_N = _list_scored_rows(dataset)
    crop_NI = np.empty((len(row_N), len(protocol.images)), dtype=np.int32)
    label_N = np.zeros(len(row_N), dtype=np.int32)
    crops: dict[Hashable, CropSource] = {}
    crop_number: dict[str, int] = {}
    place_by_crop: dict[str, Hashable] = {}
    text_number: dict[str, int] = {}
    # Rows can have different numbers of texts: the texts of all rows in one array, and their number in each row.
    text_J = array("i")
    texts_N = array("i")
    image_columns = list(zip(protocol.images, protocol.crop_ids, strict=True))
    for index, (row, columns) in enumerate(_read_rows(dataset, row_N)):
        for position, (column, id_column) in enumerate(image_columns):
            crop_id = columns[id_column]
            if crop_id not in crop_number:
                crop_number[crop_id] = len(crop_number)
                crops[dataset.folder, crop_id] = _locate_crop(dataset, row, columns, column)
            crop_NI[index, position] = crop_number[crop_id]
            # Rows of another part of an image must have another id, since features are looked up by it.
            place = _describe_place(columns)
            if place_by_crop.setdefault(crop_id, place) != place:
                raise ValueError(
                    f"{dataset.task.name}, row {row}: {id_column} {crop_id!r} is that of an earlier row with another "
                    "part of an image. Equal ids mean equal pixels: build the dataset again."
                )
        if protocol.label:
            label_N[index] = _check_label(dataset, row, columns[protocol.label])
        texts = list(_list_texts(columns, protocol.texts))
        text_J.extend(text_number.setdefault(text, len(text_number)) for text in texts)
        texts_N.append(len(texts))
    prompt_CP = [
        [text_number.setdefault(prompt, len(text_number)) for prompt in prompts]
        for prompts in dataset.classes
    ]
    class_CP = np.array(prompt_CP, dtype=np.int32)
    text_NT = np.full((len(row_N), max(texts_N, default=0)), -1, dtype=np.int32)
    text_NT[np.arange(text_NT.shape[1]) < np.array(texts_N)[:, None]] = text_J
    if dataset.fold_size is not None:
        _check_folds(dataset, crop_NI, text_NT, fold_N)
    task = TaskPlan(dataset, row_N, crop_NI, text_NT, fold_N, class_CP, label_N)
    return Draft(task, crops, list(text_number))


def _locate_crop(
    dataset: TaskDataset, row: int, columns: Mapping[str, Any], column: str
) -> CropSource:
    """Return the location of the image in a column of a row, given all ``columns`` of the row.

    It is the image file that the row references, or the cell of the row itself, or the cell of a row of the config's
    first split if the config stores each image once. Raises ValueError for an invalid order of patches.
    """
    patches = None
    if columns.get("patches") is not None:
        try:
            patches = Patches.from_row(columns)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{dataset.task.name}, row {row}: {error}") from None
    if "image_path" in columns:
        name = columns["image_path"] or ""
        path = dataset.folder.absolute().parent / name
        sides = (columns[side] for side in Box._fields)
        box = Box(*(math.nan if side is None else side for side in sides))
        reference = Reference(name, path, box, columns["crop_id"])
        return CropSource(dataset, row, column, path, reference, patches)
    shared_row = columns.get("image_row")
    if shared_row is not None:
        dataset = dataset.first_split
        row = shared_row
    return CropSource(dataset, row, column, (dataset.files, row, column), None, patches)


def _describe_place(columns: Mapping[str, Any]) -> Hashable:
    """Return what rows with the same crop have in common, as far as the columns tell it without the pixels."""
    box = [columns.get(side) for side in Box._fields] if "image_path" in columns else []
    is_box = bool(box) and all(side is not None and math.isfinite(side) for side in box)
    corners = round_corners(Box(*box)) if is_box else None  # pyright: ignore[reportArgumentType]
    return corners, columns.get("image_row"), str(columns.get("patches"))


def merge_plans(drafts: Sequence[Draft]) -> Plan:
    """Return the plan of several tasks."""
    crops: dict[Hashable, CropSource] = {}
    for key, crop in chain.from_iterable(one.crops.items() for one in drafts):
        crops.setdefault(key, crop)
    first_use: dict[Hashable, int] = {}
    for crop in crops.values():
        first_use.setdefault(crop.image, len(first_use))
    # Stable: crops of one image are in order of first use.
    keys = sorted(crops, key=lambda key: first_use[crops[key].image])
    distinct_texts = {text for one in drafts for text in one.texts}
    texts = sorted(distinct_texts, key=lambda text: (text.lower(), text))
    crop_position = {key: position for position, key in enumerate(keys)}
    text_position = {text: position for position, text in enumerate(texts)}
    tasks = []
    for task, task_crops, task_texts in drafts:
        crop_C = np.array([crop_position[key] for key in task_crops], dtype=np.int32)
        # The last position is that of -1, no text, which stays -1.
        text_T = np.array([*(text_position[text] for text in task_texts), -1], dtype=np.int32)
        arrays = {
            "crop_NI": crop_C[task.crop_NI],
            "text_NT": text_T[task.text_NT],
            "class_CP": text_T[task.class_CP],
        }
        tasks.append(replace(task, **arrays))
    return Plan(tuple(tasks), tuple(crops[key] for key in keys), tuple(texts))


def _check_label(dataset: TaskDataset, row: int, label: Any) -> int:
    """Return the class of a row. Raises ValueError if there is no such class."""
    if not isinstance(label, int) or not 0 <= label < len(dataset.classes):
        raise ValueError(
            f"{dataset.task.name}, row {row}: label {label!r}, expected 0 to {len(dataset.classes) - 1}."
        )
    return label


def _check_folds(
    dataset: TaskDataset, crop_NI: np.ndarray, text_NT: np.ndarray, fold_N: np.ndarray
) -> None:
    """Raise ValueError if an image or caption has no wrong candidate in its fold."""
    for fold in np.unique(fold_N):
        is_member_N = fold_N == fold
        if not recall.is_measurable(crop_NI[is_member_N, 0], text_NT[is_member_N]):
            raise ValueError(
                f"{dataset.task.name}: retrieval needs a wrong candidate for each image and each caption, and some "
                f"image or caption of the {is_member_N.sum():,} rows has none. Use more images with different captions."
            )


def chunks(num_items: int, size: int) -> list[slice]:
    """Return consecutive chunks of ``size`` items. The last chunk may be shorter."""
    return [slice(start, min(start + size, num_items)) for start in range(0, num_items, size)]


def crop_chunks(crops: Sequence[CropSource], size: int) -> list[slice]:
    """Return chunks of ``size`` crops, each extended by the remaining crops of its last source image."""
    images = [crop.image for crop in crops]
    chunk_slices = []
    start = 0
    while start < len(crops):
        stop = min(start + size, len(crops))
        while stop < len(crops) and images[stop] == images[stop - 1]:
            stop += 1
        chunk_slices.append(slice(start, stop))
        start = stop
    return chunk_slices


def _list_texts(columns: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield all texts of a row, column by column."""
    for name in names:
        yield from [columns[name]] if isinstance(columns[name], str) else columns[name]


def _list_scored_rows(dataset: TaskDataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the scored rows in increasing order, and the retrieval fold of each."""
    if dataset.fold_size is None:
        return np.arange(len(dataset)), np.zeros(len(dataset), dtype=np.int32)
    folds = list(recall.make_folds(len(dataset), dataset.fold_size, FOLD_SEED))
    row_N = np.concatenate(folds)
    fold_N = np.repeat(np.arange(len(folds), dtype=np.int32), dataset.fold_size)
    order_N = np.argsort(row_N, kind="stable")
    return row_N[order_N], fold_N[order_N]


def _read_rows(dataset: TaskDataset, row_N: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the columns of each scored row."""
    start = 0
    for block in dataset.texts():
        row_B = row_N[(row_N >= start) & (row_N < start + block.num_rows)]
        yield from zip(row_B.tolist(), block.take(row_B - start).to_pylist(), strict=True)
        start += block.num_rows
