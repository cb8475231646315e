"""Examples with pictures, as in the paper's Table 17: the crop, the truth, the negatives, and each model's pick.

Rows are drawn by hash of their content, so that the same results always show the same examples; half of them are rows
that at least one model gets wrong.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators.report.read import Result
from loaders import load_dataset

PER_TASK = 4


@dataclass(frozen=True)
class Candidate:
    """One caption of a retrieval set, whether it is the true one, and the models that ranked it first.

    ``kind`` is the type of hard negative, empty for the truth.
    """

    caption: str
    is_truth: bool
    picked_by: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Example:
    task: str
    image: str
    candidates: list[Candidate] = field(default_factory=list)


def pick(scores: Sequence[float]) -> int:
    """Position of the best score; of equal ones the last, so that the truth (position 0) never wins a tie."""
    return len(scores) - 1 - int(np.argmax(np.asarray(scores)[::-1]))


def choose(rows: pd.DataFrame, count: int) -> list[int]:
    """Positions of ``count`` rows: by content hash, first those that some model gets wrong, then others."""
    order = rows["caption"].map(lambda text: hashlib.sha256(str(text).encode()).hexdigest()).sort_values().index
    wrong = [row for row in order if (rows.loc[row, "ranks"] > 1).any()]  # pyright: ignore
    right = [row for row in order if row not in set(wrong)]
    half = wrong[: count // 2]
    return [*half, *right, *wrong[len(half) :]][:count]


def task_examples(task: str, results: Sequence[Result], data_dir: Path | None, count: int = PER_TASK) -> list[Example]:
    """Examples of one task, over all the models that were run on it."""
    data = results[0].data
    frames = {result.data["model"]["name"]: result.examples.set_index("row") for result in results}
    first = next(iter(frames.values()))
    shared = first.index[np.all([first.index.isin(rows.index) for rows in frames.values()], axis=0)]
    ranks = np.stack([rows.loc[shared, "rank"].to_numpy() for rows in frames.values()], axis=1)
    chosen = choose(first.loc[shared, ["caption"]].assign(ranks=list(ranks)), count)
    split = load_dataset(data["dataset"], data["config"], data["split"], data_dir)
    made = []
    for row in chosen:
        captions = [first["caption"][row], *first["hard_negatives"][row]]
        picks = {name: pick(rows["scores"][row]) for name, rows in frames.items()}
        columns: Any = split[row]
        kinds = _kinds(columns.get("foils") or [[]] * (len(captions) - 1))
        candidates = [
            Candidate(caption, place == 0, tuple(name for name, best in picks.items() if best == place), kinds[place])
            for place, caption in enumerate(captions)
        ]
        made.append(Example(task, _picture(columns["image"]), candidates))
    return made


def _kinds(foils: Sequence[Sequence[Mapping[str, str]]]) -> list[str]:
    """The type of each candidate of a row, the truth first."""
    kinds = {"swap": "HN-Swap", "negation": "HN-Neg"}
    return [
        "",
        *("HN-Comp" if len(made) > 1 else kinds.get(made[0]["type"], "HN-Atom") if made else "" for made in foils),
    ]


def retrieval_examples(task: str, results: Sequence[Result], data_dir: Path | None, count: int) -> list[Example]:
    """Pictures of a retrieval task with their captions, and where each model finds picture and caption."""
    data = results[0].data
    split = load_dataset(data["dataset"], data["config"], data["split"], data_dir)
    frames = {result.data["model"]["name"]: result.examples.set_index("row") for result in results}
    first = next(iter(frames.values()))
    captions_R: dict[Any, Sequence[str]] = first["captions"].to_dict()
    order = sorted(captions_R, key=lambda row: hashlib.sha256(str(list(captions_R[row])).encode()).hexdigest())
    made = []
    for row in [row for row in order if all(row in rows.index for rows in frames.values())][:count]:
        found = {
            name: (np.atleast_1d(rows["i2t_rank"][row])[0], np.atleast_1d(rows["t2i_rank"][row]))
            for name, rows in frames.items()
        }
        candidates = [
            Candidate(
                caption,
                True,
                tuple(name for name, (i2t_rank, _) in found.items() if i2t_rank == 1),
                "; ".join(
                    f"{name} finds the picture at rank {t2i_rank_C[place]}" for name, (_, t2i_rank_C) in found.items()
                ),
            )
            for place, caption in enumerate(captions_R[row])
        ]
        made.append(Example(task, _picture(split[row]["image"]), candidates))
    return made


def other_tasks(results: Sequence[Result], known: Sequence[str]) -> list[str]:
    """The tasks of datasets that no paper's tables show: imported ones and one's own. Variants are left out."""
    names = {
        result.data["task"] for result in results if result.data["dataset"] not in known and not result.data["variant"]
    }
    return sorted(names)


def _picture(image) -> str:
    """A data URI of at most 240 px."""
    import io

    small = image.convert("RGB")
    small.thumbnail((240, 240))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def examples(
    results: Sequence[Result], tasks: Sequence[str], data_dir: Path | None, count: int = PER_TASK
) -> list[Example]:
    """``count`` examples of each of ``tasks`` that was run."""
    found = []
    for task in tasks:
        of_task = [result for result in results if result.data["task"] == task]
        protocol = of_task[0].data["protocol"] if of_task else None
        if protocol == "choice":
            found += task_examples(task, of_task, data_dir, count)
        elif protocol == "recall":
            found += retrieval_examples(task, of_task, data_dir, count)
    return found
