"""The plan of a run: every distinct crop and text of all tasks, once, in an order that depends on the tasks alone.

Chunks are cut from this order whatever is cached already, so a run that was killed and started again encodes the same
items in the same company and ends with the same bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.engine.rows import Reference, Rows
from evaluators.protocols import recall

FOLD_SEED = 0
CROPS_A_CHUNK = 256
TEXTS_A_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Place:
    """Where a crop's pixels are: in a row and a column of one of the plan's tasks, or in an image that it names."""

    rows: Rows
    row: int
    column: str = "image"
    reference: Reference | None = None

    @property
    def source_image(self) -> Path | None:
        """The file that it is to be cut from."""
        return self.reference and self.reference.crop.path

    def __str__(self) -> str:
        return f"{self.rows.task.name}, row {self.row}"


@dataclass(frozen=True)
class TaskPlan:
    """The rows of a task that are scored, as positions in the plan's crops and texts."""

    rows: Rows
    row_N: np.ndarray
    """Positions in the split, increasing."""
    crop_NI: np.ndarray
    text_NT: np.ndarray
    """-1 where a row has fewer texts than the longest."""
    fold_N: np.ndarray
    """Retrieval fold of each row; zeros where there are none."""
    class_CP: np.ndarray
    """Prompts of the classes that all rows share; empty where there are none."""
    label_N: np.ndarray
    """Class of each row; empty where there are none."""


@dataclass(frozen=True)
class Plan:
    tasks: tuple[TaskPlan, ...]
    crops: tuple[Place, ...]
    """In order of first use, but those of one source image together."""
    texts: tuple[str, ...]
    """Sorted without regard to case, so that texts with a common beginning come together."""


def make(tasks: Sequence[Rows]) -> Plan:
    """Plan the scoring of all tasks' rows."""
    crops: dict[str, Place] = {}
    crop_order: dict[str, int] = {}
    texts: dict[str, int] = {}
    drafts = []
    for rows in tasks:
        row_N, fold_N = scored_rows(rows)
        crop_NI = np.empty((len(row_N), len(rows.protocol.images)), dtype=np.int32)
        label_N = np.empty(len(row_N) if rows.protocol.label else 0, dtype=np.int32)
        text_J, texts_N = array("i"), array("i")
        for index, (row, item) in enumerate(_items(rows, row_N)):
            for place, (column, id_column) in enumerate(zip(rows.protocol.images, rows.protocol.crop_ids, strict=True)):
                if item[id_column] not in crops:
                    crops[item[id_column]] = Place(rows, row, column, rows.reference(item))
                crop_NI[index, place] = crop_order.setdefault(item[id_column], len(crop_order))
            if rows.protocol.label:
                label_N[index] = item[rows.protocol.label]
            before = len(text_J)
            text_J.extend(_positions(_texts(item, rows.protocol.texts), texts))
            texts_N.append(len(text_J) - before)
        class_CP = np.array([list(_positions(prompts, texts)) for prompts in rows.classes], dtype=np.int32)
        drafts.append(TaskPlan(rows, row_N, crop_NI, _padded(text_J, texts_N), fold_N, class_CP, label_N))
    ordered = sorted(texts, key=lambda text: (text.lower(), text))
    position_T = np.empty(len(texts) + 1, dtype=np.int32)
    position_T[[texts[text] for text in ordered]] = np.arange(len(texts), dtype=np.int32)
    position_T[-1] = -1
    every = list(crops.values())
    order_C = _by_image(every)
    place_C = np.empty_like(order_C)
    place_C[order_C] = np.arange(len(order_C), dtype=np.int32)
    return Plan(
        tuple(
            replace(
                draft,
                crop_NI=place_C[draft.crop_NI],
                text_NT=position_T[draft.text_NT],
                class_CP=position_T[draft.class_CP],
            )
            for draft in drafts
        ),
        tuple(every[position] for position in order_C),
        tuple(ordered),
    )


def _by_image(crops: Sequence[Place]) -> np.ndarray:
    """Positions (C,) of crops, those of one source image together where it was first used."""
    first: dict[Path, int] = {}
    used = [
        position if crop.source_image is None else first.setdefault(crop.source_image, position)
        for position, crop in enumerate(crops)
    ]
    return np.argsort(used, kind="stable").astype(np.int32)


def crop_chunks(crops: Sequence[Place]) -> list[slice]:
    """The chunks of a plan's crops: CROPS_A_CHUNK, and the rest of the last one's source image."""
    images = [crop.source_image for crop in crops]
    found, start = [], 0
    while start < len(crops):
        stop = min(start + CROPS_A_CHUNK, len(crops))
        while stop < len(crops) and images[stop] is not None and images[stop] == images[stop - 1]:
            stop += 1
        found.append(slice(start, stop))
        start = stop
    return found


def _texts(item: Mapping[str, Any], columns: Iterable[str]) -> Iterator[str]:
    """All texts of a row, column by column."""
    for column in columns:
        if isinstance(item[column], str):
            yield item[column]
        else:
            yield from item[column]


def _positions(found: Iterable[str], texts: dict[str, int]) -> Iterator[int]:
    """Their numbers, which new ones get in order of first use."""
    return (texts.setdefault(text, len(texts)) for text in found)


def _padded(text_J: Sequence[int], texts_N: Sequence[int]) -> np.ndarray:
    """Rows of so many texts each, filled up with -1."""
    count_N = np.array(texts_N, dtype=np.int32)
    there_NT = np.arange(count_N.max(initial=0)) < count_N[:, None]
    padded_NT = np.full(there_NT.shape, -1, dtype=np.int32)
    padded_NT[there_NT] = text_J
    return padded_NT


def scored_rows(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a task that are scored, increasing, and the retrieval fold of each."""
    if rows.fold_size is None:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int32)
    folds = list(recall.folds(len(rows), rows.fold_size, FOLD_SEED))
    row_N = np.concatenate(folds)
    fold_N = np.repeat(np.arange(len(folds), dtype=np.int32), rows.fold_size)
    order_N = np.argsort(row_N, kind="stable")
    return row_N[order_N], fold_N[order_N]


def _items(rows: Rows, row_N: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row number and columns of each scored row."""
    start = 0
    for block in rows.texts():
        inside = row_N[(row_N >= start) & (row_N < start + block.num_rows)]
        yield from zip(inside.tolist(), block.take(inside - start).to_pylist(), strict=True)
        start += block.num_rows
