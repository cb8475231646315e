"""Examples with images, as in CREPE's Table 17: crop, true caption, hard negatives, and the choice of each model.

Rows are drawn by a hash of their content, so the same results always show the same examples; half of them are rows
that at least one model gets wrong.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators.report.results import Result
from loaders.datasets.load import load_dataset

PER_TASK = 4
KINDS = {"swap": "HN-Swap", "negation": "HN-Neg"}


@dataclass(frozen=True)
class Candidate:
    """One caption of a retrieval set, and the models that ranked it first.

    ``kind`` is the type of hard negative, "" for the true caption; of retrieval tasks the ranks of the image.
    """

    caption: str
    is_truth: bool
    picked_by: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Example:
    task: str
    image: str
    candidates: list[Candidate]


def examples(
    results: Sequence[Result], tasks: Sequence[str], data_dir: Path | None, count: int = PER_TASK
) -> list[Example]:
    """``count`` examples of each of ``tasks`` that has results."""
    chosen = []
    for task in tasks:
        of_task = [result for result in results if result.data["task"] == task]
        make = {"choice": choice_examples, "recall": retrieval_examples}
        if of_task and of_task[0].data["protocol"] in make:
            data = of_task[0].data
            split = load_dataset(data["dataset"], data["config"], data["split"], data_dir)
            frames = {result.model: result.examples.set_index("row") for result in of_task}
            chosen += make[data["protocol"]](task, frames, split, count)
    return chosen


def other_tasks(results: Sequence[Result], known: Sequence[str]) -> list[str]:
    """The tasks, without variants, of datasets that have no section: imported and custom ones."""
    chosen = [result.data for result in results if result.data["dataset"] not in known]
    return sorted({data["task"] for data in chosen if not data["variant"]})


def choice_examples(task: str, frames: Mapping[str, pd.DataFrame], split: Any, count: int) -> list[Example]:
    """Examples of one caption task; ``frames`` are the results' rows by model."""
    first = next(iter(frames.values()))
    shared = first.index[np.all([first.index.isin(rows.index) for rows in frames.values()], axis=0)]
    ranks = np.stack([rows.loc[shared, "rank"].to_numpy() for rows in frames.values()], axis=1)
    chosen = []
    for row in choose(first.loc[shared, ["caption"]].assign(ranks=list(ranks)), count):
        captions = [first["caption"][row], *first["hard_negatives"][row]]
        picks = {name: pick(rows["scores"][row]) for name, rows in frames.items()}
        columns: Any = split[row]
        kinds = ["", *map(_kind, columns.get("foils") or [[]] * (len(captions) - 1))]
        candidates = [
            Candidate(caption, at == 0, tuple(name for name, best in picks.items() if best == at), kinds[at])
            for at, caption in enumerate(captions)
        ]
        chosen.append(Example(task, _data_uri(columns["image"]), candidates))
    return chosen


def choose(rows: pd.DataFrame, count: int) -> list[int]:
    """``count`` rows by content hash: half of them rows that some model gets wrong, if there are enough."""
    order = rows["caption"].map(lambda text: _digest(str(text))).sort_values().index
    wrong = [row for row in order if (rows.loc[row, "ranks"] > 1).any()]  # pyright: ignore
    right = [row for row in order if row not in set(wrong)]
    half = wrong[: count // 2]
    return [*half, *right, *wrong[len(half) :]][:count]


def pick(scores: Sequence[float]) -> int:
    """Position of the best score; of equal ones the last, so that the truth (position 0) never wins a tie."""
    return len(scores) - 1 - int(np.argmax(np.asarray(scores)[::-1]))


def _kind(foils: Sequence[Mapping[str, str]]) -> str:
    """The type of a hard negative, from its foils."""
    return "HN-Comp" if len(foils) > 1 else KINDS.get(foils[0]["type"], "HN-Atom") if foils else ""


def retrieval_examples(task: str, frames: Mapping[str, pd.DataFrame], split: Any, count: int) -> list[Example]:
    """Images of a retrieval task with their captions, and the ranks of image and captions by model."""
    captions_R: dict[Any, Sequence[str]] = next(iter(frames.values()))["captions"].to_dict()
    order = sorted(captions_R, key=lambda row: _digest(str(list(captions_R[row]))))
    chosen = []
    for row in [row for row in order if all(row in rows.index for rows in frames.values())][:count]:
        first_hit = tuple(name for name, rows in frames.items() if np.atleast_1d(rows["i2t_rank"][row])[0] == 1)
        image_ranks = {name: np.atleast_1d(rows["t2i_rank"][row]) for name, rows in frames.items()}
        candidates = [
            Candidate(
                caption,
                True,
                first_hit,
                "; ".join(f"{name}: image rank {rank[at]}" for name, rank in image_ranks.items()),
            )
            for at, caption in enumerate(captions_R[row])
        ]
        chosen.append(Example(task, _data_uri(split[row]["image"]), candidates))
    return chosen


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _data_uri(image: Any) -> str:
    """The image as a JPEG data URI of at most 240 px."""
    small = image.convert("RGB")
    small.thumbnail((240, 240))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
