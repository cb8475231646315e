"""Collect examples with images, as in CREPE's Table 17: crop, true caption, hard negatives, and the models' choices.

For each model, the table shows whether the true caption ranks first, and the three captions that rank first.

Rows are chosen by a hash of their content, so the same results always have the same examples. On half of them, at least
one model is wrong.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators.engine.task_dataset import load
from evaluators.engine.tasks import Task
from evaluators.report.results import Result
from loaders.datasets.load import load_dataset
from loaders.datasets.natural import natural_key

EXAMPLES_PER_TASK = 4
IMAGE_SIZE = 480
NUM_TOP = 3
"""Number of captions that are shown per model."""
KINDS = {"swap": "HN-Swap", "negation": "HN-Neg"}


@dataclass(frozen=True)
class Candidate:
    """A caption and the models that ranked it first.

    ``kind`` is the type of hard negative ("" for the true caption). For retrieval tasks, it lists the models' image
    ranks.
    """

    caption: str
    is_truth: bool
    picked_by: tuple[str, ...]
    kind: str
    parts: Sequence[tuple[str, bool]] = ()
    """The caption in parts, and for each part whether it differs from the true caption."""


@dataclass(frozen=True)
class Example:
    task: str
    image: str
    candidates: list[Candidate]
    is_failure: bool
    """True if a model ranked a wrong candidate first."""
    top: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    """Model -> the captions that it ranked first, best first. Empty for retrieval tasks."""


def collect_examples(
    results: Sequence[Result], tasks: Sequence[str], data_dir: Path | None, count: int = EXAMPLES_PER_TASK
) -> list[Example]:
    """Return ``count`` examples per task that has results, unless its dataset has changed since the evaluation."""
    examples = []
    for task in tasks:
        task_results = [result for result in results if result.data["task"] == task]
        functions = {"choice": make_choice_examples, "recall": make_retrieval_examples}
        if task_results and task_results[0].data["protocol"] in functions and is_current(task_results[0], data_dir):
            data = task_results[0].data
            split = load_dataset(data["dataset"], data["config"], data["split"], data_dir)
            frames = {result.model: result.examples.set_index("row") for result in task_results}
            examples += functions[data["protocol"]](task, frames, split, count)
    return examples


def is_current(result: Result, data_dir: Path | None) -> bool:
    """Return True if the dataset is there and has the rows that the result was computed on."""
    data = result.data
    task = Task(data["dataset"], data["config"], data["split"], data.get("variant") or "")
    try:
        dataset = load(task, data_dir, data["data"]["limit"])
    except ValueError:
        return False
    return dataset.fingerprint == data["data"]["fingerprint"]


def find_other_tasks(results: Sequence[Result], known: Sequence[str]) -> list[str]:
    """Return the tasks (without variants) of all datasets that are not in ``known``, such as imported datasets."""
    others = [result.data for result in results if result.data["dataset"] not in known]
    return sorted({data["task"] for data in others if not data["variant"]}, key=natural_key)


def make_choice_examples(task: str, frames: Mapping[str, pd.DataFrame], split: Any, count: int) -> list[Example]:
    """Make examples of a task with hard negatives. ``frames``: model -> its per-example rows."""
    first = next(iter(frames.values()))
    shared = first.index[np.all([first.index.isin(rows.index) for rows in frames.values()], axis=0)]
    ranks = np.stack([rows.loc[shared, "rank"].to_numpy() for rows in frames.values()], axis=1)
    examples = []
    for row in choose_rows(first.loc[shared, ["caption"]].assign(ranks=list(ranks)), count):
        captions = [first["caption"][row], *first["hard_negatives"][row]]
        picks = {name: find_best(rows["scores"][row]) for name, rows in frames.items()}
        columns: Any = split[row]
        kinds = ["", *map(_get_kind, columns.get("foils") or [[]] * (len(captions) - 1))]
        candidates = [
            Candidate(
                caption,
                index == 0,
                tuple(name for name, best in picks.items() if best == index),
                kinds[index],
                mark_changes(captions[0], caption),
            )
            for index, caption in enumerate(captions)
        ]
        top = {name: [candidates[index] for index in find_top(rows["scores"][row])] for name, rows in frames.items()}
        is_failure = any(picks.values())
        examples.append(Example(task, make_data_uri(columns["image"]), candidates, is_failure, top))
    return examples


def mark_changes(truth: str, text: str) -> list[tuple[str, bool]]:
    """Return the text in parts, each with True if its words differ from those of the true caption.

    Words are compared in an alignment, or place by place if this marks fewer words, as in an exchange of two words.
    """
    true_words, words = truth.split(), text.split()
    changed = [True] * len(words)
    for block in SequenceMatcher(None, true_words, words, autojunk=False).get_matching_blocks():
        changed[block.b : block.b + block.size] = [False] * block.size
    if len(words) == len(true_words):
        changed = min(changed, [a != b for a, b in zip(true_words, words, strict=True)], key=sum)
    parts = groupby(zip(words, changed, strict=True), key=itemgetter(1))
    return [(" ".join(word for word, _ in part), is_changed) for is_changed, part in parts]


def choose_rows(rows: pd.DataFrame, count: int) -> list[int]:
    """Choose ``count`` rows by content hash. On half of them, some model is wrong, if there are enough such rows."""
    order = rows["caption"].map(lambda text: _hash(str(text))).sort_values().index
    wrong = [row for row in order if (rows.loc[row, "ranks"] > 1).any()]  # pyright: ignore
    right = [row for row in order if row not in set(wrong)]
    half = wrong[: count // 2]
    return [*half, *right, *wrong[len(half) :]][:count]


def find_best(scores: Sequence[float]) -> int:
    """Return the index of the best score."""
    return find_top(scores)[0]


def find_top(scores: Sequence[float], count: int = NUM_TOP) -> list[int]:
    """Return the indices of the best scores, best first.

    Of equal scores, the last is best, so the truth (index 0) never wins a tie.
    """
    return sorted(range(len(scores)), key=lambda index: (-scores[index], -index))[:count]


def _get_kind(foils: Sequence[Mapping[str, str]]) -> str:
    """Return the type of a hard negative, given its foils."""
    return KINDS.get(foils[0]["type"], "HN-Comp" if len(foils) > 1 else "HN-Atom") if foils else ""


def make_retrieval_examples(task: str, frames: Mapping[str, pd.DataFrame], split: Any, count: int) -> list[Example]:
    """Make examples of a retrieval task: images with their captions, and the ranks by each model."""
    captions_by_row: dict[Any, Sequence[str]] = next(iter(frames.values()))["captions"].to_dict()
    order = sorted(captions_by_row, key=lambda row: _hash(str(list(captions_by_row[row]))))
    examples = []
    for row in [row for row in order if all(row in rows.index for rows in frames.values())][:count]:
        first_hit = tuple(name for name, rows in frames.items() if np.atleast_1d(rows["i2t_rank"][row])[0] == 1)
        image_ranks = {name: np.atleast_1d(rows["t2i_rank"][row]) for name, rows in frames.items()}
        candidates = [
            Candidate(
                caption,
                True,
                first_hit,
                "; ".join(f"{name}: image rank {ranks[index]}" for name, ranks in image_ranks.items()),
                [(caption, False)],
            )
            for index, caption in enumerate(captions_by_row[row])
        ]
        is_failure = len(first_hit) < len(frames) or any((ranks > 1).any() for ranks in image_ranks.values())
        examples.append(Example(task, make_data_uri(split[row]["image"]), candidates, is_failure))
    return examples


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_data_uri(image: Any) -> str:
    """Return the image as a JPEG data URI of at most IMAGE_SIZE pixels per side."""
    small = image.convert("RGB")
    small.thumbnail((IMAGE_SIZE, IMAGE_SIZE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
