"""The plan of a run: every distinct crop and text of all tasks, once, in an order that depends on the tasks alone.

Chunks are cut from this order whatever is cached already, so a run that was killed and started again encodes the same
items in the same company and ends with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluators import protocols
from evaluators.rows import Rows

FOLD_SEED = 0
CROPS_A_CHUNK = 512
TEXTS_A_CHUNK = 2048


@dataclass(frozen=True)
class Place:
    """Where a crop's pixels are: a row of one of the plan's tasks."""

    rows: Rows
    row: int

    def __str__(self) -> str:
        return f"{self.rows.task.name}, row {self.row}"


@dataclass(frozen=True)
class TaskPlan:
    """The rows of a task that are scored, as positions in the plan's crops and texts."""

    rows: Rows
    row_N: np.ndarray
    """Positions in the split, increasing."""
    crop_N: np.ndarray
    text_NK: np.ndarray
    """The caption in column 0, then the hard negatives."""
    fold_N: np.ndarray
    """Retrieval fold of each row; zeros for a choice task."""


@dataclass(frozen=True)
class Plan:
    tasks: tuple[TaskPlan, ...]
    crops: tuple[Place, ...]
    """In order of first use, so that crops of one image come together."""
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
        crop_N = np.empty(len(row_N), dtype=np.int32)
        text_NK = np.empty((len(row_N), 1 if rows.protocol == "recall" else rows.set_size), dtype=np.int32)
        for index, (row, crop_id, captions) in enumerate(_captions(rows, row_N)):
            crops.setdefault(crop_id, Place(rows, row))
            crop_N[index] = crop_order.setdefault(crop_id, len(crop_order))
            text_NK[index] = [texts.setdefault(text, len(texts)) for text in captions]
        drafts.append((rows, row_N, crop_N, text_NK, fold_N))
    ordered = sorted(texts, key=lambda text: (text.lower(), text))
    position_T = np.empty(len(texts), dtype=np.int32)
    position_T[[texts[text] for text in ordered]] = np.arange(len(texts), dtype=np.int32)
    return Plan(
        tuple(
            TaskPlan(rows, row_N, crop_N, position_T[text_NK], fold_N)
            for rows, row_N, crop_N, text_NK, fold_N in drafts
        ),
        tuple(crops.values()),
        tuple(ordered),
    )


def scored_rows(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a task that are scored, increasing, and the retrieval fold of each."""
    if rows.fold_size is None:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int32)
    folds = list(protocols.folds(len(rows), rows.fold_size, FOLD_SEED))
    row_N = np.concatenate(folds)
    fold_N = np.repeat(np.arange(len(folds), dtype=np.int32), rows.fold_size)
    order_N = np.argsort(row_N, kind="stable")
    return row_N[order_N], fold_N[order_N]


def _captions(rows: Rows, row_N: np.ndarray) -> Iterator[tuple[int, str, list[str]]]:
    """Row number, crop id, and caption with hard negatives of each scored row."""
    start = 0
    for block in rows.texts():
        inside = row_N[(row_N >= start) & (row_N < start + block.num_rows)]
        for row, item in zip(inside.tolist(), block.take(inside - start).to_pylist(), strict=True):
            yield row, item["crop_id"], [item["caption"], *item.get("hard_negatives", ())]
        start += block.num_rows
